"""How the noise of the classes overlaps (Xu and Chen 2025, Fig 6 and Theorem 1.2b), estimated from examples.

    T_ij = |A_i^T A_j|_F^2 = tr(Sigma_i Sigma_j),      Gamma_ij = n_i T_ii / (n_j T_ij)

Estimators of T from sample covariances S_k (the paper uses `sample`):

- `sample`: tr(S_i S_j). Exact for i != j on average, but tr(S_i^2) is too large by about tr(Sigma_i)^2 / n: with n <
  d that can be most of it, and it inflates every ratio.
- `shrunk`: the same of Ledoit and Wolf's (1 - rho) S + rho mu I, whose rho is estimated class by class.
- `unbiased`: tr(S_i S_j) off the diagonal, Himeno and Yamada's U-statistic on it, unbiased for any distribution:
  (n-1)/(n(n-2)(n-3)) [(n-1)(n-2) tr(S^2) + tr(S)^2 - n/(n-1) sum_i |c_i|^4].

`auto` takes `sample`, and `shrunk` for all classes as soon as one class has fewer examples than columns; the result
says so.

Intervals: the bootstrap over the examples of each class, linearised. To first order an example a of class i moves
T_ij by (c_a^T S_j c_a - T_ij)/n_i (twice that for i = j), so resampling these rows costs almost nothing. At most
`interval_examples` of a class are resampled, and deviations are scaled by sqrt(m/n).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError
from lopsided.core.noise_geometry import weakest
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray, check_count, check_in_range, check_labels
from lopsided.measure.class_moments import (
    Block,
    ClassMoments,
    Convention,
    check_convention,
    flat_rows,
    moments_of_blocks,
    split_by_class,
)

Estimator = Literal["auto", "sample", "shrunk", "unbiased"]


@dataclass(frozen=True)
class NoiseMatrix:
    """T and Gamma (K x K) with interval ends (None without bootstrap), and how they were estimated."""

    names: tuple[str, ...]
    counts: IntArray
    products: FloatArray
    ratios: FloatArray
    products_low: FloatArray | None
    products_high: FloatArray | None
    ratios_low: FloatArray | None
    ratios_high: FloatArray | None
    estimator: str
    shrinkage: FloatArray  # rho per class, 0 where none
    note: str
    level: float

    def weakest_ratios(self) -> FloatArray:
        """min_{j != i} Gamma_ij for every class, which Theorem 1.2(b) requires to be large."""
        return weakest(self.ratios)


def noise_matrix(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    estimator: Estimator = "auto",
    convention: Convention = "n-1",
    resamples: int = 200,
    level: float = 0.95,
    interval_examples: int = 500,
    random: np.random.Generator | None = None,
) -> NoiseMatrix:
    """The class-by-class noise matrix of features in memory.

    Parameters
    ----------
    features : array of shape (n, ...)
        One row or picture per example; further axes are flattened.
    labels : array of shape (n,)
        The class of each example.
    estimator : {"auto", "sample", "shrunk", "unbiased"}, default "auto"
        How T is estimated from the sample covariances; see the top of this module.
    convention : {"n-1", "n"}, default "n-1"
        What the sums of squares are divided by.
    resamples : int, default 200
        Bootstrap samples behind the intervals; 0 for no intervals.
    level : float, default 0.95
        The probability of the intervals.
    interval_examples : int, default 500
        The largest number of examples of a class that are resampled.
    random : numpy.random.Generator, optional
        The generator of the bootstrap. By default, one with seed 0.

    Returns
    -------
    NoiseMatrix
        Products T and ratios Gamma with their intervals.
    """
    rows = flat_rows(features)
    codes, names = check_labels(labels, length=rows.shape[0])
    step = max(1, 8_000_000 // rows.shape[1])

    def blocks() -> Iterable[Block]:
        for start in range(0, rows.shape[0], step):
            yield rows[start : start + step], codes[start : start + step]

    return noise_matrix_of_blocks(
        blocks,
        codes,
        tuple(names),
        rows.shape[1],
        estimator=estimator,
        convention=convention,
        resamples=resamples,
        level=level,
        interval_examples=interval_examples,
        random=random,
    )


def noise_matrix_of_blocks(
    blocks: Callable[[], Iterable[Block]],
    codes: IntArray,
    names: tuple[str, ...],
    dimension: int,
    *,
    estimator: Estimator = "auto",
    convention: Convention = "n-1",
    resamples: int = 200,
    level: float = 0.95,
    interval_examples: int = 500,
    random: np.random.Generator | None = None,
    moments: ClassMoments | None = None,
) -> NoiseMatrix:
    """The same in two passes over blocks of examples, for data larger than memory; in one where `moments` are known."""
    if estimator not in ("auto", "sample", "shrunk", "unbiased"):
        raise InputError("auto, sample, shrunk or unbiased", repr(estimator))
    check_convention(convention)
    if estimator == "unbiased" and convention == "n":
        raise InputError("the 1/(n-1) convention with the unbiased estimator", "n", "use n-1, or another estimator")
    check_count(resamples, "resamples", at_least=0)
    check_in_range(level, "the level of the intervals", 0.5, 0.9999)
    if moments is None:
        moments = moments_of_blocks(blocks(), len(names), dimension)
    least = 4 if estimator == "unbiased" else 2
    few = [f"{names[k]} ({count})" for k, count in enumerate(moments.counts) if count < least]
    if few:
        raise InputError(f"at least {least} examples in every class", ", ".join(few), "leave those classes out")
    if len(names) < 2:
        raise InputError("at least 2 classes", len(names))
    use, note = _choose(estimator, moments)
    divisors = np.asarray(moments.counts - (1 if convention == "n-1" else 0), dtype=np.float64)
    fourth, drawn = _second_pass(blocks, moments, codes, divisors, interval_examples if resamples else 0, random)
    raw = _products(moments, divisors)
    products, slope, rho = _estimate(use, raw, moments, divisors, fourth)
    low = high = ratios_low = ratios_high = None
    sizes = moments.counts.astype(np.float64)
    if resamples:
        replicates = _replicates(products, slope, drawn, moments, resamples, random)
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = np.quantile(replicates, tails, axis=0)
        ratios_low, ratios_high = _quantiles(_ratios(replicates, sizes), tails)
    found = names, moments.counts, products, _ratios(products, sizes)
    return NoiseMatrix(*found, low, high, ratios_low, ratios_high, use, rho, note, level)


def _quantiles(values: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """Quantiles along the first axis; between two infinite neighbours lies infinity, where NumPy subtracts them."""
    with np.errstate(invalid="ignore"):
        found: FloatArray = np.quantile(values, ends, axis=0)
    lost = np.isnan(found)
    if lost.any():
        found[lost] = np.quantile(values, ends, axis=0, method="higher")[lost]
    return found


def _choose(estimator: Estimator, moments: ClassMoments) -> tuple[str, str]:
    few = int((moments.counts < moments.dimension).sum())
    short = f"{few} of {moments.classes} classes have fewer examples than the {moments.dimension} columns"
    if estimator == "auto":
        return ("shrunk", f"{short}; all covariances are shrunk (Ledoit-Wolf)") if few else ("sample", "")
    if estimator == "sample" and few:
        return "sample", f"{short}; tr(S^2) and all ratios are biased upwards"
    return estimator, ""


def _products(moments: ClassMoments, divisors: FloatArray) -> FloatArray:
    """tr(S_i S_j) of the covariances: one product of the flattened matrices."""
    flat = moments.scatters.reshape(moments.classes, -1)
    return np.asarray((flat @ flat.T) / np.outer(divisors, divisors))


def _second_pass(
    blocks: Callable[[], Iterable[Block]],
    moments: ClassMoments,
    codes: IntArray,
    divisors: FloatArray,
    most: int,
    random: np.random.Generator | None,
) -> tuple[FloatArray, list[FloatArray]]:
    """sum_i |c_i|^4 per class, and for up to `most` examples of each class the row (c^T S_1 c, ..., c^T S_K c)."""
    K = moments.classes
    fourth = np.zeros(K)
    chosen = np.zeros(codes.shape[0], dtype=bool)
    if most:
        draw = random if random is not None else generator(0, "noise matrix")
        for _, members in split_by_class(codes):
            chosen[members if members.size <= most else draw.choice(members, most, replace=False)] = True
    kept: list[list[NDArray[np.float64]]] = [[] for _ in range(K)]
    start = 0
    for rows, block_codes in blocks():
        here = chosen[start : start + rows.shape[0]]
        for k, members in split_by_class(block_codes):
            own = rows[members].astype(np.float64) - moments.means[k]
            fourth[k] += float(np.square(np.einsum("ij,ij->i", own, own)).sum())
            if here[members].any():
                kept[k].append(own[here[members]])
        start += rows.shape[0]
    quadratic = []
    for k in range(K):
        own = np.concatenate(kept[k]) if kept[k] else np.zeros((0, moments.dimension))
        columns = [np.einsum("ij,ij->i", own @ moments.scatters[j], own) / divisors[j] for j in range(K)]
        quadratic.append(np.stack(columns, axis=1))
    return fourth, quadratic


def _estimate(
    use: str, raw: FloatArray, moments: ClassMoments, divisors: FloatArray, fourth: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(T, its slope in the raw products, rho)."""
    K, d = moments.classes, moments.dimension
    n = moments.counts.astype(np.float64)
    trace = np.einsum("kii->k", moments.scatters) / divisors
    if use == "sample":
        return raw, np.ones((K, K)), np.zeros(K)
    if use == "unbiased":
        own = np.diag(raw)
        bracket = (n - 1) * (n - 2) * own + trace**2 - n / (n - 1) * fourth
        products = raw.copy()
        np.fill_diagonal(products, (n - 1) / (n * (n - 2) * (n - 3)) * bracket)
        return products, np.ones((K, K)), np.zeros(K)
    # Ledoit and Wolf (2004): rho = min(beta^2, delta^2) / delta^2 on the 1/n covariance.
    biased = divisors / n
    energy, level = np.diag(raw) * biased**2, trace * biased / d
    delta = energy - d * level**2
    beta = (fourth / n - energy) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.where(delta > 0, np.minimum(np.maximum(beta, 0.0), delta) / delta, 0.0)
    keep, mu = 1.0 - rho, trace / d
    slope = np.outer(keep, keep)
    added = np.outer(keep * trace, rho * mu)
    products = slope * raw + added + added.T + d * np.outer(rho * mu, rho * mu)
    return products, slope, rho


def _replicates(
    products: FloatArray,
    slope: FloatArray,
    drawn: list[FloatArray],
    moments: ClassMoments,
    resamples: int,
    random: np.random.Generator | None,
) -> FloatArray:
    """B x K x K products of resampled classes, to first order."""
    draw = random if random is not None else generator(0, "noise matrix")
    K = moments.classes
    moved = np.zeros((resamples, K, K))
    for k, rows in enumerate(drawn):
        m = rows.shape[0]
        weights = draw.multinomial(m, np.full(m, 1.0 / m), size=resamples) / m - 1.0 / m
        moved[:, k, :] = (weights @ rows) * np.sqrt(m / moments.counts[k])
    both = moved + moved.transpose(0, 2, 1)
    result: FloatArray = products + slope * both
    # A first-order step can leave the positive numbers only for a handful of examples; products of covariances cannot.
    return np.maximum(result, 1e-3 * products)


def _ratios(products: FloatArray, sizes: FloatArray) -> FloatArray:
    own = np.einsum("...kk->...k", products) * sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(own[..., :, None] / (products * sizes))
