"""Rules for trends with error bars: rising, falling, valley, straight line, power law; seeds are the replicates.

Values under one seed share teacher and random numbers across settings, so changes are judged on paired differences:
a change counts when its 95 % interval (Student's, over seeds) leaves out zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.figure import Line
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Row

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Curve:
    """Values over x (columns) and seeds (rows); NaN where a run gave none."""

    x: FloatArray
    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Over seeds."""
        good = np.isfinite(self.values)
        total = np.where(good, self.values, 0.0).sum(axis=0)
        return np.asarray(np.where(good.any(axis=0), total / np.maximum(good.sum(axis=0), 1), np.nan))

    @property
    def error(self) -> FloatArray:
        """Standard error of the mean over seeds; 0 with one seed."""
        good = np.isfinite(self.values)
        count = good.sum(axis=0)
        gaps = np.where(good, self.values - self.mean, 0.0)
        return np.asarray(np.sqrt(np.square(gaps).sum(axis=0) / np.maximum(count - 1, 1) / np.maximum(count, 1)))

    def logarithmic(self) -> "Curve":
        """The curve of logarithms: means over seeds become geometric, which single extreme teachers do not rule."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return Curve(self.x, np.log(self.values))

    def change(self, first: int, last: int) -> tuple[float, float]:
        """Mean paired difference value[last] - value[first] and half the width of its 95 % interval; 0 for one seed,
        which stands for a computation without chance."""
        gaps = self.values[:, last] - self.values[:, first]
        gaps = gaps[np.isfinite(gaps)]
        if gaps.size == 0:
            return float("nan"), float("nan")
        if gaps.size == 1:
            return float(gaps[0]), 0.0
        from scipy.stats import t

        quantile = float(t.ppf(0.5 + CONFIDENCE / 2, gaps.size - 1))
        return float(gaps.mean()), quantile * float(gaps.std(ddof=1)) / float(np.sqrt(gaps.size))

    def rank_correlation(self) -> float:
        """Spearman's correlation of the mean curve with x."""
        ranks = np.argsort(np.argsort(self.mean))
        return float(np.corrcoef(np.arange(len(self.x)), ranks)[0, 1])


def curve(rows: Sequence[Row], x: str | Callable[[Row], float], y: str | Callable[[Row], Any], **fixed: Any) -> Curve:
    """Collect `y` over `x` and seeds from the rows whose settings have the `fixed` values."""

    def read(row: Row, what: str | Callable[[Row], Any], home: Any) -> Any:
        return what(row) if callable(what) else home[what]

    chosen = [row for row in rows if all(row.settings.get(key) == value for key, value in fixed.items())]
    places = sorted({float(read(row, x, row.settings)) for row in chosen})
    seeds = sorted({row.seed for row in chosen})
    values = np.full((len(seeds), len(places)), np.nan)
    for row in chosen:
        value = read(row, y, row.numbers)
        place = places.index(float(read(row, x, row.settings)))
        values[seeds.index(row.seed), place] = np.nan if value is None else float(value)
    return Curve(np.array(places), values)


def trend(line: Curve) -> str:
    """'rises' or 'falls' where the ends differ beyond error and the mean curve follows in rank, else 'flat'."""
    if not np.isfinite(line.mean).all() or len(line.x) < 2:
        return "undefined"
    gap, half = line.change(0, -1)
    rank = line.rank_correlation()
    if gap > half and rank > 0.5:
        return "rises"
    if -gap > half and rank < -0.5:
        return "falls"
    return "flat"


def shape(line: Curve) -> str:
    """'valley' (falls, then rises, each beyond error), 'hill', or the trend."""
    if not np.isfinite(line.mean).all():
        return "undefined"
    low, high = int(np.argmin(line.mean)), int(np.argmax(line.mean))
    last = len(line.x) - 1
    for turn, sign, word in ((low, 1.0, "valley"), (high, -1.0, "hill")):
        if 0 < turn < last:
            left, left_half = line.change(turn, 0)
            right, right_half = line.change(turn, last)
            if sign * left > left_half and sign * right > right_half:
                return word
    return trend(line)


def straight_line(x: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    """Slope, intercept and R^2 of least squares."""
    slope, intercept = np.polyfit(x, y, 1)
    spread = float(np.square(y - y.mean()).sum())
    rest = float(np.square(y - slope * x - intercept).sum())
    return float(slope), float(intercept), 1.0 - rest / spread if spread > 0 else float("nan")


def power(line: Curve) -> tuple[float, float]:
    """Exponent of y ~ x^p: mean over seeds of the log-log slope, and its standard error."""
    slopes = [
        np.polyfit(np.log(line.x[good]), np.log(values[good]), 1)[0]
        for values in line.values
        for good in [np.isfinite(values) & (values > 0)]
        if good.sum() >= 2
    ]
    if not slopes:
        return float("nan"), float("nan")
    return float(np.mean(slopes)), float(np.std(slopes, ddof=1) / np.sqrt(len(slopes))) if len(slopes) > 1 else 0.0


def power_of_square_mean(line: Curve) -> tuple[float, float]:
    """Exponent of the root mean square over seeds, with its jackknife error: for errors that single seeds have by
    chance
    near zero, where logarithms of each would rule."""

    def slope(values: FloatArray) -> float:
        return float(np.polyfit(np.log(line.x), 0.5 * np.log(np.mean(np.square(values), axis=0)), 1)[0])

    count = line.values.shape[0]
    if count < 3:
        return slope(line.values), float("nan")
    left_out = np.array([slope(np.delete(line.values, seed, axis=0)) for seed in range(count)])
    return slope(line.values), float(np.sqrt((count - 1) / count * np.square(left_out - left_out.mean()).sum()))


def drawn(line: Curve, label: str, *, dashed: bool = False) -> Line:
    """The mean curve with a band of one standard error."""
    low, high = line.mean - line.error, line.mean + line.error
    return Line(_plain(line.x), _plain(line.mean), label, _plain(low), _plain(high), dashed=dashed, markers=True)


def _plain(values: FloatArray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def described(line: Curve) -> dict[str, Any]:
    """A curve as numbers for the verdict."""
    return {"x": _plain(line.x), "mean": _plain(line.mean), "standard_error": _plain(line.error)}
