"""Moving the threshold: biases b_k on log probabilities, fitted on held-out data, no retraining.

    predict argmax_k (log p_k(x) + b_k);     maximise the mean, or the smallest, of the accuracies of the parts

Parts are the classes (balanced accuracy, worst class) or groups that are given. With two classes this is the
probability threshold 1 / (1 + e^(b_1 - b_0)), and its fit is exact: every cut between two examples is tried. With
more classes each b_k in turn is set to its exact best given the others (coordinate ascent from b = 0 and from b =
-log prior), which finds a local optimum. The score on the data it was fitted on is too good; `cross_fitted` is the
same score with every fifth of the data judged by biases fitted on the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray, check_labels, check_matrix
from lopsided.remedies.logit_adjustment import prior_of

Objective = Literal["balanced", "worst"]
_LEAST_PROBABILITY = 1e-300  # a zero would make a bias infinite
_SWEEPS = 30
_FOLDS = 5
_CELLS_AT_ONCE = 4_000_000  # 32 MB of running counts


@dataclass(frozen=True)
class ThresholdFit:
    """Scores before and after on the data of the fit, and cross-fitted (None with fewer than 2 examples of a part)."""

    objective: Objective
    before: float
    after: float
    cross_fitted: float | None
    converged: bool


class ThresholdMover:
    """fit(probabilities, labels), then predict(probabilities). Columns are in sorted order of the labels."""

    def __init__(self, objective: Objective = "balanced", *, seed: int = 0) -> None:
        if objective not in get_args(Objective):
            raise InputError("the objective 'balanced' or 'worst'", repr(objective), "choose one")
        self.objective, self.seed = objective, seed

    def fit(
        self,
        probabilities: ArrayLike,
        labels: ArrayLike,
        *,
        parts: ArrayLike | None = None,
        classes: Sequence[Any] | None = None,
    ) -> "ThresholdMover":
        """Fit on held-out probabilities n x K (n alone: the second of two classes), by class or by given parts."""
        given = _two_columns(probabilities)
        if (given < 0).any() or (given > 1 + 1e-6).any():  # float32 softmax sums to 1 within 1e-6
            raise InputError("probabilities from 0 to 1", "others", "apply a softmax to logits first")
        _, names = check_labels(labels if classes is None else classes)
        codes = _codes_among(labels, names, given.shape[0])
        if len(names) != given.shape[1]:
            raise InputError(
                f"labels of {given.shape[1]} classes, one per column", len(names), "name them all with classes="
            )
        part_codes = codes if parts is None else check_labels(parts, "parts", length=codes.size)[0]
        part_codes = np.unique(part_codes, return_inverse=True)[1]
        logs = np.log(np.maximum(given, _LEAST_PROBABILITY))
        self.classes_ = np.unique(np.asarray(labels if classes is None else classes))
        self.biases_, converged = _ascend(logs, codes, part_codes, self.objective)
        self.fit_ = ThresholdFit(
            self.objective,
            _score(logs, codes, part_codes, np.zeros(given.shape[1]), self.objective),
            _score(logs, codes, part_codes, self.biases_, self.objective),
            _cross_fitted(logs, codes, part_codes, self.objective, self.seed),
            converged,
        )
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
            raise InputError("a fitted ThresholdMover", "one that has seen no data", "call fit first")
        given = _two_columns(probabilities)
        if given.shape[1] != self.biases_.size:
            raise InputError(f"{self.biases_.size} columns", given.shape[1], "give one column per class")
        return self.classes_[np.argmax(np.log(np.maximum(given, _LEAST_PROBABILITY)) + self.biases_, axis=1)]


def _two_columns(probabilities: ArrayLike) -> FloatArray:
    array = np.asarray(probabilities, dtype=np.float64)
    return check_matrix(np.column_stack([1 - array, array]) if array.ndim == 1 else array, "probabilities")


def _codes_among(labels: ArrayLike, names: list[str], rows: int) -> IntArray:
    codes, found = check_labels(labels, length=rows)
    position = {name: number for number, name in enumerate(names)}
    strange = [name for name in found if name not in position]
    if strange:
        raise InputError(f"labels among {', '.join(names[:8])}", ", ".join(strange[:8]), "name all classes")
    return np.array([position[name] for name in found], dtype=np.int64)[codes]


def _score(logs: FloatArray, codes: IntArray, parts: IntArray, biases: FloatArray, objective: Objective) -> float:
    right = np.argmax(logs + biases, axis=1) == codes
    accuracies = np.bincount(parts, weights=right) / np.bincount(parts)
    return float(accuracies.mean() if objective == "balanced" else accuracies.min())


def _ascend(logs: FloatArray, codes: IntArray, parts: IntArray, objective: Objective) -> tuple[FloatArray, bool]:
    """Coordinate ascent from two starts; the better end."""
    classes = logs.shape[1]
    starts = [np.zeros(classes)]
    counts = np.bincount(codes, minlength=classes)
    if (counts > 0).all():
        starts.append(-np.log(prior_of(counts)))
    best: tuple[tuple[float, float], FloatArray, bool] | None = None
    for start in starts:
        biases, reached, converged = start.copy(), (-1.0, -1.0), False
        scores = logs + biases  # kept up to date, one column at a time
        for _ in range(_SWEEPS):
            before = reached
            for k in range(1 if classes == 2 else 0, classes):  # of two biases only the difference matters
                biases[k], reached = _best_bias(scores, logs[:, k], codes, parts, biases[k], k, objective, reached)
                scores[:, k] = logs[:, k] + biases[k]
            if reached <= before:
                converged = True
                break
        if best is None or reached > best[0]:
            best = (reached, biases, converged)
    assert best is not None
    return best[1] - best[1].mean(), best[2]


def _best_bias(
    scores: FloatArray,
    logs_of_class: FloatArray,
    codes: IntArray,
    parts: IntArray,
    bias: float,
    k: int,
    objective: Objective,
    reached: tuple[float, float],
) -> tuple[float, tuple[float, float]]:
    """The best b_k given the others: example i is predicted k from b_k > m_i on, else its runner-up.

    Column k of `scores` is overwritten.
    """
    scores[:, k] = -np.inf
    runner_up = np.argmax(scores, axis=1)
    turning = scores[np.arange(codes.size), runner_up] - logs_of_class
    order = np.argsort(turning)
    turning = turning[order]
    gain = (codes == k).astype(np.int64) - (codes == runner_up)
    sizes = np.bincount(parts)
    start = np.bincount(parts, weights=codes == runner_up, minlength=sizes.size).astype(np.float64)
    mean, worst = _running(start, gain[order], parts[order], sizes, objective)
    # position t: the first t examples in `order` are predicted k; only cuts between different turning points are real
    cuts = np.concatenate([[True], turning[1:] > turning[:-1], [True]])
    keys = (mean, worst) if objective == "balanced" else (worst, mean)
    first, second = np.where(cuts, keys[0], -1.0), keys[1]
    best = np.flatnonzero(first >= first.max() - 1e-12)  # 1e-12: sums of the same fractions in another order
    best = best[second[best] >= second[best].max() - 1e-12]
    found = (float(first[best[0]]), float(second[best[0]]))
    if found <= reached:
        return bias, reached
    edges = np.concatenate([[turning[0] - 1.0], 0.5 * (turning[1:] + turning[:-1]), [turning[-1] + 1.0]])
    nearest = best[np.argmin(np.abs(edges[best] - bias))]  # of equally good cuts the smallest move
    return float(edges[nearest]), found


def _running(
    start: FloatArray, gain: IntArray, parts: IntArray, sizes: IntArray, objective: Objective
) -> tuple[FloatArray, FloatArray]:
    """Mean and smallest accuracy of the parts after 0, 1, ..., n examples have turned to class k."""
    shares = gain / sizes[parts]
    mean = (start / sizes).mean() + np.concatenate([[0.0], np.cumsum(shares)]) / sizes.size
    if objective == "balanced":
        return mean, np.zeros_like(mean)
    worst = np.empty(gain.size + 1)
    worst[0] = (start / sizes).min()
    block = max(1, _CELLS_AT_ONCE // sizes.size)
    correct = start.astype(np.float64)
    for begin in range(0, gain.size, block):
        rows = slice(begin, min(begin + block, gain.size))
        table = np.zeros((rows.stop - begin, sizes.size))
        table[np.arange(table.shape[0]), parts[rows]] = gain[rows]
        table = correct + np.cumsum(table, axis=0)
        worst[rows.start + 1 : rows.stop + 1] = (table / sizes).min(axis=1)
        correct = table[-1]
    return mean, worst


def _cross_fitted(logs: FloatArray, codes: IntArray, parts: IntArray, objective: Objective, seed: int) -> float | None:
    """Every fold judged by biases fitted on the others; folds hold the same share of every part and class."""
    if np.bincount(parts).min() < 2:
        return None
    stream = generator(seed, "threshold folds")
    shuffled = stream.permutation(codes.size)
    ordered = shuffled[np.lexsort((codes[shuffled], parts[shuffled]))]
    fold = np.empty(codes.size, dtype=np.int64)
    fold[ordered] = np.arange(codes.size) % _FOLDS
    right = np.zeros(codes.size)
    for held in range(_FOLDS):
        inside, outside = fold == held, fold != held
        if not inside.any():
            continue
        kept = np.unique(parts[outside], return_inverse=True)[1]
        biases, _ = _ascend(logs[outside], codes[outside], kept, objective)
        right[inside] = np.argmax(logs[inside] + biases, axis=1) == codes[inside]
    accuracies = np.bincount(parts, weights=right) / np.bincount(parts)
    return float(accuracies.mean() if objective == "balanced" else accuracies.min())
