"""Oversampling and reweighting side by side: the same mean update, not the same noise (Fang et al. 2021, eq 84-88).

Reweighting draws an example uniformly and multiplies its gradient by w_k (84-86); oversampling draws examples of
class k w_k times as often (87-88). With N = sum n_k and N_w = sum w_k n_k the mean updates agree when eta_w = eta_s N
/ N_w (the paper prints the inverse), and with a_k^2 the mean squared gradient of class k the second moments of
one-example updates are

    reweighting   N sum_k n_k w_k^2 a_k^2 / N_w^2,   oversampling   sum_k n_k w_k a_k^2 / N_w   (in units of eta_s^2)

By Cauchy and Schwarz the first is never smaller at equal a_k. Variances are these less the squared length of the common
mean; a batch of b independent draws divides them by b.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.counts import CountsLike, class_counts
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_count, check_matrix
from lopsided.remedies.rates import Rates


@dataclass(frozen=True)
class UpdateVariance:
    """Noise of one update under oversampling and reweighting, in units of the oversampling step squared.

    Attributes
    ----------
    step_ratio : float
        Reweighting step / oversampling step for equal mean updates.
    reweighting_second_moment : float
        Mean squared length of an update by reweighting.
    oversampling_second_moment : float
        Mean squared length of an update by oversampling.
    mean_squared : float
        Squared length of the mean update, the same for both; 0 if no gradients were given, so variances are upper
        bounds.
    batch_size : int
        Examples per update.
    """

    step_ratio: float
    reweighting_second_moment: float
    oversampling_second_moment: float
    mean_squared: float
    batch_size: int

    @property
    def reweighting(self) -> float:
        """Variance of an update by reweighting."""
        return (self.reweighting_second_moment - self.mean_squared) / self.batch_size

    @property
    def oversampling(self) -> float:
        """Variance of an update by oversampling."""
        return (self.oversampling_second_moment - self.mean_squared) / self.batch_size

    @property
    def ratio(self) -> float | None:
        """How many times noisier reweighting is; None where oversampling has no noise at all."""
        return self.reweighting / self.oversampling if self.oversampling > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "step_ratio": self.step_ratio,
            "reweighting_variance": self.reweighting,
            "oversampling_variance": self.oversampling,
            "ratio": self.ratio,
            "batch_size": self.batch_size,
        }


def update_variance(
    counts: CountsLike | Rates,
    rates: ArrayLike | None = None,
    *,
    squared_gradients: ArrayLike | None = None,
    batch_size: int = 1,
) -> UpdateVariance:
    """Compare the noise of reweighting and oversampling, from counts and rates.

    Parameters
    ----------
    counts : str, list, dict, path or Rates
        Examples of every class, or the `Rates` of `oversampling_rates`.
    rates : array of K floats, optional
        The rate of each class; not needed with `Rates`.
    squared_gradients : array of K floats, optional
        Mean squared gradient of each class. By default, equal.
    batch_size : int, default 1
        Examples per update.

    Returns
    -------
    UpdateVariance
        The mean update is not known from counts and taken as 0, so `ratio` is that of second moments.
    """
    sizes, copies = _sizes_and_copies(counts, rates)
    lengths = np.ones_like(sizes) if squared_gradients is None else _one_per_class(squared_gradients, sizes.size)
    return _of_sums(sizes, copies, lengths, 0.0, batch_size)


def _of_sums(
    sizes: FloatArray, copies: FloatArray, lengths: FloatArray, mean_squared: float, batch_size: int
) -> UpdateVariance:
    """From the examples of every class (one each, where every example stands for itself), rates and squared lengths."""
    total, effective = float(sizes.sum()), float(sizes @ copies)
    second = total * float(sizes @ (copies**2 * lengths)) / effective**2, float(sizes @ (copies * lengths)) / effective
    return UpdateVariance(total / effective, *second, mean_squared, check_count(batch_size, "the batch size"))


def update_variance_of(
    gradients: ArrayLike, codes: ArrayLike, rates: ArrayLike, *, batch_size: int = 1
) -> UpdateVariance:
    """Compare the noise of reweighting and oversampling exactly, from the gradients of all examples.

    Parameters
    ----------
    gradients : array (n, p)
        One gradient per example.
    codes : array of n ints
        The class of each example, as a code 0, 1, 2, ...
    rates : array of K floats
        The rate of each class.
    batch_size : int, default 1
        Examples per update.

    Returns
    -------
    UpdateVariance
        Variances of one update under both remedies.
    """
    rows = check_matrix(gradients, "gradients")
    of_example = np.asarray(rates, dtype=np.float64)[np.asarray(codes)]
    mean = of_example @ rows / of_example.sum()
    squares = np.sum(rows**2, axis=1)
    return _of_sums(np.ones(rows.shape[0]), of_example, squares, float(mean @ mean), batch_size)


def _sizes_and_copies(counts: CountsLike | Rates, rates: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    if isinstance(counts, Rates):
        return counts.counts, counts.rates
    sizes = class_counts(counts, at_least_two=False).counts
    if rates is None:
        raise InputError("rates for the counts", "none", "give one per class, or the Rates of oversampling_rates")
    return sizes, _one_per_class(rates, sizes.size)


def _one_per_class(values: ArrayLike, classes: int) -> FloatArray:
    found = class_counts(np.atleast_1d(np.asarray(values, dtype=np.float64)), at_least_two=False).counts
    if found.size != classes:
        raise InputError(f"{classes} numbers, one per class", found.size)
    return found
