"""Sets with one known defect each, and which findings it should raise: the audit's planted truths.

Classes are Gaussian around well separated means in d dimensions, groups are drawn at random, a linear classifier has
the class means as rows, and its logits are the model's predictions. Each plant changes one thing.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray

KINDS = ("clean", "collapsed pair", "mislabelled cluster", "shifted group")


@dataclass(frozen=True)
class Plant:
    """What to give to `lopsided.audit`, and the (check, subject) that should be raised; nothing else should."""

    kind: str
    given: dict[str, Any]
    expected: frozenset[tuple[str, str]]
    also_allowed: frozenset[str] = field(default_factory=frozenset)  # checks that see the same defect rightly
    also_allowed_of: frozenset[tuple[str, str]] = field(default_factory=frozenset)  # the same, of these subjects only


def plant(kind: str, seed: int, *, classes: int = 5, per_class: int = 200, dimension: int = 8) -> Plant:
    """One random set: means, scales, groups, who is hit and how hard are all drawn."""
    if kind not in KINDS:
        raise InputError(f"a plant among {', '.join(KINDS)}", repr(kind), "name one of those")
    random = generator(seed, "plant", kind)
    means = _means(random, classes, dimension)
    labels = np.repeat(np.arange(classes), per_class)
    features = means[labels] + random.standard_normal((len(labels), dimension)) * random.uniform(0.7, 1.0)
    sex = random.choice(["f", "m"], len(labels))
    site = random.choice(["north", "south", "west"], len(labels))
    weights = means - means.mean(axis=0)
    given_labels = labels.copy()
    expected: set[tuple[str, str]] = set()
    allowed: set[str] = set()
    allowed_of: set[tuple[str, str]] = set()
    if kind == "collapsed pair":
        first, second = sorted(int(k) for k in random.choice(classes, 2, replace=False))
        middle = (means[first] + means[second]) / 2
        for k in (first, second):  # the network maps both to one point, and its classifiers follow
            features[labels == k] += middle - means[k]
        shared = middle - means.mean(axis=0)
        weights[first] = shared + 0.03 * random.standard_normal(dimension)
        weights[second] = shared + 0.03 * random.standard_normal(dimension)
        expected = {("collapse_measured", f"classes {first} and {second}")}
        # One of the two is predicted for both, so the other fails, and the sure half is wrong half of the time.
        allowed = {"class_accuracy", "calibration"}
        # The means of these two coincide, so neither has a signal beside the other; of any other class it is an error.
        allowed_of = {("noise_ratios", f"class {first}"), ("noise_ratios", f"class {second}")}
    elif kind == "mislabelled cluster":
        victim, host = (int(k) for k in random.choice(classes, 2, replace=False))
        share = random.uniform(0.10, 0.25)
        moved = random.choice(np.flatnonzero(labels == host), int(share * per_class), replace=False)
        given_labels[moved] = victim
        expected = {("contamination", f"class {victim}")}
        # Wrong labels are also predicted "wrongly", and overconfidently so.
        allowed = {"class_accuracy", "calibration"}
    elif kind == "shifted group":
        direction = _orthogonal(random, means)
        hit = random.choice(["north", "south", "west"])
        features[site == hit] += random.uniform(1.6, 2.6) * direction
        expected = {("group_shift", f"site: {hit}")}
    logits = (features - means.mean(axis=0)) @ weights.T - 0.5 * np.square(weights).sum(axis=1)
    given = {
        "data": features,
        "labels": given_labels,
        "groups": {"sex": sex, "site": site},
        "classifier": weights,
        "bias": -weights @ means.mean(axis=0) - 0.5 * np.square(weights).sum(axis=1),
        "logits": logits,
    }
    return Plant(kind, given, frozenset(expected), frozenset(allowed), frozenset(allowed_of))


def _means(random: np.random.Generator, classes: int, dimension: int) -> FloatArray:
    """Class means at mutual distances of 4.5 and more, in all but one dimension."""
    while True:
        means = np.zeros((classes, dimension))
        means[:, :-1] = 3.0 * random.standard_normal((classes, dimension - 1))
        gaps = np.linalg.norm(means[:, None] - means[None], axis=2)[np.triu_indices(classes, 1)]
        if gaps.min() > 4.5:
            return means


def _orthogonal(random: np.random.Generator, means: FloatArray) -> FloatArray:
    """A unit vector across all differences of class means, so that the shift is no class difference."""
    vector: FloatArray = random.standard_normal((1, means.shape[1]))[0]
    turn = np.linalg.qr((means - means.mean(axis=0)).T)[0][:, : len(means) - 1]
    vector -= turn @ (turn.T @ vector)
    return np.asarray(vector / np.linalg.norm(vector))


def judge(found: Any, planted: Plant) -> tuple[bool, list[tuple[str, str, str]]]:
    """(was everything expected raised?, what was raised that should not have been)."""
    raised = {(one.id, one.subject): one.level.value for one in found.findings if one.level.value != "healthy"}
    hit = planted.expected <= raised.keys()
    false = [
        (check, subject, level)
        for (check, subject), level in raised.items()
        if (check, subject) not in planted.expected | planted.also_allowed_of and check not in planted.also_allowed
    ]
    return hit, false
