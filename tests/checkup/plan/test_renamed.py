"""What classes, groups, owners of rows are called changes nothing of a plan, to the last digit."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import lopsided
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.training_set import training_set
from lopsided.core.folds import Design, deal, folds_of
from lopsided.remedies import pilot
from lopsided.remedies.balanced_bagging import BalancedBagging
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.smote import Smote
from lopsided.remedies.thresholds import ThresholdMover


def sample(seed: int, classes: int = 4, groups: int = 3, rows: int = 400):
    random = np.random.default_rng(seed)
    shares = np.arange(1, classes + 1) ** 2.0
    labels = random.choice(classes, rows, p=shares / shares.sum())
    places = random.choice(groups, rows)
    features = random.normal(size=(rows, 4)) + random.normal(size=(classes, 4))[labels]
    return features + 0.5 * random.normal(size=(groups, 4))[places], labels, places


def renamed(prefix: str, number: int, seed: int) -> np.ndarray:
    names = np.array([f"<{prefix}{code}>" for code in range(number)])
    return names if seed == 0 else np.roll(names[::-1], seed - 1)


@pytest.mark.parametrize(("seed", "grouped"), [(0, False), (1, True)], ids=["classes", "classes and groups"])
def test_a_plan_is_the_same_under_other_names(seed: int, grouped: bool) -> None:
    features, labels, places = sample(seed, rows=240)
    told = []
    for naming in range(2):
        classes, groups = renamed("class", 4, naming), renamed("group", 3, naming)
        asked = {"groups": {"place": groups[places]}} if grouped else {}
        made = lopsided.plan(features, labels=classes[labels], **asked)
        back = dict(zip((*classes, *groups), (*renamed("class", 4, 0), *renamed("group", 3, 0)), strict=True))
        facts = []
        for remedy in made.remedies:
            name = remedy.name
            for own, first in back.items():
                name = name.replace(own, first.upper())
            found = remedy.forecast
            facts.append((name, remedy.counts_as, found and (found.gain, found.low, found.high)))
        told.append(facts)
    assert told[1] == told[0]


class KeptRows:
    """A learner that remembers what it was given."""

    estimator = LogisticRegression()

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []

    def fit(self, training, weights) -> None:
        self.rows.append(training.rows)


@pytest.mark.parametrize("remedy", [Oversampling, NoisyOversampling, BalancedBagging, Smote])
def test_what_remedies_draw_does_not_depend_on_names(remedy) -> None:
    features, labels, _ = sample(2, rows=200)
    drawn = []
    for naming in range(3):
        names = renamed("class", 4, naming)
        training = training_set(gather(features, labels=names[labels]))
        if remedy is BalancedBagging:
            kept = KeptRows()
            remedy(bags=3).train(training, kept, None, 0)
            drawn.append(np.concatenate(kept.rows))
        else:
            rates = dict(zip(names.tolist(), (3.3, 2.2, 1.5, 1.0), strict=True))
            drawn.append(remedy(rates).draw(training, 0).features)
    for other in drawn[1:]:
        np.testing.assert_array_equal(other, drawn[0])


def test_folds_do_not_depend_on_codes() -> None:
    random = np.random.default_rng(0)
    classes, groups, owners = random.integers(0, 5, 300), random.integers(0, 3, 300), random.integers(0, 60, 300)
    for repeat in range(3):
        plain = deal(classes, groups, 4, 0, repeat)
        together = folds_of(classes, groups, Design(together=owners), 4, 0, repeat).fold
        for _ in range(3):
            named = [random.permutation(number)[codes] for number, codes in ((5, classes), (3, groups), (60, owners))]
            np.testing.assert_array_equal(deal(*named[:2], 4, 0, repeat), plain)
            np.testing.assert_array_equal(folds_of(*named[:2], Design(together=named[2]), 4, 0, repeat).fold, together)


def test_the_classes_that_a_pilot_sees_do_not_depend_on_names(monkeypatch) -> None:
    monkeypatch.setattr(pilot, "MOST_CLASSES", 10)
    monkeypatch.setattr(pilot, "DRAWN_CLASSES", 6)
    random = np.random.default_rng(0)
    labels = random.permutation(np.repeat(np.arange(12), 8))  # of one size
    features = random.normal(size=(labels.size, 2))
    drawn = []
    for naming in range(4):
        training = training_set(gather(features, labels=renamed("class", 12, naming)[labels]))
        drawn.append([some.rows.tolist() for some in (pilot.some_classes(training), pilot.some_classes(training, 4))])
    assert all(one == drawn[0] for one in drawn)


@pytest.mark.parametrize("objective", ["balanced", "worst", lambda tables: -tables[..., 0, 1] - 3 * tables[..., 2, 3]])
def test_thresholds_do_not_depend_on_the_order_of_columns(objective) -> None:
    random = np.random.default_rng(3)
    labels = random.choice(4, 500, p=[0.5, 0.3, 0.15, 0.05])
    logits = random.normal(size=(500, 4)) + 1.2 * np.eye(4)[labels] + np.log([0.5, 0.3, 0.15, 0.05])
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    plain = ThresholdMover(objective).fit(chances, labels)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(4)  # column k is class order[k]
        rank = np.argsort(order)
        own = objective
        if callable(objective):
            own = lambda tables, rank=rank: objective(tables[..., rank[:, None], rank])  # noqa: E731
        other = ThresholdMover(own).fit(chances[:, order], rank[labels])
        # the same search on the same numbers, so the same to the last digit
        np.testing.assert_array_equal(other.biases_, plain.biases_[order])
        assert other.fit_.cross_fitted == plain.fit_.cross_fitted
