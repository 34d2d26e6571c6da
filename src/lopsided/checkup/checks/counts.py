"""How many examples does every class and group have, compared with the largest?

    ratio_k = max_j n_j / n_k

The Layer-Peeled Model's own examples say where a ratio begins to matter: with five large and five small classes the
small ones collapse beyond R0 = 12.2 at feature energy 5 and beyond 81.1 at 10 (Fang et al. 2021, Fig 3). What a given
network needs depends on its weight decay; see `collapse_forecast`.
"""

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.parts import all_of, class_subject, counted, group_subject, opening, without_implied
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.figure import Bars, Figure, Panel
from lopsided.core.partition import Partition
from lopsided.core.validation import IntArray

RISKY_RATIO, FAILING_RATIO = 10.0, 100.0
FEWEST = 5
MOST_NAMED = 8


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Counts of the training rows per class, and per group where there are groups."""
    classes = evidence.labelled
    training = evidence.training
    counts = classes.counts_where(training)
    findings = _findings(classes, counts, "classes")
    figures = [_figure(classes, counts, "Examples per class")]
    measures: dict[str, object] = {
        "examples": evidence.total(training),
        "classes": {name: int(count) for name, count in zip(classes.names, counts, strict=True)},
        "ratio": _ratio(counts),
    }
    groups = {}
    for name, part in evidence.groups.items():
        own = part.counts_where(training)
        groups[name] = {entry: int(count) for entry, count in zip(part.names, own, strict=True)}
        findings += _findings(part, own, "groups")
        if len(part.names) > 1:
            figures.append(_figure(part, own, f"Examples per group of {name}"))
    if groups:
        measures["groups"] = groups
    return Checked(without_implied(findings), measures, figures[:4])


def _ratio(counts: IntArray) -> float | None:
    return float(counts.max() / counts.min()) if counts.min() > 0 else None


def _findings(part: Partition, counts: IntArray, unit: str) -> list[Finding]:
    largest, total = int(counts.max()), int(counts.sum())
    subject = class_subject if unit == "classes" else group_subject
    found = []
    if unit == "classes" and np.count_nonzero(counts) == 1:
        only = int(counts.argmax())
        words = f"All {total:,} training examples are of class {part.names[only]}: there is nothing to distinguish."
        remedy = "Check the labels, or give examples of another class."
        found.append(Finding(Level.FAILING, class_subject(part, only), float(total), None, words, remedy))
    for code in np.argsort(counts, kind="stable"):
        count = int(counts[code])
        ratio = largest / max(count, 1)
        if ratio < RISKY_RATIO and count >= FEWEST:
            break
        level = Level.FAILING if ratio >= FAILING_RATIO or count < FEWEST else Level.AT_RISK
        what = f"{count:,} of {total:,} training examples"
        what += f", {ratio:,.0f} times fewer than the largest" if ratio >= 1.5 else ""
        remedy = "Collect more, or oversample or reweight it"
        remedy += f"; about {largest // 10:,} would bring the ratio to 10." if largest // 10 > count else "."
        if count == 0:
            what = f"no training example (the largest has {largest:,}): no model can learn it"
            remedy = "Add some of its examples to the training rows, or collect some."
        who, size = subject(part, int(code)), float(count)
        found.append(Finding(level, who, size, (size, size), f"{opening(who)} has {what}.", remedy))
    if found:
        return shortened(found, MOST_NAMED, unit)
    everything = all_of(len(part.names), unit)
    what = everything if unit == "classes" else f"{part.name}: {everything}"
    column = "" if unit == "classes" else f" of {part.name}"
    if len(part.names) == 1:
        words = f"{part.names[0]}, {everything}{column}, has {largest:,} training examples."
    else:
        words = f"The largest of the {counted(len(part.names), unit)}{column} has {largest:,} training examples, "
        words += f"the smallest {int(counts.min()):,}."
    return [Finding(Level.HEALTHY, what, _ratio(counts), None, words)]


def _figure(part: Partition, counts: IntArray, title: str) -> Figure:
    order = np.argsort(-counts, kind="stable")[:100]
    left = len(counts) - len(order)
    bars = Bars([part.names[code] for code in order], counts[order].astype(float).tolist(), "training examples")
    log = bool(counts.max() > 50 * max(counts.min(), 1))
    words = "training examples" + (", logarithmic" if log else "")
    # bars of a logarithmic axis have no foot; one below a single example lets every count be seen
    panel = Panel(title, part.name, words, [bars], y_log=log, y_range=(0.5, 1.5 * float(counts.max())) if log else None)
    smallest = "smallest of them" if counts.min() < counts[order].min() else "others, none larger,"
    return Figure(title, [panel], f"The {left} {smallest} are not drawn." if left else "")


CHECK = Check(
    "counts",
    "Are some classes or groups much smaller than others?",
    f"At risk when {RISKY_RATIO:g} times smaller than the largest, failing when {FAILING_RATIO:g} times or fewer than "
    f"{FEWEST} examples. Counts are exact, so the interval is a point.",
    "Fang et al. 2021 (Layer-Peeled Model), Fig 3: thresholds R0 = 12.2 and 81.1",
    frozenset({"labels"}),
    run,
    exact=True,
)
