"""Intervals that hold for all parts at once, so that a hundred classes raise no more false alarms than one.

Rates: Jeffreys' interval, the quantiles of Beta(x + 1/2, n - x + 1/2), at the level 1 - ALPHA/m for m parts
(Bonferroni). The gap between a part and the rest: Newcombe's combination of the two intervals,

    gap - sqrt((rest - rest_low)^2 + (part_high - part)^2)   and the mirror image above.

A mean of rates in which every part has the same weight (balanced accuracy): Jeffreys' interval of one rate from as many
rows as have its variance. The variance of a part is estimated from its own rows and `_BORROWED` rows of the mean rate,
because three rows that are all right do not say that there is none. In 420 simulated settings (2 to 300 parts, 1 to 200
rows, rates alike or far apart) it held the truth in 0.96 of cases in the median, and in fewer than 0.90 in nine of
them, down to 0.67: mostly where sizes differ a hundredfold and the smallest part has a row or two.

Means of other values: the bootstrap of the largest deviation over all parts in units of its standard error (max |t|),
whose quantile makes the intervals simultaneous. At most `MOST_RESAMPLED` rows of a part are resampled. Where only sums
are known, of data too large to keep, the quantile is the normal one at the level 1 - ALPHA/m.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray

ALPHA = 0.05
MOST_RESAMPLED = 500
RESAMPLES = 600
_BORROWED = 2.0


@dataclass(frozen=True)
class Intervals:
    """An estimate per part with both ends; NaN for a part without rows."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def of(self, part: Any) -> tuple[float, float]:
        """Both ends for one part."""
        return float(self.low[part]), float(self.high[part])

    def at(self, part: Any) -> tuple[float, tuple[float, float]]:
        """The estimate of one part and both ends, as a finding takes them."""
        return float(self.value[part]), self.of(part)

    def beyond(self, limit: float) -> list[int]:
        """The parts whose lower end lies above `limit`, the highest first."""
        order = np.argsort(-np.nan_to_num(self.low, nan=-np.inf), kind="stable")
        return [int(part) for part in order if self.low[part] > limit]

    def lowest(self, parts: Any) -> int:
        """The place among these parts of the lowest estimate; of equal ones the surest, because names must not decide.
        Parts without rows come last."""
        return int(np.lexsort(((self.high - self.low)[parts], self.value[parts]))[0])

    def highest(self, parts: Any) -> int:
        """The same for the highest."""
        return int(np.lexsort(((self.high - self.low)[parts], -self.value[parts]))[0])


def rate_intervals(successes: IntArray, totals: IntArray, *, tests: int | None = None) -> Intervals:
    """x/n per part with simultaneous intervals over `tests` parts (by default all of them)."""
    from scipy.stats import beta

    count = tests if tests is not None else int(np.count_nonzero(totals))
    tail = ALPHA / (2 * max(count, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = successes / totals
    low = np.where(successes > 0, beta.ppf(tail, successes + 0.5, totals - successes + 0.5), 0.0)
    high = np.where(successes < totals, beta.isf(tail, successes + 0.5, totals - successes + 0.5), 1.0)
    empty = totals == 0
    return Intervals(value, np.where(empty, np.nan, low), np.where(empty, np.nan, high))


def gaps_to_rest(successes: IntArray, totals: IntArray) -> Intervals:
    """Rate of all other rows minus the rate of the part: positive where the part does worse."""
    parts = int(np.count_nonzero(totals))
    own = rate_intervals(successes, totals, tests=2 * parts)
    rest = rate_intervals(successes.sum() - successes, totals.sum() - totals, tests=2 * parts)
    gap = rest.value - own.value
    below = np.hypot(rest.value - rest.low, own.high - own.value)
    above = np.hypot(rest.high - rest.value, own.value - own.low)
    return Intervals(gap, gap - below, gap + above)


def mean_rate_interval(successes: IntArray, totals: IntArray) -> tuple[float, float, float]:
    """(mean, low, high) of the rates of parts that have rows; every part has the same weight."""
    from scipy.stats import beta

    rates = successes / totals
    mean = float(rates.mean())
    if mean in (0.0, 1.0):  # no variance to see: as many rows as equal rates would be worth
        rows = totals.size**2 / float((1 / totals).sum())
    else:
        variances = (totals * rates * (1 - rates) + _BORROWED * mean * (1 - mean)) / (totals - 1 + _BORROWED)
        rows = mean * (1 - mean) * totals.size**2 / float((variances / totals).sum())
    shape = mean * rows + 0.5, (1 - mean) * rows + 0.5
    low = float(beta.ppf(ALPHA / 2, *shape)) if mean > 0 else 0.0
    high = float(beta.isf(ALPHA / 2, *shape)) if mean < 1 else 1.0
    return mean, min(low, mean), max(high, mean)


def mean_intervals(
    values: FloatArray, codes: IntArray, parts: int, random: np.random.Generator, *, resamples: int = RESAMPLES
) -> Intervals:
    """Means of `values` per part with simultaneous bootstrap intervals; a part needs two rows for an interval.

    What is drawn follows the sizes and values of the parts, not the order of rows or parts; `random` does not move on,
    so that several partitions may be asked for in any order.
    """
    random = deepcopy(random)
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=parts)
    ends = np.cumsum(counts)
    mean, error = np.full(parts, np.nan), np.full(parts, np.nan)
    deviations = np.zeros((resamples, parts))
    by_part = {part: np.sort(values[order[ends[part] - counts[part] : ends[part]]]) for part in np.flatnonzero(counts)}
    for part, own in sorted(by_part.items(), key=lambda entry: (entry[1].size, float(entry[1].sum()))):
        mean[part] = own.mean()
        if own.size < 2:
            continue
        error[part] = own.std(ddof=1) / np.sqrt(own.size)
        chosen = own if own.size <= MOST_RESAMPLED else random.choice(own, MOST_RESAMPLED, replace=False)
        drawn = random.multinomial(chosen.size, np.full(chosen.size, 1.0 / chosen.size), size=resamples)
        centred = chosen - chosen.mean()
        spread = chosen.std(ddof=1) / np.sqrt(chosen.size)
        deviations[:, part] = drawn @ centred / chosen.size / max(spread, 1e-300)
    reach = float(np.quantile(np.abs(deviations).max(axis=1), 1 - ALPHA))
    return Intervals(mean, mean - reach * error, mean + reach * error)


def mean_intervals_of_sums(counts: IntArray, sums: FloatArray, squares: FloatArray) -> Intervals:
    """Means of the parts from their counts, sums and sums of squares; a part needs two rows for an interval."""
    from scipy.stats import norm

    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(counts > 0, sums / counts, np.nan)
        variance = np.maximum(squares - sums * mean, 0.0) / (counts - 1)
        error = np.where(counts > 1, np.sqrt(variance / counts), np.nan)
    reach = float(norm.isf(ALPHA / (2 * max(int(np.count_nonzero(counts)), 1))))
    return Intervals(mean, mean - reach * error, mean + reach * error)
