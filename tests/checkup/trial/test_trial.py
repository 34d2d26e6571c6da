"""Trials on data with a planted truth; paired folds, resuming, learners of all kinds."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bench.trial import every_arm
from sklearn.linear_model import LogisticRegression

import lopsided
from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.checkup.plan.result import Plan, PlannedRemedy
from lopsided.checkup.trial import run as trial_run
from lopsided.checkup.trial import task as trial_task
from lopsided.checkup.trial import trial as trial_module
from lopsided.checkup.trial.arm import forecast_outcome
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.measure.paired_scores import Estimate
from lopsided.remedies import pilot
from lopsided.remedies.collection import Collection
from lopsided.remedies.contract import GainForecast
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.plain import Plain
from tests.checkup.trial.helpers import group_with_its_own_rule, nothing_helps, two_gaussians


@pytest.fixture(scope="module")
def helped(tmp_path_factory):
    """Overlapping classes of 400 and 40: a change of prior truly raises balanced accuracy, by about 0.16."""
    given = two_gaussians([400, 40], 1.2, np.random.default_rng(0))
    return given, run_trial(given, store=tmp_path_factory.mktemp("store"))


def short_plan(given) -> Plan:
    """A plan of the remedies that train quickly, for what does not depend on which they are."""
    planned = make_plan(given)
    return replace(planned, remedies=[planned["logit adjustment"], planned["oversampling"]])


def test_reweighting_wins_where_it_truly_helps(helped) -> None:
    _, outcome = helped
    assert outcome.winner in ("logit adjustment", "class weights", "threshold moving")
    assert outcome["oversampling"].metrics["balanced accuracy"].gain.low > 0
    assert outcome["class weights"].outcome == "right"
    assert outcome["logit adjustment"].outcome == "right"
    assert "wins" in outcome.sentence()
    facts = json.loads(json.dumps(outcome.to_dict()))
    assert {"arms", "winner", "seconds"} <= facts.keys()
    assert all({"name", "metrics", "forecast"} <= arm.keys() for arm in facts["arms"])
    assert facts["arms"][0]["name"] == "plain"


def test_arms_agree_with_cross_validation_by_hand(helped) -> None:
    """The plain arm's overall accuracy is that of a loop over the same folds with scikit-learn alone."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from lopsided.core.folds import deal

    given, outcome = helped
    features, codes = given.table.features(), given.classes.codes
    right = 0
    for repeat in range(2):
        fold = deal(codes, None, 5, 0, repeat)
        for number in range(5):
            inside = fold != number
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(
                features[inside], codes[inside]
            )
            right += int((model.predict(features[~inside]) == codes[~inside]).sum())
    found = outcome["plain"].metrics["overall accuracy"].estimate.value
    assert found == pytest.approx(right / (2 * codes.size), abs=1e-12)


def test_collection_is_printed_as_what_was_simulated(helped) -> None:
    """Its model is plain training on all rows: the trial's metric would be plain's, whatever collecting brings."""
    _, outcome = helped
    lines = dict(line.split(": ", 1) for line in str(outcome).splitlines()[1:])
    plain = f"balanced accuracy {outcome['plain'].metrics['balanced accuracy'].estimate.value:.3f}"
    assert lines["plain"] == plain
    found = outcome["collect class 1"].metrics["recall of 1"]
    before, after = found.estimate.value - found.gain.value, found.estimate.value
    assert before != after
    told = lines["collect class 1"]
    assert told.startswith(
        f"simulated, recall of 1 from {before:.3f} to {after:.3f}, a gain of {found.gain.value:+.3f} "
    )
    assert told.endswith("against training without 50% of the subject's examples")
    assert "; judged by" not in str(outcome)  # the sentence names the metric already


def test_figures_and_facts(helped) -> None:
    from lopsided.report.png import figure_png

    _, outcome = helped
    for figure in outcome.figures():
        assert figure_png(figure).startswith(b"\x89PNG")
    assert dict(outcome.facts())["learner"] == "logistic"


def test_more_of_a_group_helps_where_only_it_can_teach(tmp_path) -> None:
    given = group_with_its_own_rule(np.random.default_rng(1), large=100, small=400, columns=100)
    plan = Plan([PlannedRemedy(Collection("group", 1, "b", 400, 400), "", None)], "worst-group")
    outcome = run_trial(given, plan, store=tmp_path)
    arm = outcome["collect group b"]
    assert arm.read_in == "accuracy on b"
    assert arm.metrics["accuracy on b"].gain.low > 0
    assert arm.outcome == "right"
    assert outcome.winner is None  # what is not there yet cannot win


def test_nothing_wins_where_nothing_helps(tmp_path) -> None:
    """Eight nulls of the many that bench/trial.py draws. At a rate of 5% two or more winners among them would have a
    chance of 6%; the seeds are fixed."""
    winners = []
    for seed in range(8):
        given = nothing_helps(np.random.default_rng(seed))
        plan = every_arm(given)
        outcome = run_trial(given, plan, store=tmp_path / str(seed), forecasts=False)
        winners.append(outcome.winner)
    assert sum(winner is not None for winner in winners) <= 1


def test_finished_folds_are_kept_and_reused(tmp_path) -> None:
    given = two_gaussians([60, 20], 1.0, np.random.default_rng(2))
    plan = short_plan(given)
    done = 0

    def stop_at_seven(number: int):
        def count(ended: int) -> None:
            nonlocal done
            done += ended
            if done == 7:
                raise KeyboardInterrupt

        return count

    with pytest.raises(KeyboardInterrupt):
        run_trial(given, plan, store=tmp_path, progress=stop_at_seven)
    again = run_trial(given, plan, store=tmp_path)
    assert again.reused == 7
    third = run_trial(given, plan, store=tmp_path)
    assert third.reused > 7
    assert third.to_dict()["arms"] == again.to_dict()["arms"]
    fresh = run_trial(given, plan, store=tmp_path, fresh=True)
    assert fresh.reused == 0
    assert fresh.to_dict()["arms"] == again.to_dict()["arms"]
    other = run_trial(two_gaussians([60, 20], 1.0, np.random.default_rng(3)), plan, store=tmp_path)
    assert other.reused == 0


def test_processes_give_the_same_numbers(tmp_path) -> None:
    given = two_gaussians([60, 20], 1.0, np.random.default_rng(4))
    plan = short_plan(given)
    alone = run_trial(given, plan, store=tmp_path / "one", jobs=1)
    several = run_trial(given, plan, store=tmp_path / "two", jobs=2)
    assert alone.to_dict()["arms"] == several.to_dict()["arms"]
    assert not (tmp_path / "two" / "inputs").exists()


def test_any_scikit_learn_classifier(tmp_path) -> None:
    given = two_gaussians([60, 20], 1.0, np.random.default_rng(5))
    plan = make_plan(given)
    neighbours = run_trial(given, plan, learner="sklearn.neighbors:KNeighborsClassifier", store=tmp_path, repeats=1)
    assert "sample_weight" in neighbours["class weights"].skipped
    assert neighbours["logit adjustment"].skipped is None
    margins = run_trial(given, plan, learner="sklearn.linear_model:RidgeClassifier", store=tmp_path, repeats=1)
    assert "predict_proba" in margins["threshold moving"].skipped
    own = run_trial(given, plan, learner=LogisticRegression(C=0.1), store=tmp_path, repeats=1, forecasts=False)
    assert "C=0.1" in own.learner


class Breaks(LogisticRegression):
    """Fits, except with weights."""

    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None:
            raise RuntimeError("no, not with weights")
        return super().fit(X, y)


def test_an_arm_that_breaks_spoils_no_other(tmp_path) -> None:
    given = two_gaussians([60, 20], 1.0, np.random.default_rng(6))
    outcome = run_trial(given, learner=Breaks(), store=tmp_path, repeats=1)
    assert "no, not with weights" in outcome["class weights"].skipped
    assert outcome["oversampling"].skipped is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learner": "forest"}, "package.module:Class"),
        ({"learner": "nowhere.atall:Thing"}, "nowhere"),
        ({"learner": "sklearn.linear_model:Nothing"}, "Classifier"),
        ({"learner": "sklearn.linear_model:LinearRegression"}, "classifier"),
        ({"learner": "sklearn.model_selection:GridSearchCV"}, "to need no arguments"),
        ({"learner": "json:JSONDecoder"}, "fit"),
        ({"learner": 3}, "classifier"),
        ({"folds": 1}, "folds"),
        ({"folds": 60}, "rows"),
        ({"repeats": 0}, "repeats"),
        ({"seed": -1}, "seed"),
    ],
)
def test_refusals(tmp_path, options, words) -> None:
    with pytest.raises(InputError, match=words):
        run_trial(two_gaussians([60, 20], 1.0, np.random.default_rng(7)), store=tmp_path, **options)


def test_classes_with_one_or_two_examples(tmp_path) -> None:
    given = two_gaussians([60, 20, 2, 1], 1.0, np.random.default_rng(8))
    outcome = run_trial(given, store=tmp_path, repeats=1, forecasts=False)
    assert "recall of 3" not in outcome["plain"].metrics
    assert any("one example" in note and " 3" in note for note in outcome.notes)


def test_learner_seeds_are_shared_between_arms() -> None:
    """Arms with the same options are the same model: pairing removes the learner's chance."""
    given = two_gaussians([40, 20], 1.0, np.random.default_rng(9))
    from lopsided.checkup.inputs.training_set import training_set

    training = training_set(given)
    with trial_task.held("key", training, "network"):
        base = {"data": "key", "folds": 5, "repeat": 0, "fold": 0, "learner": "network", "held_back": None}
        first = trial_task.measure({**base, "remedy": Plain().to_dict()}, 0)
        second = trial_task.measure({**base, "remedy": Oversampling({"0": 1.0, "1": 1.0}).to_dict()}, 0)
    assert first == second


def test_folds_keep_predictions_and_probabilities(tmp_path, monkeypatch) -> None:
    """The kept ones are those of the same model fitted by hand on the fold's training rows; too many are not kept."""
    from lopsided.checkup.inputs.training_set import training_set
    from lopsided.core.seeds import generator

    training = training_set(two_gaussians([40, 20, 12], 1.0, np.random.default_rng(9)))
    fold = deal(training.classes.codes, None, 5, 3, 0)
    state = int(generator(3, "learner", 0, 1).integers(2**31))
    remedy = LogitAdjustment({"0": -1.0, "1": 0.0, "2": 0.5})
    model = remedy.wrap("logistic", seed=state).fit_set(training.subset(np.flatnonzero(fold != 1)))
    base = {"data": "key", "folds": 5, "repeat": 0, "fold": 1, "learner": "logistic", "held_back": None}
    with trial_task.held("key", training, "logistic"):
        kept = trial_task.measure({**base, "remedy": remedy.to_dict()}, 3)
        monkeypatch.setattr(trial_task, "MOST_KEPT", 72 * 3 - 1)
        assert trial_task.measure({**base, "remedy": remedy.to_dict()}, 3) == kept | {"probabilities": None}
    shown = training.features[fold == 1]
    np.testing.assert_array_equal(trial_task.unpacked(kept["predicted"], "<u4"), model.predict(shown))
    chances = trial_task.unpacked(kept["probabilities"], "<f4").reshape(-1, 3)
    np.testing.assert_allclose(chances, model.predict_proba(shown), rtol=1e-7)  # float32 keeps 24 bits


@pytest.mark.parametrize(
    ("forecast", "outcome", "expected"),
    [
        ((0.1, 0.05, 0.15), (0.12, 0.02, 0.2), "right"),
        ((0.1, 0.05, 0.15), (-0.1, -0.2, -0.01), "wrong"),
        ((0.1, 0.05, 0.15), (0.3, 0.2, 0.4), "wrong"),
        ((0.1, 0.05, 0.15), (0.05, -0.05, 0.15), "undecided"),
        ((0.0, -0.02, 0.02), (0.0, -0.01, 0.01), "right"),
        ((0.0, -0.4, 0.4), (0.0, -0.01, 0.01), "undecided"),
        ((-0.1, -0.2, -0.05), (-0.1, -0.15, -0.04), "right"),
    ],
)
def test_verdicts(forecast, outcome, expected) -> None:
    told = GainForecast("m", *forecast, "")
    assert forecast_outcome(told, Estimate(*outcome, 0.1, 0.5)) == expected


def test_public_function(tmp_path) -> None:
    random = np.random.default_rng(10)
    labels = np.repeat([0, 1], [60, 20])
    features = random.standard_normal((80, 2)) + labels[:, None]
    outcome = lopsided.trial(features, labels=labels, store=tmp_path, repeats=1)
    assert outcome.rows == 80
    assert lopsided.plan(features, labels=labels).metric == "balanced"


def test_of_very_many_classes_some_are_tried_and_the_remedies_are_for_all(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(pilot, "MOST_CLASSES", 10)
    monkeypatch.setattr(trial_module, "TRIAL_CLASSES", 5)
    counts = np.arange(2, 14)
    labels = np.repeat([f"c{code:02d}" for code in range(12)], counts)
    features = np.random.default_rng(0).normal(size=(labels.size, 3)) + np.repeat(np.arange(12.0), counts)[:, None]
    planned = make_plan(features, labels=labels)
    planned = replace(planned, remedies=[planned["oversampling"], planned.remedies[-1]])
    outcome = run_trial(features, planned, labels=labels, folds=3, repeats=1, forecasts=False, store=tmp_path)
    assert len(outcome.classes) == 5
    assert outcome.notes[1].startswith("The arms were compared on 5 of the 12 classes, drawn evenly over their sizes")
    assert "with 38 of 90 rows" in outcome.notes[1]  # sizes 3, 5, 8, 10 and 12
    assert "Collecting is not simulated" in outcome.arms[-1].skipped
    assert not any("Collecting is simulated" in note for note in outcome.notes)
    assert set(outcome["oversampling"].remedy.rates) == set(labels)  # what is exported is for all of them
    assert "rows of all classes" in outcome.code()
    monkeypatch.setattr(trial_run, "MOST_RESAMPLED", 60)
    again = run_trial(features, planned, labels=labels, folds=3, repeats=1, forecasts=False, store=tmp_path)
    assert "It would train on 65 rows made of 38" in again["oversampling"].skipped  # five classes of 13
