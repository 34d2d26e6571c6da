"""Gaussian augmentation of one group, with its variance chosen by covariance (Li et al., Insight P3 and Figure 1).

Adding N(0, delta^2 I) to a share a of a group's examples makes its covariance Sigma + a delta^2 I. In the papers,
learning is easiest at covariances of medium size: too little noise changes nothing, too much hurts. Two ways to choose
delta^2:

- `matching_noise`: the group's mean variance becomes that of a reference (the other groups, or a number),
  delta^2 = max(0, (target - tr Sigma / d) / a).
- `forecast_noise`: in a mixture problem, the level with the smallest forecast excess risk of the group. Trained with
  information H(delta) = sum_(j != l) lambda_j H_j + lambda_l ((1-a) H_l + a H_l(Sigma + delta^2 I)) and tested on the
  group as it was, the large-n law gives tr(H(delta)^-1 H_l) / (2n).

The forecast assumes that the teacher labels noisy copies; a copy that keeps its original's label is mislabelled where
the noise crosses the boundary, which this law does not count. So it is optimistic at large delta.

`random_crops` pad pictures by p on every side and cut the original size out at a random place. The papers (Li et al.
2022, Figures 7 and 8b) vary p for the minority group: more cropping is more variance, which helps up to a point and
then hurts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import MixtureProblem
from lopsided.core.validation import (
    FloatArray,
    IntArray,
    check_count,
    check_in_range,
    check_labels,
    check_matrix,
    check_positive,
)
from lopsided.theory.fisher_information import group_information
from lopsided.theory.fisher_law import WORST_CONDITION, FisherLaw


def random_crops(
    images: NDArray[np.generic], padding: int, stream: np.random.Generator, *, fill: float = 0.0
) -> NDArray[np.generic]:
    """Shift every picture by a random number of pixels in each direction.

    Parameters
    ----------
    images : array (n, H, W) or (n, H, W, C)
        The pictures.
    padding : int
        The largest shift, in pixels.
    stream : numpy.random.Generator
        Source of the random shifts.
    fill : float, default 0.0
        Value of uncovered pixels.

    Returns
    -------
    array
        Shifted copies, of the same shape and type.
    """
    given = np.asarray(images)
    if given.ndim not in (3, 4):
        raise InputError("pictures n x H x W or n x H x W x C", f"shape {given.shape}", "reshape them")
    border = check_count(padding, "the padding", at_least=0)
    shifts = crop_shifts(given.shape[0], border, stream)
    return shifted(given, shifts, border, fill)


def crop_shifts(number: int, padding: int, stream: np.random.Generator) -> IntArray:
    """Row and column where each crop begins in the padded picture, uniform on 0..2p."""
    return stream.integers(0, 2 * padding + 1, size=(number, 2))


def shifted(images: NDArray[np.generic], shifts: IntArray, padding: int, fill: float) -> NDArray[np.generic]:
    """Cut H x W at `shifts` out of the padded pictures."""
    height, width = images.shape[1:3]
    borders = [(0, 0), (padding, padding), (padding, padding)] + [(0, 0)] * (images.ndim - 3)
    padded = np.pad(images, borders, constant_values=fill)
    rows = shifts[:, :1] + np.arange(height)
    columns = shifts[:, 1:] + np.arange(width)
    return np.asarray(padded[np.arange(images.shape[0])[:, None, None], rows[:, :, None], columns[:, None, :]])


@dataclass(frozen=True)
class NoiseLevel:
    """delta^2 for a share of the group, the group's mean variance before and after, and the reason."""

    variance: float
    share: float
    before: float
    after: float
    why: str

    @property
    def deviation(self) -> float:
        """delta."""
        return float(np.sqrt(self.variance))


@dataclass(frozen=True)
class NoiseForecast:
    """Forecast excess risk (nats) of the group and of the mixture at every level; `best` has the group's smallest."""

    variances: FloatArray
    group_excess: FloatArray
    average_excess: FloatArray

    @property
    def best(self) -> float:
        """The variance with the smallest forecast for the group; 0 means that noise is not forecast to help."""
        return float(self.variances[np.argmin(self.group_excess)])


def add_noise(features: ArrayLike, variance: float, stream: np.random.Generator, *, share: float = 1.0) -> FloatArray:
    """Add Gaussian noise to a random share of the rows.

    Parameters
    ----------
    features : array (n, ...)
        One row per example.
    variance : float
        Variance of the noise in every entry; 0 adds none.
    stream : numpy.random.Generator
        Source of the random numbers.
    share : float, default 1.0
        Share of the rows that get noise.

    Returns
    -------
    array (n, ...)
        A copy with the noise.
    """
    given = np.array(features, dtype=np.float64)
    part = check_in_range(share, "the share", 0.0, 1.0)
    if variance == 0 or given.shape[0] == 0:
        return given
    deviation = float(np.sqrt(check_positive(variance, "the noise variance")))
    chosen = stream.choice(given.shape[0], round(part * given.shape[0]), replace=False)
    given[chosen] += deviation * stream.standard_normal((chosen.size, *given.shape[1:]))
    return given


def matching_noise(
    features: ArrayLike, groups: ArrayLike, group: object, *, target: float | None = None, share: float = 1.0
) -> NoiseLevel:
    """The noise that raises a group's mean variance (tr Sigma / d) to that of the other groups.

    Parameters
    ----------
    features : array (n, d)
        One row per example.
    groups : array of n groups
        The group of each example.
    group : str or int
        The group that gets noise.
    target : float, optional
        The mean variance to reach. By default, that of all other groups.
    share : float, default 1.0
        Share of the group's examples that get noise.

    Returns
    -------
    NoiseLevel
        The variance of the noise, the group's mean variance before and after, and the reason.
    """
    given = check_matrix(features, "features")
    codes, names = check_labels(groups, "groups", length=given.shape[0])
    if str(group) not in names:
        raise InputError(f"a group among {', '.join(names[:8])}", group)
    part = check_in_range(share, "the share", 1e-6, 1.0, remedy="give the share of examples that get noise")
    inside = codes == names.index(str(group))
    if inside.all() and target is None:
        raise InputError("another group to match", "one group only", "give a target variance")
    before = _mean_variance(given[inside], str(group))
    if target is None:
        others = [(codes == code, name) for code, name in enumerate(names) if name != str(group)]
        sizes = np.array([int(chosen.sum()) for chosen, _ in others])
        wanted = float(sizes @ np.array([_mean_variance(given[chosen], name) for chosen, name in others]) / sizes.sum())
    else:
        wanted = check_positive(target, "the target variance")
    variance = max(0.0, (wanted - before) / part)
    why = (
        f"The mean variance of {group} rises from {before:.3g} to {wanted:.3g}."
        if variance > 0
        else f"The mean variance of {group}, {before:.3g}, already reaches the target {wanted:.3g}: no noise is added."
    )
    return NoiseLevel(variance, part, before, before + part * variance, why)


def forecast_noise(
    problem: MixtureProblem, group: int, variances: ArrayLike, *, samples: int, share: float = 1.0
) -> NoiseForecast:
    """Forecast the excess risk of a group in a mixture problem at several levels of noise.

    Parameters
    ----------
    problem : MixtureProblem
        The mixture and its teacher.
    group : int
        The group that gets noise.
    variances : array of floats
        The levels to compare.
    samples : int
        Training examples.
    share : float, default 1.0
        Share of the group's examples that get noise.

    Returns
    -------
    NoiseForecast
        The forecasts at every level; `best` is the level with the smallest excess risk of the group.
    """
    count = check_count(samples, "the number of samples")
    part = check_in_range(share, "the share", 0.0, 1.0)
    levels = np.atleast_1d(np.asarray(variances, dtype=np.float64))
    if levels.ndim != 1 or not np.isfinite(levels).all() or (levels < 0).any():
        raise InputError("noise variances >= 0", variances, "give a list of numbers")
    mixture, law = problem.mixture, FisherLaw(problem)
    if not 0 <= group < len(law.groups):
        raise InputError(f"a group from 0 to {len(law.groups) - 1}", group)
    weight = float(mixture.fractions[group])
    clean = law.groups[group].information
    rest, average = law.information() - weight * part * clean, law.information()
    identity = np.eye(mixture.means[group].shape[0])
    found = []
    for level in levels:
        noisy = clean
        if level > 0:
            covariance = mixture.covariances[group] + level * identity
            noisy = group_information(mixture.means[group], covariance, problem.weights, problem.activation).information
        total = rest + weight * part * noisy
        if np.linalg.cond(total) > WORST_CONDITION:
            raise InputError(
                "a mixture whose labels identify the teacher", f"none at noise {level:g}", "use smaller noise"
            )
        found.append([float(np.trace(np.linalg.solve(total, which))) / (2 * count) for which in (clean, average)])
    table = np.array(found)
    return NoiseForecast(levels, table[:, 0], table[:, 1])


def _mean_variance(rows: FloatArray, name: str) -> float:
    if rows.shape[0] < 2:
        raise InputError("at least two examples for a variance", f"{rows.shape[0]} in group {name}", "give more")
    return float(rows.var(axis=0, ddof=1).mean())
