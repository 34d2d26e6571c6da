"""Rates of groups against fairlearn, on planted gaps, and where there are none."""

import numpy as np
import pytest
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    equalized_odds_difference,
    false_positive_rate,
    selection_rate,
    true_positive_rate,
)

import lopsided


def planted(false_alarms, *, rows=3000, seed=0, names=("a", "b")):
    """Binary labels, one in three true; groups differ in how often a negative is accused."""
    random = np.random.default_rng(seed)
    labels, groups = (random.random(rows) < 1 / 3).astype(int), random.integers(0, len(names), rows)
    chance = np.where(labels == 1, 0.7, np.array(false_alarms)[groups])
    return labels, np.array(names)[groups], (random.random(rows) < chance).astype(int)


def audited(labels, groups, predictions):
    found = lopsided.audit(
        labels=labels, groups={"group": groups}, predictions=predictions, checks=["group_rates", "group_accuracy"]
    )
    return [one for one in found.findings if one.id == "group_rates"], found.measures["group_rates"]["group"]


def test_the_numbers_are_fairlearns() -> None:
    labels, groups, predictions = planted((0.42, 0.22, 0.3), names=("a", "b", "c"))
    _, measures = audited(labels, groups, predictions)
    assert list(measures) == ["1"]  # of two classes the rarer one
    frame = MetricFrame(
        metrics={"true_positive_rate": true_positive_rate, "false_positive_rate": false_positive_rate,
                 "selection_rate": selection_rate},
        y_true=labels, y_pred=predictions, sensitive_features=groups,
    )  # fmt: skip
    for group, rates in measures["1"]["groups"].items():
        for rate, found in rates.items():
            assert found["value"] == pytest.approx(frame.by_group.loc[group, rate], abs=1e-12)
            assert found["interval"][0] < found["value"] < found["interval"][1]
    odds = equalized_odds_difference(labels, predictions, sensitive_features=groups)
    parity = demographic_parity_difference(labels, predictions, sensitive_features=groups)
    assert measures["1"]["equalized_odds_difference"] == pytest.approx(odds, abs=1e-12)
    assert measures["1"]["demographic_parity_difference"] == pytest.approx(parity, abs=1e-12)


def test_several_classes_are_one_against_the_rest() -> None:
    random = np.random.default_rng(1)
    labels, groups = random.choice(3, 2000, p=[0.5, 0.3, 0.2]), random.choice(["x", "y"], 2000)
    predictions = np.where(random.random(2000) < 0.6, labels, random.integers(0, 3, 2000))
    _, measures = audited(labels, groups, predictions)
    assert list(measures) == ["0", "1", "2"]
    for code, name in enumerate(measures):
        frame = MetricFrame(
            metrics=true_positive_rate, y_true=labels == code, y_pred=predictions == code, sensitive_features=groups
        )
        for group in ("x", "y"):
            found = measures[name]["groups"][group]["true_positive_rate"]["value"]
            assert found == pytest.approx(frame.by_group[group], abs=1e-12)


def test_unequal_errors_behind_equal_accuracy_are_found() -> None:
    """Group b is spared as often as a is accused: accuracies agree, false positive rates are 20 points apart."""
    random = np.random.default_rng(2)
    groups, labels = np.repeat(["a", "b"], 2000), np.tile([0, 1], 2000)
    wrong = np.where(groups == "a", np.where(labels == 0, 0.42, 0.22), np.where(labels == 0, 0.22, 0.42))
    predictions = np.where(random.random(4000) < wrong, 1 - labels, labels)
    found = lopsided.audit(labels=labels, groups={"race": groups}, predictions=predictions)
    by_id = {name: [one for one in found.findings if one.id == name] for name in ("group_accuracy", "group_rates")}
    assert all(one.level.value == "healthy" for one in by_id["group_accuracy"])
    odds = next(one for one in by_id["group_rates"] if "equalised odds" in one.subject)
    assert odds.level.value in ("at risk", "failing")
    assert odds.interval[0] > 0.1
    assert "a gap in equalised odds of" in odds.message
    assert "of a's examples of" in odds.message


def test_no_alarm_where_groups_are_alike() -> None:
    """200 sets of three groups without a gap. Intervals hold for all pairs, classes and rates at once at 95 %, and an
    alarm needs a lower end above 0.05, so alarms are far rarer than 5 %."""
    alarms = 0
    for seed in range(200):
        found, _ = audited(*planted((0.3, 0.3, 0.3), rows=400, seed=seed, names=("a", "b", "c")))
        alarms += any(one.level.value != "healthy" for one in found)
    assert alarms <= 2


def test_small_cells_are_named_and_not_compared() -> None:
    labels, groups, predictions = planted((0.3, 0.3), rows=800, seed=3)
    groups = groups.astype("<U4")
    groups[np.flatnonzero(labels == 0)[:8]] = "tiny"
    predictions[groups == "tiny"] = 1  # eight innocents, all accused
    found, measures = audited(labels, groups, predictions)
    assert all(one.level.value == "healthy" for one in found)
    assert any("Too few examples to compare: tiny" in one.message for one in found)
    assert "tiny (false positive rate)" in measures["1"]["too_small"]


def test_order_and_names_do_not_matter() -> None:
    labels, groups, predictions = planted((0.5, 0.2), seed=4)
    order = np.random.default_rng(5).permutation(labels.size)
    first, _ = audited(labels, groups, predictions)
    second, _ = audited(labels[order], np.where(groups == "a", "z", "y")[order], predictions[order])
    assert [(one.level, one.value, one.interval) for one in first] == [
        (one.level, one.value, one.interval) for one in second
    ]
