"""Groups too small to be judged are left out of the worst group and named; the metric is said where nobody chose it."""

import json

import numpy as np
import pytest

from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows, Partition
from lopsided.measure.metrics import METRICS
from lopsided.measure.metrics.contract import LEAST_IN_GROUP
from lopsided.remedies.pilot import MOST_ROWS
from lopsided.remedies.threshold_moving import tuned_offsets
from tests.checkup.trial.helpers import evidence


def with_a_group_of(small: int, name="tiny"):
    """Two large groups that are easy, and a small one whose labels are the wrong way round: always answered wrongly."""
    random = np.random.default_rng(0)
    labels = np.tile([0, 1], 110 + small)[: 220 + small]
    groups = np.repeat(["a", "b", name], [120, 100, small])
    features = random.standard_normal((labels.size, 2)) + 4.0 * np.where(groups == name, 1 - labels, labels)[:, None]
    return features, labels, groups


def test_a_tiny_group_is_not_the_worst_and_is_named(tmp_path) -> None:
    given = evidence(*with_a_group_of(LEAST_IN_GROUP - 1))
    plan = make_plan(given)
    sentence = "Groups of group with fewer than 10 examples are never the worst group (tiny: 9)."
    assert sentence in plan.notes
    forecast = plan["threshold moving"].forecast
    assert forecast.metric == "worst group accuracy"
    # groups of 100 that are answered rightly nine times in ten or more: an interval of at most 0.1 each way
    assert forecast.high - forecast.low < 0.2
    outcome = run_trial(given, plan, store=tmp_path, repeats=1)
    plain = outcome["plain"].metrics
    others = [plain[f"accuracy on {name}"].estimate.value for name in "ab"]
    assert plain["worst group accuracy"].estimate.value == min(others) > 0.9
    assert plain["accuracy on tiny"].estimate.value < 0.3  # still told by itself
    assert outcome.notes.count(sentence) == 1
    by_hand = run_trial(given, Plan([], "worst-group"), store=tmp_path, repeats=1, forecasts=False)
    assert sentence in by_hand.notes


def test_a_group_that_is_large_enough_counts(tmp_path) -> None:
    given = evidence(*with_a_group_of(LEAST_IN_GROUP))
    outcome = run_trial(given, Plan([], "worst-group"), store=tmp_path, repeats=1, forecasts=False)
    plain = outcome["plain"].metrics
    assert plain["worst group accuracy"].estimate.value == plain["accuracy on tiny"].estimate.value < 0.3
    assert not any("never the worst" in note for note in [*outcome.notes, *make_plan(given).notes])


def test_groups_that_are_all_too_small_are_refused(tmp_path) -> None:
    random = np.random.default_rng(1)
    given = evidence(random.standard_normal((63, 2)), np.arange(63) % 2, np.arange(63) % 7)
    for ask in (make_plan, run_trial):
        with pytest.raises(InputError, match=r"at least 10 training examples .* but got 9 in the largest, 0; name"):
            ask(given)
    outcome = run_trial(given, metric="balanced", store=tmp_path, repeats=1, forecasts=False)
    assert "worst group accuracy" not in outcome["plain"].metrics
    assert any("never the worst group (0: 9, 1: 9" in note for note in outcome.notes)


def test_offsets_are_not_tuned_for_a_tiny_group() -> None:
    """The nine would be answered rightly with the offsets reversed, which costs the others everything."""
    codes = np.repeat([0, 1], [100, 109])
    groups = np.repeat([0, 1, 2], [100, 100, 9])
    sure = np.array([[0.9, 0.1], [0.1, 0.9], [0.6, 0.4]])

    def tuned(classes, parts):
        rows = LabelledRows(
            np.arange(classes.size), Partition("class", classes, ("0", "1")), Partition("group", parts, ("a", "b", "t"))
        )
        return tuned_offsets(sure[parts], rows, "worst-group", 0)

    alone = tuned(codes[:200], groups[:200])
    np.testing.assert_array_equal(alone, tuned(codes, groups))
    assert not np.array_equal(alone, tuned(np.r_[codes, 1], np.r_[groups, 2]))


def test_forecasts_name_the_groups_that_the_pilot_hardly_sees() -> None:
    random = np.random.default_rng(2)
    rows = 3 * MOST_ROWS
    groups = np.repeat(["a", "b", "few"], [rows // 2, rows // 2 - 20, 20])  # the pilot sees about seven of the 20
    given = evidence(random.standard_normal((rows, 2)), np.arange(rows) % 2, groups)
    notes = make_plan(given).notes
    assert any("Forecasts leave out groups" in note and "few" in note for note in notes)
    assert not any("never the worst" in note for note in notes)


def test_the_metric_is_said_first(tmp_path, capsys) -> None:
    features, labels, groups = with_a_group_of(9)
    np.savez(tmp_path / "some.npz", features=features, labels=labels, group=groups)
    place, name = str(tmp_path / "some.npz"), METRICS["worst-group"].name
    assert main(["plan", place]) == 0
    printed = capsys.readouterr().out
    assert f"Plan for {name} (groups of group)" in printed.splitlines()[1]  # below the columns
    assert "Groups were given, so the metric is the accuracy of the worst group" in printed
    assert "tiny: 9" in printed
    assert main(["plan", place, "--metric", "balanced", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["metric"], facts["metric_name"], facts["groups"]) == ("balanced", "balanced accuracy", "group")
    assert not any("Groups were given" in note for note in facts["notes"])
    options = ["--store", str(tmp_path / "store"), "--repeats", "1", "--jobs", "1"]
    assert main(["trial", place, *options]) == 0
    printed = capsys.readouterr().out
    assert f"judged by {name} (groups of group)" in " ".join(printed.split("arm")[0].split())
    assert "tiny: 9" in printed
