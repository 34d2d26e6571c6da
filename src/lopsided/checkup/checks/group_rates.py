"""Do groups with the same true class get the same predictions? True positive, false positive and selection rates.

For class k and group g, with y the label and p the prediction:

    true positive rate  P(p = k | y = k, g),   false positive rate  P(p = k | y != k, g),   selection rate  P(p = k | g)

The equalised odds difference of a class is the larger of the gaps between its highest and lowest true and false
positive rate over groups (Hardt et al. 2016), the demographic parity difference that of its selection rates, both as
fairlearn names and defines them. Accuracy shows neither: false positives in one group and false negatives in another
can lead to the same accuracy. A selection gap also follows from unequal base rates, so it is at most "at risk". With
two classes, only the rarer is reported (the other's rates are one minus these). A rate of fewer than `SMALL_CELL`
examples is not compared, and its group is named.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.intervals import Intervals, rate_intervals
from lopsided.checkup.checks.parts import FAILING_GAP, RISKY_GAP, class_subject, own_key, rates_by_name
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.partitions import SMALL_CELL
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition, tally
from lopsided.core.validation import IntArray
from lopsided.data.columns import some_of

MOST_NAMED = 5
ODDS = ("true_positive_rate", "false_positive_rate")
SELECTION = "selection_rate"
_WORDS = {
    "true_positive_rate": "of {group}'s examples of {subject}",
    "false_positive_rate": "of {group}'s examples of other classes",
    SELECTION: "of all examples of {group}",
}

_REMEDIES = {
    "equalised odds": "Tune thresholds or weights for the worst group (lopsided trial --metric worst-group), or "
    "collect more.",
    "demographic parity": "Check whether the base rates differ as much; if they do, equalised odds is the better "
    "criterion.",
}


@dataclass(frozen=True)
class _Gap:
    """The groups with the highest and the lowest rate of a class, and how far they are apart."""

    rate: str
    high: int
    low: int
    value: float
    interval: tuple[float, float]
    rates: Intervals


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Every column of groups and every intersection, class by class."""
    classes, predictions, rows = evidence.labelled, evidence.predictions, evidence.judged
    assert predictions is not None
    findings: list[Finding] = []
    measures: dict[str, Any] = {"judged": evidence.judged_words}
    for name, part in evidence.groups.items():
        about = (classes.codes[rows], predictions[rows], part.codes[rows], len(classes.names), len(part.names))
        counts = _counts(*about, None if evidence.times is None else evidence.times[rows])
        asked = _asked(counts["true_positive_rate"][1].sum(axis=0))
        own: list[Finding] = []
        facts_by_class: dict[str, Any] = {}
        for code in asked:
            gaps, facts = _gaps(counts, part, code, len(asked))
            facts_by_class[classes.names[code]] = facts
            own += _findings(gaps, part, class_subject(classes, code), facts["too_small"], evidence.judged_words)
        measures[own_key(measures, name)] = facts_by_class
        bad = [finding for finding in own if finding.level is not Level.HEALTHY]
        best = max(own, key=lambda finding: finding.value or 0.0, default=None)
        bad.sort(key=lambda finding: (-finding.level.rank, -(finding.value or 0.0)))
        findings += shortened(bad, MOST_NAMED, "gaps between groups") or ([best] if best is not None else [])
    if not findings:
        got = ", ".join(f"none in {name}" for name in evidence.groups)
        raise InputError(f"two groups with {SMALL_CELL} judged examples of one kind", got, "give coarser groups")
    return Checked(findings, measures)


def _counts(
    labels: IntArray, predictions: IntArray, groups: IntArray, classes: int, parts: int, times: IntArray | None = None
) -> dict[str, tuple[IntArray, IntArray]]:
    """(successes, totals) of every rate, groups x classes."""

    def table(codes: IntArray, chosen: Any) -> IntArray:
        cells = groups[chosen] * classes + codes[chosen]
        return tally(cells, parts * classes, None if times is None else times[chosen]).reshape(parts, classes)

    known = predictions >= 0  # a class that no label has is never right
    true, selected, hit = table(labels, slice(None)), table(predictions, known), table(labels, predictions == labels)
    sizes = true.sum(axis=1, keepdims=True)
    everyone = np.broadcast_to(sizes, true.shape)
    return {
        "true_positive_rate": (hit, true),
        "false_positive_rate": (selected - hit, everyone - true),
        SELECTION: (selected, everyone),
    }


def _asked(sizes: IntArray) -> list[int]:
    """The classes that occur; of two the rarer one."""
    present = [int(code) for code in np.argsort(sizes, kind="stable") if sizes[code]]
    return present[:1] if len(present) == 2 else sorted(present)


def _gaps(counts: Any, part: Partition, code: int, asked: int) -> tuple[list[_Gap], dict[str, Any]]:
    """The gap of every rate of a class, and everything measured about it."""
    pairs = len(part.names) * (len(part.names) - 1) // 2
    gaps: list[_Gap] = []
    by_group: dict[str, dict[str, Any]] = {group: {} for group in part.names}
    too_small: list[str] = []
    for rate, (successes, totals) in counts.items():
        # Newcombe's intervals of the difference, for every pair of groups, every class and both odds at once
        rates = rate_intervals(successes[:, code], totals[:, code], tests=2 * max(pairs, 1) * asked * len(ODDS))
        for group, found in rates_by_name(part.names, rates, totals[:, code]).items():
            by_group[group][rate] = found
        large = np.flatnonzero(totals[:, code] >= SMALL_CELL)
        few = np.flatnonzero((totals[:, code] < SMALL_CELL) & (counts[SELECTION][1][:, code] > 0))
        too_small += [f"{part.names[group]} ({rate.replace('_', ' ')})" for group in few]
        if large.size < 2:
            continue
        high, low = int(large[rates.highest(large)]), int(large[rates.lowest(large)])
        value = float(rates.value[high] - rates.value[low])
        below = np.hypot(rates.value[high] - rates.low[high], rates.high[low] - rates.value[low])
        above = np.hypot(rates.high[high] - rates.value[high], rates.value[low] - rates.low[low])
        ends = (max(value - float(below), -1.0), min(value + float(above), 1.0))
        gaps.append(_Gap(rate, high, low, value, ends, rates))
    by_rate = {gap.rate: gap.value for gap in gaps}
    return gaps, {
        "equalized_odds_difference": max((by_rate[rate] for rate in ODDS if rate in by_rate), default=None),
        "demographic_parity_difference": by_rate.get(SELECTION),
        "groups": by_group,
        "too_small": too_small,
    }


def _findings(gaps: list[_Gap], part: Partition, subject: str, small: list[str], rows: str) -> list[Finding]:
    """Equalised odds, then demographic parity, of one class."""
    left = f" Too few examples to compare: {some_of(small)}." if small else ""
    found = []
    odds = max((gap for gap in gaps if gap.rate in ODDS), key=lambda gap: gap.value, default=None)
    parity = next((gap for gap in gaps if gap.rate == SELECTION), None)
    for gap, what in ((odds, "equalised odds"), (parity, "demographic parity")):
        if gap is None:
            continue
        whose = [_WORDS[gap.rate].format(subject=subject, group=part.names[group]) for group in (gap.high, gap.low)]
        low, high = gap.interval
        words = f"{gap.rates.value[gap.high]:.1%} {whose[0]} are predicted {subject.removeprefix('class ')} {rows}, "
        words += f"{gap.rates.value[gap.low]:.1%} {whose[1]}: a gap in {what} of {100 * gap.value:.1f} points "
        words += f"[{100 * low:.1f}, {100 * high:.1f}].{left}"
        level, remedy = Level.HEALTHY, "Nothing to do."
        if low > RISKY_GAP:
            level = Level.beyond(low, FAILING_GAP) if gap is odds else Level.AT_RISK
            remedy = _REMEDIES[what]
        found.append(Finding(level, f"{part.name}: {what} of {subject}", gap.value, gap.interval, words, remedy))
    return found


CHECK = Check(
    "group_rates",
    "Do groups with the same true label get the same predictions?",
    f"Of every class the largest gap between two groups in true or false positive rate (equalised odds): at risk when "
    f"even its lower end is above {RISKY_GAP:g}, failing above {FAILING_GAP:g}; in selection rate (demographic "
    f"parity): at risk likewise. Jeffreys and Newcombe intervals for all pairs of groups, classes and rates at once; "
    f"rates of fewer than {SMALL_CELL} examples are not compared.",
    "Hardt et al. 2016 (equalised odds); fairlearn's equalized_odds_difference and demographic_parity_difference",
    frozenset({"labels", "groups", "predictions"}),
    run,
    exact=True,
)
