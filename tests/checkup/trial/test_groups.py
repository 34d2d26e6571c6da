"""Remedies for groups: group DRO by refits, centring and whitening by group, and collecting by the large-n law."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lopsided.checkup.checks.group_law import group_law
from lopsided.checkup.mended import MendedClassifier
from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.errors import InputError
from lopsided.measure.metrics.contract import Answers, Judged
from lopsided.measure.metrics.shares import group_accuracy
from lopsided.remedies.group_dro import GroupDro
from lopsided.remedies.group_standardiser import GroupStandardiser, GroupStandardising
from lopsided.remedies.group_weighting import GroupWeighting
from tests.checkup.trial.helpers import evidence


def opposed(random, large=500, small=120):
    """In group b the label follows the first column the other way round, with more noise; the second helps both."""
    groups = np.repeat(["a", "b"], [large, small])
    features = random.standard_normal((large + small, 2))
    sign = np.where(groups == "a", 1.0, -1.0)
    noise = np.where(groups == "a", 0.3, 1.5) * random.standard_normal(large + small)
    labels = (sign * features[:, 0] + 1.5 * features[:, 1] + noise > 0).astype(int)
    return features, labels, groups


def shifted_apart(random, each=150):
    """Groups whose classes lie around centres of their own: one line cannot part them, centring makes it one."""
    groups, labels = np.repeat(["a", "b", "c"], each), np.tile([0, 1], 3 * each // 2)
    centres = {"a": 0.0, "b": 4.0, "c": -4.0}
    features = random.standard_normal((3 * each, 2))
    features[:, 0] += 2.5 * labels + np.array([centres[name] for name in groups])
    return features, labels, groups


def worst(model, features, labels, groups) -> float:
    right = model.predict(features, groups) == labels
    return min(float(right[groups == name].mean()) for name in np.unique(groups))


def test_group_dro_raises_the_worst_group_and_its_weight() -> None:
    features, labels, groups = opposed(np.random.default_rng(0))
    plain = MendedClassifier(LogisticRegression(), None).fit(features, labels, groups)
    dro = GroupDro(dro=2.0).wrap(LogisticRegression()).fit(features, labels, groups)
    assert dro.group_shares_[1] > 0.55  # of the loss; it began with a half, and group b has the larger loss
    assert worst(dro, features, labels, groups) > worst(plain, features, labels, groups) + 0.05
    same = GroupDro(dro=1e-9).wrap(LogisticRegression()).fit(features, labels, groups)
    even = {"a": 1 / 500, "b": 1 / 120}
    weighted = GroupWeighting("group", even).wrap(LogisticRegression()).fit(features, labels, groups)
    # a vanishing step leaves the weights equal over groups; 1e-5: the optimiser's tolerance
    np.testing.assert_allclose(same.estimator_.coef_, weighted.estimator_.coef_, atol=1e-5)


def test_standardising_by_group_is_that_of_the_remedy() -> None:
    features, labels, groups = shifted_apart(np.random.default_rng(1))
    for how in ("centre", "whiten"):
        model = GroupStandardising(standardise=how).wrap(LogisticRegression()).fit(features, labels, groups)
        scaled = (features - features.mean(axis=0)) / features.std(axis=0)
        own = GroupStandardiser(whiten=how == "whiten").fit(scaled, groups).transform(scaled, groups)
        by_hand = LogisticRegression().fit(own, labels)
        np.testing.assert_array_equal(model.predict(features, groups), by_hand.predict(own))
        with pytest.raises(InputError, match="groups"):
            model.predict(features)
    with pytest.raises(InputError, match="centre"):
        GroupStandardising(standardise="both")
    with pytest.raises(InputError, match="groups"):
        GroupDro(dro=1.0).wrap().fit(features, labels)


def test_both_are_arms_of_a_trial_and_win_where_they_should(tmp_path) -> None:
    features, labels, groups = shifted_apart(np.random.default_rng(2))
    outcome = run_trial(evidence(features, labels, groups), store=tmp_path, repeats=1)
    names = {arm.name for arm in outcome.arms}
    assert {"group DRO", "group centring", "group whitening"} <= names
    assert outcome.winner in ("group centring", "group whitening")
    assert outcome["group DRO"].skipped is None
    assert "refits" in outcome["group DRO"].why
    assert "must be known when predicting" in outcome["group centring"].why
    margins = run_trial(
        evidence(features, labels, groups),
        learner="sklearn.linear_model:RidgeClassifier",
        store=tmp_path,
        repeats=1,
        forecasts=False,
    )
    assert "predict_proba" in margins["group DRO"].skipped
    assert margins["group centring"].skipped is None


def test_small_groups_and_many_columns_are_said() -> None:
    random = np.random.default_rng(3)
    groups = np.repeat(["a", "b"], [200, 12])
    plan = make_plan(evidence(random.standard_normal((212, 3)), random.integers(0, 2, 212), groups))
    assert any("fewer than 20 examples in b" in note for note in plan.notes)
    table = evidence(random.standard_normal((90, 230)), np.arange(90) % 2, np.repeat(["a", "b"], [60, 30]))
    wide = make_plan(table)
    assert any("columns" in note for note in wide.notes)
    kinds = {remedy.name for remedy in wide.remedies}
    assert "group centring" in kinds
    assert "group whitening" not in kinds
    with pytest.raises(InputError, match=r"1 of which none fits the data \(Whitening by group is left out"):
        make_plan(table, arms=["group whitening"])


@pytest.mark.parametrize(("name", "how"), [("group centring", "centre"), ("Group-whitening", "whiten")])
def test_a_name_is_enough_for_either_way_to_standardise(name, how) -> None:
    features, labels, groups = shifted_apart(np.random.default_rng(4), each=60)
    assert MendedClassifier("logistic", name).fit(features, labels, groups).remedy_.standardise == how
    (planned,) = make_plan(evidence(features, labels, groups), arms=[name]).remedies
    assert planned.remedy.standardise == how


def test_exports_say_where_to_go() -> None:
    features, labels, groups = shifted_apart(np.random.default_rng(4), each=60)
    plan = make_plan(evidence(features, labels, groups))
    centring = plan["group centring"].sklearn("logistic").fit(features, labels, groups)
    assert centring.predict(features, groups).shape == labels.shape
    pytest.importorskip("torch")
    for name, words in (("group DRO", "GroupDROLoss"), ("group whitening", "GroupWhitening")):
        with pytest.raises(InputError, match=words):
            plan[name].torch()


def law_of(random, sizes=(900, 300), gap=0.0):
    """Two Gaussian groups and labels of a logistic teacher; group b is wider where `gap` is set."""
    groups = np.repeat([0, 1], sizes)
    features = random.standard_normal((groups.size, 3)) * np.where(groups == 1, 1.0 + gap, 1.0)[:, None]
    chance = 1 / (1 + np.exp(-features[:, 0]))
    answers = (random.random(groups.size) < chance).astype(float)
    return group_law(features, groups, answers, groups.size, 0)


def test_the_law_of_collecting_agrees_with_its_own_forecast() -> None:
    """Fractions and counts are one law: n lambda_l = n_l; more examples never raise a risk; halving halves."""
    law = law_of(np.random.default_rng(5))
    for place, forecast in enumerate(law.forecast.groups):
        assert law.excess(place) == pytest.approx(forecast.excess_risk, rel=1e-9)  # rounding
        needed = law.halves_with(place)
        assert law.lowered(place, place, needed)[0] == pytest.approx(0.5, abs=1e-3)  # whole examples
        assert law.lowered(place, place, needed - 2)[0] < 0.5
        for by in range(2):
            value, low, high = law.lowered(place, by, 50.0)
            assert value >= 0
            assert 0 <= low <= high < 1


def test_equal_groups_have_no_better_group_and_twice_the_data_halves() -> None:
    law = law_of(np.random.default_rng(6))
    everything = law.counts.copy()
    assert law.clearly_better(1, 100.0) is None
    # identical groups: the group's own examples and the other's teach alike, so all n again halve it
    own, _, _ = law.lowered(1, 1, float(everything.sum()))
    assert own == pytest.approx(0.5, abs=0.06)  # the two covariances are estimates of one


def test_the_plan_tells_what_the_law_says() -> None:
    plan = make_plan(evidence(*opposed(np.random.default_rng(7), large=300, small=200)))
    groups = [remedy for remedy in plan.remedies if remedy.kind == "collect" and remedy.parameters["axis"] == "group"]
    assert [remedy.parameters["subject"] for remedy in groups] == ["b"]  # the worse of two; the better needs none
    for remedy in groups:
        law = remedy.parameters["law"]
        assert law["low"] <= law["high"]
        assert 0 < law["lowered"] <= 0.5 + 1e-3
        assert remedy.parameters["examples"] <= law["halved_by"]
        assert "large-n law" in remedy.why
        assert "elasticity" in remedy.why


def test_the_plan_speaks_of_classes_too_small_for_it() -> None:
    random = np.random.default_rng(8)
    labels = np.repeat([0, 1, 2, 3], [60, 40, 3, 1])
    plan = make_plan(evidence(random.standard_normal((104, 3)), labels))
    assert any("1 class has one example" in note and "(3)" in note for note in plan.notes)
    assert any("fewer than 5 examples (2)" in note for note in plan.notes)


def test_group_accuracy_of_a_group_of_one() -> None:
    codes = np.array([0, 0, 0, 1])
    fold = np.tile(np.arange(4), (2, 1))
    answers = Answers(np.ones((2, 4), dtype=bool), fold, np.zeros(4, dtype=np.int64), codes)
    from lopsided.measure.paired_scores import estimate

    found = estimate(group_accuracy("b", 1), answers, Judged((0,), (0, 1)))
    assert found.value == 1.0
    assert found.low < 0.1  # one example says next to nothing
