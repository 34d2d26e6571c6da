"""Does a group differ in mean or spread from the other examples of the same classes?

With z the indicator of a group, residualised by class (z - share of the group in the class), the least squares
coefficient of z beside the class means is the group's shift, and n_eff = sum z^2 the rows it rests on:

    beta = sum z x / n_eff,    D^2 = beta^T S^-1 beta - d / n_eff      (S: covariance within class and group)

D is the shift in standard deviations, free of differences in class mix (without labels there is one class). n_eff
beta^T S^-1 beta is noncentral chi-square under normality; its two noncentralities are the interval of D.

A group that is far away pulls the rest with it, and would make the others look shifted. So the furthest group is set
aside and the others are measured again without it, until none is far.

The spread of a group is sqrt(tr(S_l S^-1) / d): 1 where it varies like the others. Li et al. 2024 (Theorem 1) find that
small and large covariances both cost samples, and that a mean far from 0 does.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import ALPHA, Intervals, mean_intervals
from lopsided.checkup.checks.parts import all_of, group_subject, interval_points, opening, without_implied
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Mark, Panel
from lopsided.core.jsonable import jsonable
from lopsided.core.partition import Partition
from lopsided.core.validation import FloatArray, IntArray

RISKY_SHIFT, FAILING_SHIFT = 0.5, 1.0
SMALL_SPREAD, LARGE_SPREAD = 0.5, 2.0
LEAST_EFFECTIVE = 10.0  # rows that tell group and class apart; below it the shift cannot be estimated
MOST_NAMED = 5
MOST_TICKS = 12  # names under a plot


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Shift and spread of every group of every column and intersection, on the sample."""
    sample = evidence.space.sample
    classes = np.zeros(len(sample.rows), dtype=np.int64)
    if evidence.classes is not None:
        classes = evidence.classes.codes[sample.rows]
    findings: list[Finding] = []
    measures: dict[str, object] = {"measured_on": sample.words}
    figures: list[Figure] = []
    for name, part in evidence.groups.items():
        own = Partition(name, part.codes[sample.rows], part.names)
        if len(np.unique(own.codes)) < 2:
            continue
        shifts = _shifts(sample.points, classes, own)
        squares = mean_intervals(shifts.squares, own.codes, len(part.names), random)
        with np.errstate(invalid="ignore"):
            spread = Intervals(*(np.sqrt(ends) for ends in (squares.value, np.maximum(squares.low, 0.0), squares.high)))
        bad = _findings(own, shifts, spread, sample.words)
        findings += shortened(bad, MOST_NAMED, "groups") if bad else [_healthy(own, shifts)]
        found = {
            entry: {
                "shift": shifts.value[code],
                "shift_interval": shifts.of(code),
                "effective_rows": shifts.effective[code],
                "spread": spread.value[code],
                "spread_interval": spread.of(code),
                "regime": _regime(spread, code),
            }
            for code, entry in enumerate(part.names)
        }
        measures[name] = jsonable(found)  # None where a shift or a spread cannot be told
        figures.append(_figure(own, shifts))
    if not figures:
        raise InputError("at least two groups among the training rows", "one", "give a column that divides them")
    return Checked(without_implied(findings), measures, figures[:3])


@dataclass(frozen=True)
class _Shifts(Intervals):
    """D per group with its interval, the rows behind it, and every row's squared length in S^-1."""

    effective: FloatArray
    squares: FloatArray


def _shifts(points: FloatArray, classes: IntArray, part: Partition) -> _Shifts:
    """From the sums of every cell (class, group) alone; the furthest group is set aside and the rest measured again."""
    rows, d = points.shape
    parts, K = len(part.names), int(classes.max()) + 1
    cell = classes * parts + part.codes
    counts = np.bincount(cell, minlength=K * parts).astype(np.float64)
    sums = np.stack([np.bincount(cell, weights=column, minlength=K * parts) for column in points.T], axis=1)
    inner = points - (sums / np.maximum(counts, 1)[:, None])[cell]
    used = int(np.count_nonzero(counts))
    covariance = inner.T @ inner / max(rows - used, 1)
    covariance += 1e-9 * max(float(np.trace(covariance)) / d, 1e-300) * np.eye(d)
    root = np.linalg.cholesky(covariance)
    # A mean of n rows has taken 1/n of their variance with it.
    shrink = 1 - 1 / np.maximum(counts[cell], 2)
    squares = np.square(np.linalg.solve(root, inner.T)).sum(axis=0) / (d * shrink)
    unknown = np.full(parts, np.nan)
    found = _Shifts(unknown, unknown.copy(), unknown.copy(), np.zeros(parts), squares)
    totals, white = counts.reshape(K, parts), np.linalg.solve(root, sums.T).T.reshape(K, parts, d)
    active = np.flatnonzero(totals.sum(axis=0) > 0)
    while active.size > 1:
        measured = _against_rest(totals[:, active], white[:, active], parts)
        value, low = measured[:2]
        for kept, values in zip((found.value, found.low, found.high, found.effective), measured, strict=True):
            kept[active] = values
        far = np.flatnonzero(low > RISKY_SHIFT)
        if not far.size:
            break
        if active.size == 2:  # each is as far from the other: the smaller one is called, the larger is the reference
            larger = active[int(np.argmax(totals[:, active].sum(axis=0)))]
            found.value[larger] = found.low[larger] = 0.0
            break
        active = np.delete(active, far[int(np.argmax(value[far]))])
    return found


def _against_rest(
    counts: FloatArray, sums: FloatArray, tests: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """(D, low, high, n_eff) of every group against the others; counts K x L, sums of white rows K x L x d."""
    in_class = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    share = counts / in_class
    effective = (counts * (1 - share)).sum(axis=0)
    moved = (sums - share[:, :, None] * sums.sum(axis=1, keepdims=True)).sum(axis=0)
    d = sums.shape[2]
    value, low, high = (np.full(counts.shape[1], np.nan) for _ in range(3))
    for group in np.flatnonzero(effective >= LEAST_EFFECTIVE):
        n = float(effective[group])
        statistic = float(moved[group] @ moved[group]) / n
        value[group] = np.sqrt(max(statistic - d, 0.0) / n)
        ends = _noncentralities(statistic, d, ALPHA / (2 * tests))
        low[group], high[group] = np.sqrt(ends[0] / n), np.sqrt(ends[1] / n)
    return value, low, high, effective


def _noncentralities(statistic: float, d: int, tail: float) -> tuple[float, float]:
    """The two noncentralities at which the statistic is a tail event from above and from below.

    Sankaran (1959): sqrt(X - (d-1)/2) is nearly normal with mean sqrt(nc + (d-1)/2) and variance 1.
    """
    from scipy.stats import norm

    z, half = float(norm.isf(tail)), (d - 1) / 2
    root = np.sqrt(max(statistic - half, 0.0))
    return max(max(root - z, 0.0) ** 2 - half, 0.0), max((root + z) ** 2 - half, 0.0)


def _findings(part: Partition, shifts: _Shifts, spread: Intervals, sample: str) -> list[Finding]:
    found = []
    for code in np.argsort(-np.nan_to_num(shifts.low, nan=-1.0), kind="stable"):
        subject = group_subject(part, int(code))
        if shifts.low[code] > RISKY_SHIFT:
            words = f"{opening(subject)} lies {shifts.value[code]:.2f} standard deviations from the other examples of "
            words += f"the same classes ({sample})."
            remedy = "Train with group weights, check how this group was recorded, or centre features group by group."
            level = Level.beyond(shifts.low[code], FAILING_SHIFT)
            found.append(Finding(level, subject, *shifts.at(code), words, remedy))
        elif _regime(spread, code) in ("small", "large") and shifts.effective[code] >= LEAST_EFFECTIVE:
            words = f"{opening(subject)} spreads {spread.value[code]:.2f} times as far as the average group ({sample})."
            remedy = "Augment this group with noise (small spread) or scale its features (large spread)."
            found.append(Finding(Level.AT_RISK, subject, *spread.at(code), words, remedy))
    return found


def _healthy(part: Partition, shifts: _Shifts) -> Finding:
    known = np.isfinite(shifts.value)
    what = f"{part.name}: {all_of(len(part.names), 'groups')}"
    if not known.any():
        words = (
            f"Groups of {part.name} coincide with classes, so shifts between groups cannot be separated from classes."
        )
        return Finding(Level.HEALTHY, what, None, None, words)
    far = int(np.argmax(np.where(known, shifts.value, -1)))
    words = f"No group of {part.name} is clearly shifted; the largest shift is that of {part.names[far]} "
    words += f"({shifts.value[far]:.2f} standard deviations)."
    return Finding(Level.HEALTHY, what, *shifts.at(far), words)


def _regime(spread: Intervals, code: int) -> str:
    if spread.low[code] > LARGE_SPREAD:
        return "large"
    return "small" if spread.high[code] < SMALL_SPREAD else "medium"


def _figure(part: Partition, shifts: _Shifts) -> Figure:
    order = np.argsort(-np.nan_to_num(shifts.value, nan=-1.0))[:100]
    order = order[np.isfinite(shifts.value[order])]
    points = interval_points([float(place) for place in range(len(order))], shifts, order, "shift", part.names)
    title = f"Shift of every group of {part.name}"
    marks = [Mark(RISKY_SHIFT, "at risk", "y"), Mark(FAILING_SHIFT, "failing", "y")]
    few = [part.names[code] for code in order] if order.size <= MOST_TICKS else None
    panel = Panel(title, "the furthest on the left", "standard deviations", [points], marks, x_names=few)
    return Figure(title, [panel], "From the other examples of the same classes.")


CHECK = Check(
    "group_shift",
    "Do the features of a group differ from those of the others?",
    f"At risk when the lower end of the shift is above {RISKY_SHIFT:g} standard deviations, failing above "
    f"{FAILING_SHIFT:g}; at risk when the whole interval of the spread lies below {SMALL_SPREAD:g} or above "
    f"{LARGE_SPREAD:g}. Intervals hold for all groups of a column at once.",
    "Li et al. 2024 (group imbalance), Theorem 1 and Section 3: group-level mean and covariance",
    frozenset({"groups", "features"}),
    run,
)
