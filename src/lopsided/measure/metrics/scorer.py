"""Any scikit-learn scorer as a metric: applied to kept predictions and probabilities through a stand-in estimator.

Its value is the mean over repeats, with all folds of a repeat pooled. Larger is better, as for all scorers. Weights of
the examples are passed to it as `sample_weight`; if there are weights, a scorer without that argument gives an error.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin

from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray
from lopsided.measure.metrics.contract import Answers
from lopsided.measure.metrics.resampled import ResampledMetric


@dataclass(frozen=True)
class Scorer(ResampledMetric):
    """`call(estimator, X, y)`; `names` are the classes, given to it as whole numbers where all of them are such."""

    name: str
    word: str
    names: tuple[str, ...]
    call: Callable[..., float] = field(compare=False)
    forecast: ClassVar[bool] = False

    @property
    def bounds(self) -> tuple[float, float]:
        """Unknown."""
        return float("-inf"), float("inf")

    @property
    def aim(self) -> str:
        """Balanced accuracy: a scorer does not say what would raise it."""
        return "balanced"

    def value_on(self, answers: Answers, repeat: int, rows: IntArray) -> float:
        """What the scorer says."""
        model = _StandIn(labels(self.names), answers, repeat)
        try:
            with warnings.catch_warnings(), config_context(skip_parameter_validation=True, assume_finite=True):
                warnings.simplefilter("ignore")  # a class that is never predicted, on a part of the rows
                weighted = {} if answers.weights is None else {"sample_weight": answers.counted[rows]}
                return float(self.call(model, rows, model.named(answers.classes[rows]), **weighted))
        except Exception as error:
            if rows.size < answers.classes.size:  # in some folds, or on some draws, a score may be undefined
                return float("nan")
            told = str(error).splitlines()[0] if str(error) else type(error).__name__
            expected = f"the scorer {self.name} to score {len(self.names)} classes"
            raise InputError(expected, told.rstrip(".")) from None


def labels(names: tuple[str, ...]) -> Any:
    """Class names as a scorer knows them."""
    whole = all(name.removeprefix("-").isdecimal() and str(int(name)) == name for name in names)
    return np.array([int(name) for name in names]) if whole else np.array(names)


class _StandIn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose rows are places among the kept answers."""

    def __init__(self, known: Any, answers: Answers, repeat: int) -> None:
        self._known, self._answers, self._repeat = known, answers, repeat
        present = np.unique(answers.classes)
        self._order = present[np.argsort(known[present])]
        self.classes_ = known[self._order]

    def named(self, codes: IntArray) -> Any:
        """Classes under the names that the scorer knows."""
        return self._known[codes]

    def predict(self, rows: IntArray) -> Any:
        """The kept predictions."""
        return self._known[self._answers.labels[self._repeat, rows]]

    def predict_proba(self, rows: IntArray) -> Any:
        """The kept probabilities."""
        if self._answers.probabilities is None:
            return self._answers.chances  # which says what is missing
        found = self._answers.probabilities[self._repeat, rows][:, self._order].astype(np.float64)
        return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
