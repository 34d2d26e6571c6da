"""Moving the threshold: biases b_k on log probabilities, fitted on held-out data, no retraining.

    predict argmax_k (log p_k(x) + b_k);     maximise the mean, or the smallest, of the accuracies of the parts

Parts are the classes (balanced accuracy, worst class) or groups that are given; or maximise any function of the table
of true and predicted classes (F1, Matthews correlation, the negative of a cost). With two classes this is the
probability threshold 1 / (1 + e^(b_1 - b_0)), and its fit is exact: every cut between two examples is tried. With more
classes the search ends in a local optimum. Where examples have weights, accuracies and tables count them.

The score on the data used for fitting is optimistic, and with few examples of many classes moving thresholds can make
things worse. So three candidates are scored by five-fold cross-fitting, where every fifth of the data is judged by what
was fitted on the rest: no change, -log prior (logit adjustment) and the fitted biases. The best of them is used.

The search is coordinate ascent with an exact search in each coordinate. Given the other biases, example i is predicted
k from b_k > m_i on, where m_i is the score of its runner-up less log p_ik. So the accuracies are step functions of b_k,
known exactly after sorting the m_i.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.folds import dealt
from lopsided.core.partition import by_appearance, first_rows
from lopsided.core.seeds import check_seed, generator
from lopsided.core.validation import FloatArray, IntArray, check_labels, check_matrix, check_weights, codes_among
from lopsided.remedies.logit_adjustment import prior_of

TableScore = Callable[[FloatArray], FloatArray]  # of counts or weights, ... x true x predicted
ThresholdAim = Literal["balanced", "worst"] | TableScore
_SWEEPS = 30
_CELLS_AT_ONCE = 4_000_000  # 32 MB of running counts


@dataclass(frozen=True)
class _Aim:
    """Class codes, parts and weights of the examples, and what is to be raised for them."""

    codes: IntArray
    parts: IntArray
    weights: FloatArray
    objective: ThresholdAim
    classes: int

    def among(self, rows: Any) -> "_Aim":
        """Some of the examples; parts that have none among them do not count."""
        parts = np.unique(self.parts[rows], return_inverse=True)[1]
        return replace(self, codes=self.codes[rows], parts=parts, weights=self.weights[rows])

    def score(self, predicted: IntArray) -> float:
        """The mean or the smallest of the parts' accuracies, or the function of the table."""
        if callable(self.objective):
            return float(self.objective(self.table(predicted)))
        accuracies = np.bincount(self.parts, self.weights * (predicted == self.codes)) / self.sizes
        return float(accuracies.mean() if self.objective == "balanced" else accuracies.min())

    def table(self, predicted: IntArray) -> FloatArray:
        """Weights by true and predicted class."""
        cells = np.bincount(self.codes * self.classes + predicted, self.weights, minlength=self.classes**2)
        return np.asarray(cells.reshape(self.classes, self.classes))

    @property
    def sizes(self) -> FloatArray:
        """The weight of every part."""
        return np.asarray(np.bincount(self.parts, self.weights), dtype=np.float64)


def prior_biases(codes: IntArray, classes: int) -> FloatArray:
    """-log prior, with mean 0: what logit adjustment does. Classes that do not occur get no bias."""
    counts = np.bincount(codes, minlength=classes)
    biases = -np.log(prior_of(np.maximum(counts, 1)))
    biases[counts == 0] = 0.0
    return np.asarray(biases - biases.mean())


def best_biases(logs: FloatArray, codes: IntArray, parts: IntArray, objective: ThresholdAim) -> tuple[FloatArray, bool]:
    """Ascent from b = 0 and from -log prior; the better end, and whether it is a local optimum."""
    return _ascended(logs, _Aim(codes, parts, np.ones(codes.size), objective, logs.shape[1]))


def _ascended(logs: FloatArray, aim: _Aim) -> tuple[FloatArray, bool]:
    classes = aim.classes
    best: tuple[tuple[float, float], FloatArray, bool] | None = None
    for start in (np.zeros(classes), prior_biases(aim.codes, classes)):
        biases, reached, converged = start.copy(), (-np.inf, -np.inf), False
        leaders = _Leaders(logs + biases)
        for _ in range(_SWEEPS):
            before = reached
            for k in range(1 if classes == 2 else 0, classes):  # of two biases only the difference matters
                runner_up, score = leaders.without(k)
                turning = score - logs[:, k]
                found, step = _best_step(turning, runner_up, aim, biases[k], k)
                if found > reached:
                    biases[k], reached = step, found
                    leaders.move(k, logs[:, k] + step)
            if reached <= before:
                converged = True
                break
        if best is None or reached > best[0]:
            best = (reached, biases, converged)
    assert best is not None
    return best[1] - best[1].mean(), best[2]


class _Leaders:
    """The two highest scores of every row, kept up to date while columns change: O(n) a change instead of O(n K)."""

    def __init__(self, scores: FloatArray) -> None:
        self.scores = scores
        self.rows = np.arange(scores.shape[0])
        self.first = np.zeros(scores.shape[0], dtype=np.int64)
        self.second = np.zeros(scores.shape[0], dtype=np.int64)
        self._rank(self.rows)

    def without(self, k: int) -> tuple[IntArray, FloatArray]:
        """The best class other than k of every row, and its score."""
        best = np.where(self.first == k, self.second, self.first)
        return best, self.scores[self.rows, best]

    def move(self, k: int, column: FloatArray) -> None:
        """Change the scores of class k."""
        self.scores[:, k] = column
        touched = (self.first == k) | (self.second == k) | (column >= self.scores[self.rows, self.second])
        self._rank(np.flatnonzero(touched))

    def _rank(self, rows: IntArray) -> None:
        block = self.scores[rows]
        first = np.argmax(block, axis=1)
        block[np.arange(rows.size), first] = -np.inf
        self.first[rows], self.second[rows] = first, np.argmax(block, axis=1)


def _best_step(
    turning: FloatArray, runner_up: IntArray, aim: _Aim, bias: float, k: int
) -> tuple[tuple[float, float], float]:
    """The best score that b_k can reach (the other objective breaks ties), and the b_k nearest to the old one."""
    order = np.argsort(turning)
    turning = turning[order]
    if callable(aim.objective):
        mean = worst = _running_tables(aim, aim.table(runner_up), order, runner_up[order], k, aim.objective)
    else:
        sizes = aim.sizes
        gain = aim.weights * ((aim.codes == k).astype(np.float64) - (aim.codes == runner_up))
        start = np.bincount(aim.parts, aim.weights * (aim.codes == runner_up), minlength=sizes.size)
        mean, worst = _running(start.astype(np.float64), gain[order], aim.parts[order], sizes, aim.objective)
    # position t: the first t examples in `order` are predicted k; only cuts between different turning points are real
    cuts = np.concatenate([[True], turning[1:] > turning[:-1], [True]])
    keys = (mean, worst) if aim.objective == "balanced" else (worst, mean)
    first, second = np.where(cuts, keys[0], -np.inf), keys[1]
    best = np.flatnonzero(first >= first.max() - 1e-12)  # 1e-12: sums of the same fractions in another order
    best = best[second[best] >= second[best].max() - 1e-12]
    edges = np.concatenate([[turning[0] - 1.0], 0.5 * (turning[1:] + turning[:-1]), [turning[-1] + 1.0]])
    nearest = best[np.argmin(np.abs(edges[best] - bias))]
    return (float(first[best[0]]), float(second[best[0]])), float(edges[nearest])


def _running(
    start: FloatArray, gain: FloatArray, parts: IntArray, sizes: FloatArray, objective: ThresholdAim
) -> tuple[FloatArray, FloatArray]:
    """Mean and smallest accuracy of the parts after 0, 1, ..., n examples have turned to class k."""
    shares = gain / sizes[parts]
    mean = (start / sizes).mean() + np.concatenate([[0.0], np.cumsum(shares)]) / sizes.size
    if objective == "balanced":
        return mean, np.zeros_like(mean)
    worst = np.empty(gain.size + 1)
    worst[0] = (start / sizes).min()
    block = max(1, _CELLS_AT_ONCE // sizes.size)
    correct = start
    for begin in range(0, gain.size, block):
        rows = slice(begin, min(begin + block, gain.size))
        table = np.zeros((rows.stop - begin, sizes.size))
        table[np.arange(table.shape[0]), parts[rows]] = gain[rows]
        table = correct + np.cumsum(table, axis=0)
        worst[rows.start + 1 : rows.stop + 1] = (table / sizes).min(axis=1)
        correct = table[-1]
    return mean, worst


def _running_tables(
    aim: _Aim, table: FloatArray, order: IntArray, runner_up: IntArray, k: int, objective: TableScore
) -> FloatArray:
    """The function of the table after 0, 1, ..., n examples in `order` have turned from their runner-up to class k."""
    codes, weights, classes = aim.codes[order], aim.weights[order], aim.classes
    table = table[None]
    found = [np.atleast_1d(objective(table))]
    block = max(1, _CELLS_AT_ONCE // classes**2)
    for begin in range(0, codes.size, block):
        rows = slice(begin, min(begin + block, codes.size))
        change = np.zeros((rows.stop - begin, classes, classes))
        place = np.arange(change.shape[0])
        change[place, codes[rows], runner_up[rows]] -= weights[rows]
        change[place, codes[rows], k] += weights[rows]
        tables = table[-1] + np.cumsum(change, axis=0)
        found.append(objective(tables))
        table = tables
    return np.concatenate(found)


Candidate = Literal["none", "prior", "fitted"]
_LEAST_PROBABILITY = 1e-300  # a zero would make a bias infinite
_FOLDS = 5


@dataclass(frozen=True)
class ThresholdFit:
    """Which candidate was used; its score before and after on the data of the fit, and cross-fitted.

    `candidates` holds every candidate's cross-fitted score. If a part has a single example, there are no such scores,
    and the last candidate is used. `converged`: the search ended in a local optimum.
    """

    objective: ThresholdAim
    chosen: Candidate
    before: float
    after: float
    cross_fitted: float | None
    candidates: Mapping[Candidate, float | None]
    converged: bool


class ThresholdMover:
    """Tune decision thresholds: `fit(probabilities, labels)` on held-out data, then `predict(probabilities)`. Columns
    are in sorted order of the labels.

    Parameters
    ----------
    objective : "balanced", "worst" or callable, default "balanced"
        The mean or the smallest accuracy of the parts, or a function of tables of counts (..., true, predicted).
    candidates : list of {"none", "prior", "fitted"}
        The biases to choose from by cross-fitting. By default, all three.
    seed : int, default 0
        The random seed of the folds.
    """

    def __init__(
        self,
        objective: ThresholdAim = "balanced",
        *,
        candidates: Sequence[Candidate] = ("none", "prior", "fitted"),
        seed: int = 0,
    ) -> None:
        # an array, which compares with words entry by entry, is neither
        if not callable(objective) and not (isinstance(objective, str) and objective in ("balanced", "worst")):
            raise InputError("the objective 'balanced' or 'worst', or a function", repr(objective))
        if not candidates or not set(candidates) <= set(get_args(Candidate)):
            raise InputError(f"candidates among {', '.join(get_args(Candidate))}", candidates)
        self.objective, self.candidates, self.seed = objective, tuple(candidates), check_seed(seed)

    def fit(
        self,
        probabilities: ArrayLike,
        labels: ArrayLike,
        *,
        parts: ArrayLike | None = None,
        classes: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "ThresholdMover":
        """Fit on held-out probabilities n x K (n alone: the second of two classes), by class or by given parts; an
        example counts by its weight."""
        given = _two_columns(probabilities)
        if (given < 0).any() or (given > 1 + 1e-6).any():  # float32 softmax sums to 1 within 1e-6
            raise InputError("probabilities from 0 to 1", "others", "apply a softmax to logits first")
        _, names = check_labels(labels if classes is None else classes)
        codes = codes_among(labels, names, "labels among the classes", "name all classes", length=given.shape[0])
        if len(names) != given.shape[1]:
            raise InputError(
                f"labels of {given.shape[1]} classes, one per column", len(names), "name them all with classes="
            )
        part_codes = codes if parts is None else check_labels(parts, "parts", length=codes.size)[0]
        part_codes = by_appearance(part_codes)
        # the search goes from class to class: in the order in which they appear, so that names do not matter
        order = np.argsort(first_rows(codes, len(names)), kind="stable")
        rank = np.argsort(order)
        given, codes = given[:, order], rank[codes]
        if parts is None:
            part_codes = codes
        objective = self.objective
        if callable(objective):
            objective = partial(_reordered, objective, rank)
        weights = np.ones(codes.size) if sample_weight is None else check_weights(sample_weight, codes.size)
        # a part whose examples all weigh nothing has no accuracy
        aim = _Aim(codes, part_codes, weights, objective, len(names)).among(weights > 0)
        logs = np.log(np.maximum(given, _LEAST_PROBABILITY))[weights > 0]
        self.classes_ = np.unique(np.asarray(labels if classes is None else classes))
        scores = self._cross_fitted(logs, aim)
        # of equal scores the earlier candidate, which changes less
        chosen = max(scores, key=lambda name: -np.inf if scores[name] is None else scores[name])  # type: ignore[arg-type, return-value]
        if scores[chosen] is None:
            chosen = self.candidates[-1]
        fitted, converged = _biases(chosen, logs, aim)
        before, after = (aim.score(np.argmax(logs + biases, axis=1)) for biases in (0.0, fitted))
        self.biases_ = fitted[rank]
        self.fit_ = ThresholdFit(self.objective, chosen, before, after, scores[chosen], scores, converged)
        return self

    @property
    def threshold_(self) -> float:
        """Two classes: the probability of the second from which on it is predicted."""
        if not hasattr(self, "biases_") or self.biases_.size != 2:
            raise InputError("a mover fitted on two classes", "another one", "with more classes read biases_")
        return float(1.0 / (1.0 + np.exp(self.biases_[1] - self.biases_[0])))

    def predict(self, probabilities: ArrayLike) -> Any:
        """Labels, under the moved thresholds."""
        if not hasattr(self, "biases_"):
            raise InputError("a fitted ThresholdMover", "one that has not been fitted", "call fit first")
        given = _two_columns(probabilities)
        if given.shape[1] != self.biases_.size:
            raise InputError(f"{self.biases_.size} columns", given.shape[1])
        return self.classes_[np.argmax(np.log(np.maximum(given, _LEAST_PROBABILITY)) + self.biases_, axis=1)]

    def _cross_fitted(self, logs: FloatArray, aim: _Aim) -> dict[Candidate, float | None]:
        """Every fold judged by biases fitted on the others; folds hold the same share of every part and class."""
        codes, parts = aim.codes, aim.parts
        if np.bincount(parts).min() < 2:
            return dict.fromkeys(self.candidates)
        fold = dealt(generator(self.seed, "threshold folds"), _FOLDS, parts, codes)
        called = {name: np.zeros(codes.size, dtype=np.int64) for name in self.candidates}
        for held in range(min(_FOLDS, codes.size)):
            inside, outside = fold == held, fold != held
            others = aim.among(outside)
            for name in self.candidates:
                biases, _ = _biases(name, logs[outside], others)
                called[name][inside] = np.argmax(logs[inside] + biases, axis=1)
        return {name: aim.score(found) for name, found in called.items()}


def _reordered(objective: TableScore, rank: IntArray, tables: FloatArray) -> FloatArray:
    """The function of tables whose classes are in another order."""
    return objective(tables[..., rank[:, None], rank])


def _biases(candidate: Candidate, logs: FloatArray, aim: _Aim) -> tuple[FloatArray, bool]:
    if candidate == "fitted":
        return _ascended(logs, aim)
    return (np.zeros(aim.classes) if candidate == "none" else prior_biases(aim.codes, aim.classes)), True


def _two_columns(probabilities: ArrayLike) -> FloatArray:
    array = plain_array(probabilities, "probabilities")
    if array.ndim == 1 and array.dtype.kind in "fiub":
        array = np.column_stack([1.0 - array, array])
    return check_matrix(array, "probabilities")
