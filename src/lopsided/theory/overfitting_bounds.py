"""Theorem 1 of Xu and Chen 2025: which classes overfit benignly, and the bounds on their zero-one test loss.

    signal_{k,j} = |S_k|^2 |u_k|^4 / (|S_j| |A_k^T A_j|_F^2)
    Gamma_{k,j} = |S_k| |A_k^T A_k|_F^2 / (|S_j| |A_k^T A_j|_F^2)

    2(a) min_j signal_{k,j} >= C_1:  loss on D_k <= sum_{j != k} exp(-c_1 signal_{k,j})
    2(b) min_j Gamma_{k,j} >= C_2:   loss on L-long-tailed T_k <= sum_{j != k} exp(-c_2 L^2 Gamma_{k,j})
    3    min_j signal <= C_3' and min_j Gamma <= C_3:  loss on D_k >= c_3

The paper has one C_3 for both terms of 3; two are allowed here, and the paper's is the smaller, min(C_3, C_3'). Two
describe a larger region, because Gamma is at least about 1 and the signal is not. The paper calls the constants
absolute and gives no values, so here they are parameters: `fit_constants` fits them on one set of measured cells, and
`check_constants` counts how often they hold on another. Bounds are capped at 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.noise_geometry import NoiseGeometry, weakest
from lopsided.core.validation import FloatArray


class Region(Enum):
    """Fig 2 of the paper, per class."""

    FEATURES = "benign by features"
    NOISE = "benign by noise (long tail)"
    HARMFUL = "harmful"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Terms:
    """The two ratios of Theorem 1 for every pair of classes (K x K); the diagonal is not used."""

    signal: FloatArray
    ratio: FloatArray

    def weakest_signal(self) -> FloatArray:
        """min_{j != k} signal_{k,j} for every class k."""
        return weakest(self.signal)

    def weakest_ratio(self) -> FloatArray:
        """min_{j != k} Gamma_{k,j} for every class k."""
        return weakest(self.ratio)


@dataclass(frozen=True)
class TheoremConstants:
    """C_1, C_2, C_3, C_3' (limits of the regions) and c_1, c_2, c_3 (constants of the bounds on the loss)."""

    C1: float
    C2: float
    C3: float
    C3_signal: float
    c1: float
    c2: float
    c3: float


def theorem_terms(geometry: NoiseGeometry, feature_norms: FloatArray, sizes: FloatArray) -> Terms:
    """Both ratios of Theorem 1 for a problem."""
    counts = np.asarray(sizes, dtype=np.float64)
    with np.errstate(divide="ignore"):
        signal = (counts**2 * feature_norms**4)[:, None] / (counts[None, :] * geometry.squared_frobenius)
    return Terms(signal, geometry.ratios(counts))


def loss_bounds(terms: Terms, constants: TheoremConstants, *, tail: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """(bound 2(a) on all data, bound 2(b) on data of tail L), per class, whether or not the class is in the region."""
    return _summed(constants.c1, terms.signal), _summed(constants.c2 * tail**2, terms.ratio)


def regions(terms: Terms, constants: TheoremConstants) -> list[Region]:
    """The region of every class; if both kinds of benign overfitting hold, it is the one by features."""
    found = []
    for signal, ratio in zip(terms.weakest_signal(), terms.weakest_ratio(), strict=True):
        if signal >= constants.C1:
            found.append(Region.FEATURES)
        elif ratio >= constants.C2:
            found.append(Region.NOISE)
        elif signal <= constants.C3_signal and ratio <= constants.C3:
            found.append(Region.HARMFUL)
        else:
            found.append(Region.UNDECIDED)
    return found


@dataclass(frozen=True)
class Cell:
    """A measured problem: its terms, the zero-one test loss per class and the number of test examples for each.
    `tail_loss` is the loss on long-tailed data, the only loss that 2(b) bounds (the loss on all data if it is not
    given)."""

    terms: Terms
    loss: FloatArray
    tests: int
    tail_loss: FloatArray | None = None

    def tail(self) -> FloatArray:
        """The loss that 2(b) bounds."""
        return self.loss if self.tail_loss is None else self.tail_loss


@dataclass(frozen=True)
class FitQuality:
    """How fitted constants did on new cells: classes per region, and how many satisfy their bound."""

    classes: dict[str, int]
    kept: dict[str, int]
    bound_broken: int  # classes in a benign region whose loss is above the bound by more than 2 standard errors

    def share_kept(self) -> float | None:
        """The share of bounds that hold; undecided classes have no bound."""
        promised = sum(count for region, count in self.classes.items() if region != Region.UNDECIDED.value)
        return sum(self.kept.values()) / promised if promised else None


def fit_constants(cells: Sequence[Cell], *, benign: float, harmful: float) -> TheoremConstants:
    """The widest regions and the steepest bounds that every given cell allows.

    benign: a loss up to this is benign; harmful: c_3, a loss from this on is of constant order. C_1 is the smallest
    threshold above which every class is benign; C_2 the same among classes outside that region; C_3 the largest below
    which every class is harmful; c_1 and c_2 the largest for which the bounds hold in their regions. A threshold that
    no cell supports is infinite (C_1, C_2) or 0 (C_3): the region is then empty.
    """
    if not cells or not 0 < benign < harmful < 1:
        raise InputError("measured cells and levels 0 < benign < harmful < 1", f"{len(cells)} cells", "add cells")
    signal = np.concatenate([cell.terms.weakest_signal() for cell in cells])
    ratio = np.concatenate([cell.terms.weakest_ratio() for cell in cells])
    loss = np.concatenate([cell.loss for cell in cells])
    C1 = _least_above(signal, loss <= benign)
    outside = signal < C1
    tail = np.concatenate([cell.tail() for cell in cells])
    C2 = _least_above(ratio[outside], tail[outside] <= benign)
    C3, C3_signal = _harmful_corner(signal, ratio, loss >= harmful)
    c1, c2 = np.inf, np.inf
    for cell in cells:
        for k in range(cell.loss.size):
            by_features = cell.terms.weakest_signal()[k] >= C1
            error = float(cell.loss[k] if by_features else cell.tail()[k])
            if error * cell.tests < 1:  # no test example was misclassified, so every bound holds
                continue
            others = np.arange(cell.loss.size) != k
            if by_features:
                c1 = min(c1, _steepest(cell.terms.signal[k, others], error))
            elif cell.terms.weakest_ratio()[k] >= C2:
                c2 = min(c2, _steepest(cell.terms.ratio[k, others], error))
    return TheoremConstants(C1, C2, C3, C3_signal, c1, c2, harmful)


def check_constants(cells: Sequence[Cell], constants: TheoremConstants, *, benign: float) -> FitQuality:
    """Check fitted constants on other cells, allowing for two binomial standard errors."""
    classes = {region.value: 0 for region in Region}
    kept = {region.value: 0 for region in Region if region is not Region.UNDECIDED}
    broken = 0
    for cell in cells:
        by_features, by_noise = loss_bounds(cell.terms, constants)
        for k, region in enumerate(regions(cell.terms, constants)):
            classes[region.value] += 1
            loss = float(cell.tail()[k] if region is Region.NOISE else cell.loss[k])
            slack = 2.0 * np.sqrt(max(loss * (1.0 - loss), 1.0 / cell.tests) / cell.tests)
            if region in (Region.FEATURES, Region.NOISE):
                kept[region.value] += loss <= benign + slack
                bound = by_features[k] if region is Region.FEATURES else by_noise[k]
                broken += bool(loss > bound + slack)
            elif region is Region.HARMFUL:
                kept[region.value] += loss >= constants.c3 - slack
    return FitQuality(classes, kept, broken)


def _summed(c: float, exponents: FloatArray) -> FloatArray:
    """sum_{j != k} exp(-c exponents_kj), at most 1; no exponent bounds nothing, even where no finite c was fitted."""
    present = exponents > 0
    terms = np.ones_like(exponents)
    terms[present] = np.exp(-c * exponents[present])
    np.fill_diagonal(terms, 0.0)
    return np.asarray(np.minimum(terms.sum(axis=1), 1.0))


def _least_above(values: FloatArray, good: NDArray[np.bool_]) -> float:
    """The smallest value v such that every entry >= v is good; infinity if there is none."""
    bad = values[~good]
    above = values[values > bad.max()] if bad.size else values
    return float(above.min()) if above.size else float("inf")


def _harmful_corner(signal: FloatArray, ratio: FloatArray, good: NDArray[np.bool_]) -> tuple[float, float]:
    """(C_3, C_3') of the corner ratio <= C_3, signal <= C_3' with the most classes, all good; zeros if none."""
    best, corner = 0, (0.0, 0.0)
    for limit in np.unique(ratio):
        inside = ratio <= limit
        bad = signal[inside & ~good]
        reach = signal[inside & (signal < bad.min())] if bad.size else signal[inside]
        if reach.size > best:
            best, corner = int(reach.size), (float(limit), float(reach.max()))
    return corner


def _steepest(terms: FloatArray, error: float) -> float:
    """The largest c with sum_j exp(-c terms_j) >= error."""
    from scipy.optimize import brentq

    def excess(c: float) -> float:
        return float(np.exp(-c * terms).sum()) - error

    if terms.min() <= 0.0:
        return float("inf")
    high = float(np.log(terms.size / error) / terms.min())  # at this c the sum is at most `error`
    return high if excess(high) >= 0 else float(brentq(excess, 0.0, high))
