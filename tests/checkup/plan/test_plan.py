"""Plans: what is in them, what they forecast, what can be taken along."""

import json

import numpy as np
import pytest

from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.core.errors import InputError
from lopsided.remedies import pilot
from lopsided.remedies.learning_curve import LearningCurve
from tests.checkup.trial.helpers import evidence, group_with_its_own_rule, nothing_helps, two_gaussians


@pytest.fixture(scope="module")
def plan():
    return make_plan(two_gaussians([300, 40], 1.0, np.random.default_rng(0)))


def test_best_forecast_first_and_reasons_where_there_is_none(plan) -> None:
    counted = [remedy.counts_as for remedy in plan.remedies]
    known = [value for value in counted if value is not None]
    assert counted == sorted(known, reverse=True) + [None] * (len(counted) - len(known))
    assert {remedy.kind for remedy in plan.remedies} >= {
        "logit adjustment",
        "reweight",
        "oversample",
        "threshold",
        "noise",
    }
    without = [remedy for remedy in plan.remedies if remedy.forecast is None]
    assert without
    assert all("No forecast: " in remedy.why for remedy in without)
    json.dumps(plan.to_dict())


def test_a_plan_of_named_arms_forecasts_them_as_the_whole_plan_does(plan) -> None:
    """In place of all that a plan proposes, collection among it."""
    names = ["class weights", "logit adjustment"]
    made = make_plan(two_gaussians([300, 40], 1.0, np.random.default_rng(0)), arms=names)
    assert {one.name for one in made.remedies} == set(names)
    assert any(one.remedy.collects for one in plan.remedies)
    assert all(made[name].forecast == plan[name].forecast for name in names)


def test_forecast_of_adjustment_is_what_theory_says() -> None:
    """Two Gaussians at distance 1, r times more of the first: Bayes' balanced accuracy is Phi(1/2) with the prior taken
    off, and with it (Phi(1/2 + ln r) + Phi(1/2 - ln r)) / 2; at r = 7.5 the gain is 0.162."""
    from scipy.stats import norm

    counts = [1500, 200]
    plans = [make_plan(two_gaussians(counts, 1.0, np.random.default_rng(seed))) for seed in range(4)]
    log_ratio = np.log(counts[0] / counts[1])
    expected = norm.cdf(0.5) - 0.5 * (norm.cdf(0.5 + log_ratio) + norm.cdf(0.5 - log_ratio))
    gains = [plan["logit adjustment"].forecast.gain for plan in plans]
    # About 0.28 of the small class's answers change, so the error of one gain is sqrt(0.28 0.72 / 200) / 2 = 0.016, of
    # the mean of four 0.008; three of them.
    assert abs(np.mean(gains) - expected) < 0.024


def test_exports(plan) -> None:
    rates = plan["oversampling"].parameters["rates"]
    indices = plan["oversampling"].indices(seed=1)
    classes = np.repeat([0, 1], [300, 40])
    seen = np.bincount(classes[indices])
    np.testing.assert_allclose(seen, [300 * rates["0"], 40 * rates["1"]], atol=0.5)  # whole examples
    weights = plan["class weights"].weights()
    assert weights.mean() == pytest.approx(1.0)
    assert weights[classes == 0].sum() == pytest.approx(weights[classes == 1].sum())
    offsets = plan["logit adjustment"].offsets()
    assert offsets[1] - offsets[0] == pytest.approx(np.log(300 / 40))
    with pytest.raises(InputError, match="moves decisions"):
        plan["class weights"].offsets()
    with pytest.raises(InputError, match="weights examples"):
        plan["logit adjustment"].weights()
    fitted = plan["class weights"].sklearn("logistic").fit(np.random.default_rng(0).standard_normal((340, 3)), classes)
    assert set(fitted.predict(np.zeros((2, 3)))) <= {0, 1}
    with pytest.raises(InputError, match="collect"):
        plan["collect class 1"].sklearn()


def test_test_rows_stay_out() -> None:
    given = two_gaussians([100, 20], 1.0, np.random.default_rng(2))
    is_test = np.zeros(120, dtype=bool)
    is_test[::2] = True
    made = make_plan(evidence(given.table.features(), given.classes.codes, is_test=is_test))
    assert set(made["oversampling"].indices(0).tolist()) == set(range(1, 120, 2))
    assert made["class weights"].weights().shape == (60,)


def test_torch_exports(plan) -> None:
    torch = pytest.importorskip("torch")
    logits = torch.zeros(1, 2)
    shifted = plan["logit adjustment"].torch()(logits)
    np.testing.assert_allclose(shifted.numpy()[0], plan["logit adjustment"].offsets(), atol=1e-6)  # float32
    assert sorted(plan["oversampling"].torch(seed=1)) == sorted(plan["oversampling"].indices(1).tolist())
    # one example of each class: weights with mean 1 over the data, so a batch of one is weighted, too
    loss, weights = plan["class weights"].torch(), plan["class weights"].weights()
    for code, weight in ((0, weights[0]), (1, weights[-1])):
        assert float(loss(logits, torch.tensor([code]))) == pytest.approx(weight * np.log(2), rel=1e-6)  # float32


def test_torch_exports_without_pytorch_say_so() -> None:
    """In a process of its own in which PyTorch cannot be found."""
    import subprocess
    import sys

    script = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NoTorch())
import numpy, lopsided
y = numpy.repeat([0, 1], [60, 20])
x = numpy.random.default_rng(0).normal(size=(80, 2)) + y[:, None]
try:
    lopsided.plan(x, labels=y)["class weights"].torch()
except lopsided.LopsidedError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert "Expected the package torch for exporting a remedy to PyTorch" in run.stdout, run.stderr


def test_equal_classes_get_no_weights() -> None:
    made = make_plan(two_gaussians([60, 60], 1.0, np.random.default_rng(3)))
    assert not {"reweight", "oversample", "noise", "logit adjustment"} & {remedy.kind for remedy in made.remedies}
    assert any("equal in size" in note for note in made.notes)


def test_weight_decay_gives_rates_by_the_collapse_forecast() -> None:
    given = two_gaussians([300, 30, 10], 1.0, np.random.default_rng(4))
    made = make_plan(given, recipe={"weight_decay": 0.05})
    assert made["oversampling"].parameters["rule"] == "forecast"
    assert made["oversampling"].parameters["rates"]["2"] > 1
    assert any(remedy.kind == "collect" and remedy.parameters["subject"] == "2" for remedy in made.remedies)


def test_groups_are_planned_for() -> None:
    made = make_plan(group_with_its_own_rule(np.random.default_rng(5)))
    assert made.metric == "worst-group"
    assert made["group weights"].forecast is not None
    assert made["collect group b"].forecast.metric == "accuracy on b"
    assert made["collect group b"].forecast.gain > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [({"metric": "best"}, "a metric among"), ({"metric": "worst-group"}, "groups"), ({"group": "sex"}, "'sex'")],
)
def test_refusals(options, words) -> None:
    with pytest.raises(InputError, match=words):
        make_plan(two_gaussians([30, 10], 1.0, np.random.default_rng(6)), **options)


def test_learning_curve_continues_a_power_law() -> None:
    """Errors planted at 0.4 m^-1/2 of many answers: doubling gains 0.4 (1 - 2^-1/2) of them."""
    total = np.full((10, 3), 100_000.0)
    wrong = total * 0.4 * np.array([2.0, np.sqrt(2.0), 1.0])
    curve = LearningCurve(wrong, total, wrong[:, -1], 2.0)
    assert curve.exponent == pytest.approx(0.5, abs=1e-4)  # half an error is added to a million
    value, low, high = curve.gain()
    assert value == pytest.approx(0.4 * (1 - 2**-0.5), abs=1e-4)
    assert low <= value <= high
    assert curve.gain(since=4.0)[0] == pytest.approx(0.2 * (1 - 2**-0.5), abs=1e-4)


def test_more_of_a_class_is_mostly_its_prior_where_little_is_left_to_learn() -> None:
    """Two Gaussians at distance 1: at frequency f of the second its recall is Phi(1/2 - ln((1-f)/f)), so that going
    from 1 in 8 to 2 in 9 gains Phi(1/2 - ln 3.5) - Phi(1/2 - ln 7) = 0.149."""
    from scipy.stats import norm

    from lopsided.checkup.inputs.training_set import training_set
    from lopsided.remedies.learning_curve import learning_curve

    expected = norm.cdf(0.5 - np.log(3.5)) - norm.cdf(0.5 - np.log(7.0))
    given = training_set(two_gaussians([2100, 300], 1.0, np.random.default_rng(0), width=1))
    value, low, high = learning_curve(given, "class", 1, 0).gain()
    assert low <= expected <= high
    # The recall of 300 has error 0.024, and the changed answers (0.15 of them) 0.021: three of those.
    assert abs(value - expected) < 0.063


def test_plans_are_repeatable() -> None:
    given = nothing_helps(np.random.default_rng(7))
    assert make_plan(given, seed=3).to_dict() == make_plan(given, seed=3).to_dict()


def test_the_order_is_by_a_number_that_is_shown(capsys, tmp_path, monkeypatch) -> None:
    """One fraud in a hundred: a large gain in its own recall counts little where the worst group is to rise, and stands
    below a group's small one. The number that says so is in the plan, its JSON, its text and the command's table."""
    import re

    from lopsided.cli.main import main

    random = np.random.default_rng(8)
    labels = np.repeat([0, 1], [990, 30])
    groups = random.choice(["u", "v", "w"], labels.size, p=[0.7, 0.25, 0.05])
    features = random.standard_normal((labels.size, 3)) + 1.5 * labels[:, None]
    made = make_plan(evidence(features, labels, groups))
    counted = [remedy.counts_as for remedy in made.remedies if remedy.forecast is not None]
    ordered = [round(gain, 12) for gain in counted]  # differences below it are rounding errors
    assert ordered == sorted(ordered, reverse=True)
    fraud = made["collect class 1"]
    gained = min(fraud.forecast.gain, fraud.forecast.learned)
    assert fraud.counts_as == pytest.approx(gained * 30 / labels.size)
    group = next(remedy for remedy in made.remedies if remedy.name.startswith("collect group"))
    assert group.counts_as == pytest.approx(min(group.forecast.gain, group.forecast.learned))
    facts = made.to_dict()
    assert [remedy["counts_as"] for remedy in facts["remedies"]][: len(counted)] == counted
    assert facts["metric_name"] == "worst group accuracy"
    assert "Ordered by the expected gain in worst group accuracy" in facts["order"]
    assert f"expected gain {fraud.counts_as:+.4f}" in str(made)

    np.savez(tmp_path / "data.npz", features=features, labels=labels, group=groups)
    monkeypatch.setenv("COLUMNS", "2000")  # no cell is wrapped
    assert main(["plan", str(tmp_path / "data.npz"), "--why"]) == 0
    printed = capsys.readouterr().out
    assert "most promising first" in printed.splitlines()[1]  # below the columns
    shown = [float(number) for number in re.findall(r"Expected gain: ([+-]\d\.\d{4})\.", printed)]
    assert shown == [round(number, 4) for number in counted]
    assert facts["order"] in printed


def test_balanced_plans_count_a_class_by_the_number_of_classes(plan) -> None:
    collected = plan["collect class 1"]
    assert collected.counts_as == pytest.approx(min(collected.forecast.gain, collected.forecast.learned) / 2)
    assert "balanced accuracy" in str(plan).splitlines()[1]


def test_of_very_many_classes_some_are_drawn_for_the_forecasts(monkeypatch) -> None:
    monkeypatch.setattr(pilot, "MOST_CLASSES", 20)
    monkeypatch.setattr(pilot, "DRAWN_CLASSES", 8)
    random = np.random.default_rng(0)
    counts = np.r_[np.full(3, 1), np.arange(2, 32)]
    labels = np.repeat([f"c{code:02d}" for code in range(counts.size)], counts)
    features = random.normal(size=(labels.size, 3)) + 2 * random.normal(size=(counts.size, 3)).repeat(counts, axis=0)
    found = make_plan(features, labels=labels, recipe={"weight_decay": 5e-3})
    assert "Forecasts are for 8 of the 33 classes, drawn evenly over their sizes." in found.notes
    assert found["logit adjustment"].forecast is not None
    assert found["logit adjustment"].offsets().shape == (33,)
    assert np.unique(found["threshold moving"].offsets()).size == 1  # a pilot of some classes has none for the others
    drawn = pilot.reduced(found["logit adjustment"].training, 0).classes
    assert drawn.names[0] == "c03"  # the smallest that can be tested
    assert drawn.names[-1] == "c32"
    np.testing.assert_array_equal(drawn.counts, [counts[int(name[1:])] for name in drawn.names])
    collected = [remedy for remedy in found.remedies if remedy.remedy.collects is not None]
    assert collected
    for remedy in collected:
        assert remedy.remedy.have == counts[int(remedy.remedy.subject[1:])]
        if remedy.remedy.subject not in drawn.names:
            assert "is not among the 8 classes of the pilot" in remedy.why
