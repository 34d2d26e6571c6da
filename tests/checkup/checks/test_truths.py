"""Planted truths: each defect is found where it was planted and nowhere else, and a clean set raises no alarm.

The rates over many random plants are in bench/audit.py; here one of each, with another seed for every kind.
"""

import numpy as np
import pytest

import lopsided
from tests.checkup.planted_truths import KINDS, judge, plant


@pytest.mark.parametrize("kind", KINDS)
def test_found_where_planted_and_nowhere_else(kind) -> None:
    planted = plant(kind, seed=11)
    hit, false = judge(lopsided.audit(**planted.given, seed=1), planted)
    assert hit
    assert not false


def test_judge_can_fail() -> None:
    clean, shifted = plant("clean", seed=12), plant("shifted group", seed=12)
    found = lopsided.audit(**shifted.given, checks=["group_shift"])
    assert not judge(lopsided.audit(**clean.given, checks=["group_shift"]), shifted)[0]
    assert judge(found, clean)[1]


def test_a_hundred_clean_classes_raise_no_alarm() -> None:
    planted = plant("clean", seed=13, classes=100, per_class=60, dimension=30)
    names = ["counts", "collapse_forecast", "collapse_measured", "class_accuracy", "calibration", "group_accuracy"]
    found = lopsided.audit(**planted.given, checks=[*names, "group_shift", "noise_ratios", "influence", "duplicates"])
    assert judge(found, planted) == (True, [])


def test_forecast_names_the_classes_below_what_they_need() -> None:
    counts = np.array([5000, 4000, 300, 12, 9])
    labels = np.repeat(np.arange(5), counts)
    found = lopsided.audit(labels=labels, weight_decay=5e-3, checks=["collapse_forecast"])
    need = lopsided.collapse(counts.astype(float), multiplier=5e-3 / np.sqrt(0.75 * 5)).count_needed
    levels = {one.subject: one.level.value for one in found.findings}
    assert need == pytest.approx(found.measures["collapse_forecast"]["count_needed"])
    expected = {
        f"class {code}": "failing" if count <= need else "at risk"
        for code, count in enumerate(counts)
        if count <= 5 * need
    }
    assert levels == expected
    assert "failing" in expected.values()


def test_a_measured_last_layer_gives_the_multiplier() -> None:
    """wd sqrt(E_W / E_H), E_H the energy of the centred class means."""
    random = np.random.default_rng(4)
    labels = np.repeat(np.arange(3), [60, 30, 10])
    weights = random.standard_normal((3, 5))
    features = 2 * weights[labels] + 7.0 + random.standard_normal((100, 5))
    found = lopsided.audit(
        features, labels=labels, classifier=weights, weight_decay=1e-2, checks=["collapse_forecast"]
    ).measures["collapse_forecast"]
    means = np.array([features[labels == k].mean(axis=0) for k in range(3)])
    centred = means - means.mean(axis=0)
    expected = 1e-2 * np.sqrt((weights**2).sum() / (centred**2).sum())
    assert found["multiplier"] == pytest.approx(expected, rel=1e-9)


def test_without_weight_decay_nothing_is_called_failing() -> None:
    labels = np.repeat(np.arange(3), [100_000, 90_000, 3])
    found = lopsided.audit(labels=labels, checks=["collapse_forecast"])
    assert [one.level.value for one in found.findings] == ["at risk"]
    assert "assuming" in found.findings[0].message


def test_leaks_and_two_labels_are_listed_by_position() -> None:
    random = np.random.default_rng(5)
    rows = random.standard_normal((400, 6))
    test = np.arange(400) >= 300
    rows[350], rows[360] = rows[10], rows[20]  # leaks
    rows[361] = rows[362]  # twice in the test rows: no leak
    labels = np.arange(400) % 4
    labels[350] = (labels[10] + 1) % 4  # under another label
    labels[360], labels[361] = labels[20], labels[362]
    found = lopsided.audit(rows, labels=labels, split=test, checks=["duplicates"])
    leaks, torn = found.findings
    if leaks.subject != "test rows":
        leaks, torn = torn, leaks
    assert set(leaks.examples) == {350, 360}
    assert set(torn.examples) == {10, 350}
    assert leaks.value == pytest.approx(2 / 100)


def test_rows_that_differ_in_words_are_no_duplicates() -> None:
    import pandas as pd

    frame = pd.DataFrame({"x": np.arange(60) % 30, "job": ["a"] * 30 + ["b"] * 30, "y": [0, 1] * 30})
    frame["split"] = ["train"] * 30 + ["test"] * 30
    found = lopsided.audit(frame, checks=["duplicates"])
    assert found.measures["duplicates"]["test_rows_in_training"] == 0
    frame["job"] = "a"
    again = lopsided.audit(frame, checks=["duplicates"])
    assert again.measures["duplicates"]["test_rows_in_training"] == 30


def test_one_example_that_carries_its_class_is_named() -> None:
    random = np.random.default_rng(6)
    rows, labels = random.standard_normal((600, 5)), np.arange(600) % 3
    rows[123] *= 25.0
    found = lopsided.audit(rows, labels=labels, checks=["influence"])
    (alarm,) = [one for one in found.findings if one.level.value != "healthy"]
    assert alarm.subject == "class 0"
    assert alarm.examples[0] == 123
    # the share against the definition: |cov|^2 with and without it
    own = rows[labels == 0]
    scaled = own / np.sqrt(np.mean(rows.std(axis=0) ** 2))

    def energy(points):
        return np.square(np.cov(points.T)).sum()

    without = energy(np.delete(scaled, 41, axis=0))
    assert alarm.value == pytest.approx((energy(scaled) - without) / energy(scaled), rel=1e-9)  # float rounding


def test_adult(data_folder) -> None:
    """The census income data: who is small and who is shifted is known; all rows and groups are there."""
    from lopsided.data.adult import load_adult

    table = load_adult(data_folder)
    assert table.rows == 48_842
    found = lopsided.audit(
        table, labels="income", groups=["sex", "race"], checks=["counts", "group_shift", "duplicates"]
    )
    counts = found.measures["counts"]
    assert counts["classes"] == {"<=50K": 24_720, ">50K": 7_841}
    assert counts["groups"]["sex"] == {"Female": 10_771, "Male": 21_790}
    assert sum(counts["groups"]["sex × race"].values()) == 32_561
    assert any(one.subject == "race: Other" for one in found.findings)
    assert 0 < found.measures["duplicates"]["test_rows_in_training"] < 50
