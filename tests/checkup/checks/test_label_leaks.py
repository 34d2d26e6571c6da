"""A column that tells the label is named; honest columns, clean plants and large majorities raise no alarm."""

import numpy as np
import pandas as pd
import pytest

import lopsided
from tests.checkup.planted_truths import plant

CHECK = ["label_leaks"]


def frame(random, rows=300):
    labels = (random.random(rows) < 0.3).astype(int)
    features = random.standard_normal((rows, 4)) + labels[:, None]
    return pd.DataFrame(features, columns=list("abcd")).assign(label=labels)


@pytest.mark.parametrize("kind", ["equal", "a number above a threshold", "words", "three classes"])
def test_columns_that_tell_the_label_are_named(kind) -> None:
    random = np.random.default_rng(0)
    data = frame(random)
    if kind == "three classes":
        data["label"] = random.integers(0, 3, 300)
    label = data["label"].to_numpy()
    data["leak"] = {
        "equal": label,
        "three classes": label * 10.0,
        "a number above a threshold": label * 1e12 + random.random(300),
        "words": np.where(label == 1, "closed", "open"),
    }[kind]
    found = lopsided.audit(data, checks=CHECK)
    (alarm,) = found.findings
    assert alarm.level.value == "at risk"
    assert alarm.subject == "column leak"
    assert alarm.value == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_honest_columns_raise_no_alarm(seed) -> None:
    random = np.random.default_rng([1, seed])
    data = frame(random)
    data["id"] = np.arange(300)
    data["name"] = [f"person {place}" for place in range(300)]
    assert lopsided.audit(data, checks=CHECK).passed("at risk")
    assert lopsided.audit(**plant("clean", seed).given, checks=CHECK).passed("at risk")
    rare = random.standard_normal((400, 3))
    assert lopsided.audit(rare, labels=np.arange(400) < 4, checks=CHECK).passed("at risk")


def test_a_strong_column_of_an_easy_task_is_no_leak_but_the_label_is() -> None:
    random = np.random.default_rng(2)
    labels = np.repeat([0, 1], 500)
    # errors: column 0 Phi(-2.0) = 2.3 %, below a tenth of 50 %; any other Phi(-1.4) = 8 %, together Phi(-3.1) = 0.1 %
    features = random.standard_normal((1000, 6)) + labels[:, None] * np.array([4.0, 2.8, 2.8, 2.8, 2.8, 2.8])
    found = lopsided.audit(features, labels=labels, checks=CHECK)
    assert found.passed("at risk")
    assert "the others together" in found.findings[0].message
    leaking = np.column_stack([features, labels, 10.0 * (labels == 0)])
    alarms = lopsided.audit(leaking, labels=labels, checks=CHECK).findings
    assert {alarm.subject for alarm in alarms} == {"column 6", "column 7"}


def test_many_small_classes_bring_no_warning() -> None:
    """pytest makes an error of any warning."""
    labels = np.repeat(np.arange(700), 3)
    leak = labels + np.random.default_rng(0).uniform(-0.1, 0.1, labels.size)
    found = lopsided.audit(features=np.stack([leak, -leak], axis=1), labels=labels, checks=["label_leaks"])
    assert [one.check for one in found.skipped] == []


@pytest.mark.parametrize(
    ("kinds", "rows", "others"), [(20, 130, 1400), (10, 250, 1500), (40, 70, 1200), (9, 300, 1000)]
)
def test_codes_beside_a_class_of_many_values_are_a_leak(kinds, rows, others) -> None:
    """A code of the closed cases, and a date or an amount of the open ones: most values are of one class."""
    random = np.random.default_rng(0)
    labels = np.r_[np.repeat(np.arange(kinds), rows), np.full(others, kinds)]
    leak = np.r_[np.repeat(np.arange(kinds), rows), kinds + 1000 * random.random(others)]
    found = lopsided.audit(np.column_stack([leak, random.random(labels.size)]), labels=labels, checks=CHECK)
    assert [finding.subject for finding in found.findings] == ["column 0"]
    assert not found.passed("at risk")


@pytest.mark.parametrize(("classes", "rows"), [(300, 12), (500, 8)])
def test_a_leak_of_many_classes_is_found_among_columns_that_are_passed_over(classes, rows) -> None:
    random = np.random.default_rng(1)
    labels = np.repeat(random.permutation(classes), rows)
    leak = labels + random.uniform(-0.3, 0.3, labels.size)
    found = lopsided.audit(np.column_stack([random.random(labels.size), leak]), labels=labels, checks=CHECK)
    assert [finding.subject for finding in found.findings] == ["column 1"]
