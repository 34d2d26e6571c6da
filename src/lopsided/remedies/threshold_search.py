"""Biases b_k that make argmax_k (log p_k + b_k) best: coordinate ascent with an exact search in each coordinate.

Given the other biases, example i is predicted k from b_k > m_i on, where m_i is the score of its runner-up less
log p_ik. So the accuracies are step functions of b_k, known exactly after sorting the m_i.
"""

from typing import Literal

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.remedies.logit_adjustment import prior_of

Objective = Literal["balanced", "worst"]
_SWEEPS = 30
_CELLS_AT_ONCE = 4_000_000  # 32 MB of running counts


def accuracy_of_parts(right: FloatArray, parts: IntArray, objective: Objective) -> float:
    """The mean or the smallest of the parts' accuracies."""
    accuracies = np.bincount(parts, weights=right) / np.bincount(parts)
    return float(accuracies.mean() if objective == "balanced" else accuracies.min())


def prior_biases(codes: IntArray, classes: int) -> FloatArray:
    """-log prior, with mean 0: what logit adjustment does. Classes that do not occur get no bias."""
    counts = np.bincount(codes, minlength=classes)
    biases = -np.log(prior_of(np.maximum(counts, 1)))
    biases[counts == 0] = 0.0
    return np.asarray(biases - biases.mean())


def best_biases(logs: FloatArray, codes: IntArray, parts: IntArray, objective: Objective) -> tuple[FloatArray, bool]:
    """Ascent from b = 0 and from -log prior; the better end, and whether it is a local optimum."""
    classes = logs.shape[1]
    best: tuple[tuple[float, float], FloatArray, bool] | None = None
    for start in (np.zeros(classes), prior_biases(codes, classes)):
        biases, reached, converged = start.copy(), (-1.0, -1.0), False
        leaders = _Leaders(logs + biases)
        for _ in range(_SWEEPS):
            before = reached
            for k in range(1 if classes == 2 else 0, classes):  # of two biases only the difference matters
                runner_up, score = leaders.without(k)
                turning = score - logs[:, k]
                found, step = _best_step(turning, runner_up, codes, parts, biases[k], k, objective)
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
    turning: FloatArray,
    runner_up: IntArray,
    codes: IntArray,
    parts: IntArray,
    bias: float,
    k: int,
    objective: Objective,
) -> tuple[tuple[float, float], float]:
    """The best score that b_k can reach (the other objective breaks ties), and the b_k nearest to the old one."""
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
    edges = np.concatenate([[turning[0] - 1.0], 0.5 * (turning[1:] + turning[:-1]), [turning[-1] + 1.0]])
    nearest = best[np.argmin(np.abs(edges[best] - bias))]
    return (float(first[best[0]]), float(second[best[0]])), float(edges[nearest])


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
