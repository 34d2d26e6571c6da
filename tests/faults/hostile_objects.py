"""Learners, samplers and splitters that misbehave, as users' own objects do."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneOut, ShuffleSplit, StratifiedKFold, TimeSeriesSplit

from lopsided.measure.metrics import METRICS as KNOWN
from lopsided.measure.metrics.named import OF_CLASSES
from lopsided.remedies.every import EVERY


class Unfit(BaseEstimator):
    """An estimator without fit."""


class Breaking(ClassifierMixin, BaseEstimator):
    """A classifier that breaks in fit."""

    def fit(self, X: Any, y: Any) -> "Breaking":
        raise RuntimeError("two\nlines")

    def predict(self, X: Any) -> Any:
        return X


class Nonsense(LogisticRegression):
    """Probabilities that are none."""

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), len(self.classes_)), np.nan)


class BreakingSampler(BaseEstimator):
    """A sampler that breaks."""

    def fit_resample(self, X: Any, y: Any) -> Any:
        raise ValueError("no neighbours\nin two lines")


class EmptySampler(BaseEstimator):
    """A sampler that leaves no rows."""

    def fit_resample(self, X: Any, y: Any) -> Any:
        return X[:0], y[:0]


class Splitter:
    """Splits as told; `split` may break."""

    def __init__(self, pairs: Any) -> None:
        self.pairs = pairs

    def __repr__(self) -> str:
        return f"Splitter({self.pairs!r})"

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        if self.pairs is None:
            raise RuntimeError("broken\nsplitter")
        yield from self.pairs


def without_weights(model: Any, X: Any, y: Any) -> float:
    """A sound scorer."""
    return float((model.predict(X) == y).mean())


def breaking(model: Any, X: Any, y: Any) -> float:
    """A scorer that breaks."""
    raise RuntimeError("no score\nin two lines")


def wordy(model: Any, X: Any, y: Any) -> Any:
    """A scorer that gives no number."""
    return "good"


def endless(model: Any, X: Any, y: Any) -> float:
    """A scorer that gives nothing finite."""
    return float("nan")


LEARNERS = (Unfit(), Unfit, Breaking(), Nonsense(), 3, None)
SAMPLERS = (BreakingSampler(), EmptySampler(), ("mine", BreakingSampler()), BreakingSampler)
SPLITTERS = (Splitter(None), Splitter([]), Splitter([([], [0])]), Splitter([([0, 1], [])]), Splitter([3]), Splitter)
SOUND_SPLITTERS = (GroupKFold(3), LeaveOneOut(), ShuffleSplit(3), StratifiedKFold(12), TimeSeriesSplit(3))
BUDGETS = (-1, 0, "abc", "", "1x", float("nan"), float("inf"), None, True, [60], "1e-3s")
COSTS = ([[0, 1]], [[0, -1], [1, 0]], [[0, float("nan")], [1, 0]], "0:1=", {"a": 3}, {"0": {"z": 1}}, 5, [["a", "b"]])
WEIGHTS = ([float("nan")] * 30, [0.0] * 30, [1.0], ["a"] * 30, [-1.0] * 30, [[1.0]] * 30)
TIMES = (["noon"] * 30, [None] * 30, [0] * 30, [float("inf")] * 30)
METRICS = ("x", "", 3, None, "f1:nobody", "precision@recall=7", "worst-group", "cost", len, object)
SCORERS = (without_weights, breaking, wordy, endless, "neg_log_loss", "jaccard", "r2")
WORDS = (*KNOWN, *OF_CLASSES, *(f"{word}:macro" for word in OF_CLASSES), "f1:rare", "precision@recall=0.8")
SOUND_METRICS = (*WORDS, "recall@precision=0.5:usual", "jaccard_macro", *SCORERS)
ARMS = tuple(str(kind.name) for kind in EVERY if isinstance(kind.name, str))


def sound() -> tuple[Any, Any]:
    """Thirty rows in which nothing is wrong."""
    y = np.repeat(["rare", "usual"], [9, 21])
    return np.random.default_rng(0).normal(size=(30, 2)) + (y == "rare")[:, None], y


def each_once() -> Iterator[tuple[str, dict[str, Any]]]:
    """(public name, arguments): sound data with one hostile thing beside them."""
    X, y = sound()
    few = {"data": X, "labels": y, "folds": 3, "repeats": 1, "arms": ["class weights"], "forecasts": False}
    for option, values in {
        "learner": LEARNERS,
        "arms": [[sampler] for sampler in SAMPLERS],
        "cv": (*SPLITTERS, *SOUND_SPLITTERS),
        "budget": BUDGETS,
        "sample_weight": WEIGHTS,
        "time": TIMES,
        "split_by": TIMES,
        "metric": METRICS,
    }.items():
        yield from (("trial", few | {option: value}) for value in values)
    yield "trial", few | {"arms": list(ARMS), "learner": "boosting"}
    yield from (("trial", few | {"metric": "cost", "costs": value}) for value in COSTS)
    make = {"estimator": LogisticRegression(), "remedy": ["class weights"], "budget": 1e-6}
    for option, values in {"estimator": LEARNERS, "remedy": SAMPLERS, "budget": BUDGETS, "metric": METRICS}.items():
        yield from (("MendedClassifier", {"make": make | {option: one}, "X": X, "y": y, "fit": {}}) for one in values)
    for weights in WEIGHTS:
        yield "MendedClassifier", {"make": make, "X": X, "y": y, "fit": {"sample_weight": weights}}
