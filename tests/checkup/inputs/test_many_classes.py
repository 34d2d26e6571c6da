"""A label column of a hundred thousand values (an identifier, most often) ends soon and in words."""

import numpy as np

from lopsided.checkup.audit import run_checks
from lopsided.checkup.inputs.feature_space import MOST_CLASSES, chosen_rows
from lopsided.checkup.inputs.gather import gather

RANDOM = np.random.default_rng(0)


def test_no_more_rows_are_chosen_than_asked_for() -> None:
    labels = np.repeat(np.arange(500), 4)
    evidence = gather(RANDOM.standard_normal((2000, 3)), labels=labels)
    few = chosen_rows(evidence, 100)  # fewer than there are classes
    assert few.size == 100
    assert (np.diff(few) > 0).all()
    each = chosen_rows(evidence, 1000)
    assert (np.bincount(labels[each], minlength=500) == 2).all()


def test_rows_are_chosen_class_by_class_as_a_loop_does() -> None:
    labels = RANDOM.choice(5, 3000, p=[0.6, 0.3, 0.07, 0.02, 0.01])
    evidence = gather(RANDOM.standard_normal((3000, 2)), labels=labels)
    rows = chosen_rows(evidence, 400)
    taken, there = (np.bincount(values, minlength=5) for values in (labels[rows], labels))
    assert rows.size <= 400
    assert (taken >= np.minimum(there, 80)).all()  # an even split of 400 over five classes
    assert (taken[:2] > 80).all()  # what the rare ones leave goes to the others


def test_checks_of_features_decline_an_identifier() -> None:
    rows = MOST_CLASSES + 1
    evidence = gather(RANDOM.standard_normal((rows, 2)), labels=np.arange(rows), many_classes=True)
    facts = run_checks(evidence, checks=["separability", "noise_ratios"], seed=0)
    assert {skipped.check for skipped in facts.skipped} == {"separability", "noise_ratios"}
    assert all("20,000 classes" in skipped.why for skipped in facts.skipped)
