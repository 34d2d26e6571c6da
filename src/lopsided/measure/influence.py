"""Influence scores without training, Xu and Chen 2025 eq (10), for every example at once and exactly.

    inf(x) = |cov(S_y)|_F^2 - |cov(S_y minus x)|_F^2

With c_i centred on the class mean, S = sum_i c_i c_i^T, q_i = c_i^T S c_i, r_i = |c_i|^2, a = n/(n-1) and F =
|S|_F^2, leaving out x_i turns S into S - a c_i c_i^T, hence

    inf_i = F/(n-z)^2 - (F - 2 a q_i + a^2 r_i^2)/(n-1-z)^2,      z = 0 for the 1/n covariance, 1 for 1/(n-1).

F and the q_i come from S (d x d) or from the Gram matrix G = C C^T (F = |G|_F^2, q_i = |row i of G|^2), whichever is
cheaper; the leave-one-out loop would need n covariance matrices. The paper does not say which convention it uses; the
ranking within a class is nearly the same. Rank within a class, because selecting by a ranking over all classes would
change the class balance.

Does one column decide the scores? If it varies far more than the others, the covariance of a class is essentially the
variance of that column, and inf(x) ranks examples only by their squared distance from the class mean in it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_labels
from lopsided.measure.class_moments import (
    Block,
    ClassMoments,
    Convention,
    check_block,
    check_convention,
    flat_rows,
    moments_of_blocks,
    split_by_class,
)

WHOLE_CLASS = 20_000_000  # numbers of a class that are held at once
DECIDES = 0.999  # rank correlation within classes above which the other columns hardly matter
_COLUMNS = 64  # at a time


@dataclass(frozen=True)
class InfluenceScores:
    """Scores of all examples in their order; NaN for classes without scores, with the reason by class name."""

    scores: FloatArray
    codes: IntArray
    names: tuple[str, ...]
    convention: Convention
    declined: dict[str, str] = field(default_factory=dict)

    def rank_in_class(self) -> IntArray:
        """1 for the highest score of a class, ties in the order of the examples; 0 for classes without scores."""
        order, starts = self._sorted
        ranks = np.empty(self.scores.shape[0], dtype=np.int64)
        ranks[order] = np.arange(1, order.size + 1) - starts[self.codes[order]]
        ranks[np.isnan(self.scores)] = 0
        return ranks

    def extremes(self, code: int, count: int) -> tuple[IntArray, IntArray]:
        """Positions of the `count` highest and lowest scores of a class, the most extreme first."""
        order, starts = self._sorted
        members = order[starts[code] : starts[code + 1]]
        if members.size and np.isnan(self.scores[members[0]]):
            members = members[:0]
        return members[:count], members[::-1][:count]

    @cached_property
    def _sorted(self) -> tuple[IntArray, IntArray]:
        """All examples by class, the highest scores first, and the start of each class, from a single sort."""
        order = np.lexsort((-self.scores, self.codes))
        return order, np.searchsorted(self.codes[order], np.arange(len(self.names) + 1))


def influence_scores(features: ArrayLike, labels: ArrayLike, *, convention: Convention = "n-1") -> InfluenceScores:
    """Scores of every row of `features` (n x anything, images are flattened) within its class, in memory."""
    rows = flat_rows(features)
    codes, names = check_labels(labels, length=rows.shape[0])
    check_block(rows, codes, len(names), rows.shape[1])
    scores = np.full(rows.shape[0], np.nan)
    declined: dict[str, str] = {}
    for k, members in split_by_class(codes):
        reason = _reason(members.size, convention)
        if reason:
            declined[names[k]] = reason
        else:
            scores[members] = class_scores(rows[members], convention)
    return InfluenceScores(scores, codes, tuple(names), convention, declined)


def influence_scores_of_blocks(
    blocks: Callable[[], Iterable[Block]],
    codes: IntArray,
    names: tuple[str, ...],
    dimension: int,
    *,
    convention: Convention = "n-1",
    moments: ClassMoments | None = None,
) -> InfluenceScores:
    """Scores in two passes over blocks that can be opened again: moments first (unless given), then the scores.

    Memory: one d x d matrix per class and one block. `moments` of earlier examples, or kept up to date with `add`,
    replace the first pass.
    """
    found = moments if moments is not None else moments_of_blocks(blocks(), len(names), dimension)
    reasons = {k: _reason(int(count), convention) for k, count in enumerate(found.counts)}
    energy = np.square(found.scatters).sum(axis=(1, 2))
    scores = np.full(codes.shape[0], np.nan)
    start = 0
    for rows, block_codes in blocks():
        check_block(rows, block_codes, len(names), dimension)
        here = scores[start : start + rows.shape[0]]
        for k, members in split_by_class(block_codes):
            if reasons[k]:
                continue
            own = rows[members].astype(np.float64)
            own -= found.means[k]
            q = np.einsum("ij,ij->i", own @ found.scatters[k], own)
            r = np.einsum("ij,ij->i", own, own)
            here[members] = _closed_form(float(energy[k]), q, r, int(found.counts[k]), convention)
        start += rows.shape[0]
    if start != codes.shape[0]:
        expected = f"{codes.shape[0]} rows in the blocks"
        raise InputError(expected, start)
    present = np.unique(codes)
    return InfluenceScores(
        scores, codes, names, convention, {names[k]: reason for k in present if (reason := reasons[int(k)])}
    )


def influence_scores_by_class(
    classes: Iterable[tuple[int, IntArray, Callable[[], Iterable[NDArray[np.floating]]]]],
    codes: IntArray,
    names: tuple[str, ...],
    dimension: int,
    *,
    convention: Convention = "n-1",
) -> InfluenceScores:
    """Scores from rows that lie class by class: (code, positions, a function that gives the rows in blocks).

    Memory: one class where it has at most `WHOLE_CLASS` numbers, otherwise one d x d matrix and one block.
    """
    scores = np.full(codes.shape[0], np.nan)
    declined: dict[str, str] = {}
    for k, members, blocks in classes:
        reason = _reason(members.size, convention)
        if reason:
            declined[names[k]] = reason
        elif members.size * dimension <= WHOLE_CLASS:
            rows = np.concatenate(list(blocks()))
            check_block(rows, np.zeros(len(rows), dtype=np.int64), 1, dimension)
            scores[members] = class_scores(rows, convention)
        else:
            own = np.zeros(members.size, dtype=np.int64)

            def coded(blocks: Callable[[], Iterable[NDArray[np.floating]]] = blocks) -> Iterable[Block]:
                return ((rows, np.zeros(len(rows), dtype=np.int64)) for rows in blocks())

            found = influence_scores_of_blocks(coded, own, names[k : k + 1], dimension, convention=convention)
            scores[members] = found.scores
    return InfluenceScores(scores, codes, names, convention, declined)


def class_scores(rows: NDArray[np.floating], convention: Convention = "n-1") -> FloatArray:
    """Scores of the rows of one class (n x d)."""
    n, d = rows.shape
    reason = _reason(n, convention)
    if reason:
        raise InputError("enough examples in the class", n, reason)
    centred = rows.astype(np.float64)
    centred -= centred.mean(axis=0)
    # Multiplications: n^2 d / 2 for the Gram matrix; n d^2 / 2 for S and n d^2 for the q_i.
    if n <= 3 * d:
        gram = centred @ centred.T
        q = np.einsum("ij,ij->i", gram, gram)
        r = np.diag(gram).copy()
        energy = float(q.sum())
    else:
        scatter = centred.T @ centred
        q = np.einsum("ij,ij->i", centred @ scatter, centred)
        r = np.einsum("ij,ij->i", centred, centred)
        energy = float(np.square(scatter).sum())
    return _closed_form(energy, q, r, n, convention)


def _closed_form(energy: float, q: FloatArray, r: FloatArray, n: int, convention: Convention) -> FloatArray:
    z = 1 if convention == "n-1" else 0
    a = n / (n - 1)
    return np.asarray(energy / (n - z) ** 2 - (energy - 2.0 * a * q + (a * r) ** 2) / (n - 1 - z) ** 2)


def _reason(n: int, convention: Convention) -> str:
    check_convention(convention)
    least = 3 if convention == "n-1" else 2
    if n >= least:
        return ""
    words = "one example has" if n == 1 else f"{n} examples have"
    return f"{words} no leave-one-out covariance under the 1/({convention}) convention; at least {least} are needed"


def within_variation(rows: NDArray[np.floating], codes: IntArray) -> FloatArray:
    """Squared distance from the class mean, summed over all rows (n x d), for every column."""
    order = np.argsort(codes, kind="stable")
    _, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    found = []
    for low in range(0, rows.shape[1], _COLUMNS):
        part = rows[:, low : low + _COLUMNS][order].astype(np.float64)
        part -= np.repeat(np.add.reduceat(part, starts, axis=0) / counts[:, None], counts, axis=0)
        found.append(np.square(part).sum(axis=0))
    return np.concatenate(found)


def rank_agreement(scores: FloatArray, column: NDArray[np.floating], codes: IntArray) -> float:
    """Rank correlation, within classes and over all of them, of scores with the squared distance of `column` from the
    class mean; 0 where either is constant. Rows without a score (NaN) are left out."""
    known = np.isfinite(scores)
    own = codes[known]
    values = column[known].astype(np.float64)
    values -= (np.bincount(own, values) / np.maximum(np.bincount(own), 1))[own]
    left, right = _ranks(scores[known], own), _ranks(np.square(values), own)
    size = float(np.sqrt(left @ left) * np.sqrt(right @ right))
    return float(left @ right) / size if size else 0.0


def _ranks(values: FloatArray, codes: IntArray) -> FloatArray:
    """Ranks within the class minus their mean; equal values share a rank."""
    order = np.lexsort((values, codes))
    sorted_values, sorted_codes = values[order], codes[order]
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = (np.diff(sorted_values) != 0) | (np.diff(sorted_codes) != 0)
    run = np.cumsum(begins) - 1
    ranks = np.empty(order.size)
    ranks[order] = (np.bincount(run, np.arange(order.size)) / np.bincount(run))[run]
    return np.asarray(ranks - (np.bincount(codes, ranks) / np.maximum(np.bincount(codes), 1))[codes])
