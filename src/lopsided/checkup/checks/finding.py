"""What an audit says: findings with a level, a subject, a value with its interval, a sentence, its ground and a remedy.

A check is one file of `checkup/checks/` that defines `CHECK`; what it needs and is not given makes it skipped, with the
reason and what to provide. Below the types: how findings name their subjects, and findings from rates per part, where a
part is called when even the near end of its gap to the rest is large.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal

import numpy as np

from lopsided.checkup.checks.intervals import Intervals, gaps_to_rest, rate_intervals
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.partitions import CROSS
from lopsided.core.figure import Figure, Mark, Panel, Points
from lopsided.core.partition import Partition
from lopsided.core.published_skill import skill_sentence
from lopsided.core.validation import IntArray

RISKY_GAP, FAILING_GAP = 0.05, 0.15
MOST_NAMES, LONGEST_NAME = 30, 24  # under a figure; with more, or longer ones, it would be names alone
RULE = (
    "At risk when even the lower end of the gap (accuracy of all other rows minus that of the part) is above "
    f"{RISKY_GAP:g}, failing above {FAILING_GAP:g}. Jeffreys intervals at the level 1 - 0.05/m for m parts, so they "
    "hold for all at once."
)


class Level(Enum):
    """How bad it is; later is worse."""

    HEALTHY = "healthy"
    AT_RISK = "at risk"
    FAILING = "failing"

    @property
    def rank(self) -> int:
        """0, 1, 2: to sort by and to compare with --fail-on."""
        return list(Level).index(self)


@dataclass(frozen=True)
class Finding:
    """One statement about one subject. `examples` are positions in the data, for findings about single examples."""

    id: str = field(default="", kw_only=True)  # this, the ground and the skill are the check's: `Check.ask` sets them
    level: Level
    subject: str
    value: float | None
    interval: tuple[float, float] | None
    message: str
    remedy: str = "Nothing to do."
    ground: str = field(default="", kw_only=True)
    about: Literal["dataset", "example"] = "dataset"
    examples: Sequence[int] = ()
    skill: str = field(default="", kw_only=True)  # how often forecasts of this kind came true, where it was measured


@dataclass(frozen=True)
class Skipped:
    """A check that did not run: why, and what to provide."""

    check: str
    why: str


@dataclass(frozen=True)
class Checked:
    """What a check gives back: findings, its measures by name (plain values), and what to draw."""

    findings: Sequence[Finding]
    measures: Mapping[str, Any] = field(default_factory=dict)
    figures: Sequence[Figure] = ()


@dataclass(frozen=True)
class Check:
    """One question asked of the evidence, and the rule that sets the level of its findings.

    `ground` is the paper and equation, or the method, that the rule rests on. `needs` are names of `Evidence.has`;
    `run` may decline by InputError. `forecast` names the kind of forecast that its findings make, as
    `core.published_skill` lists them; empty where they measure.
    """

    id: str
    question: str
    rule: str
    ground: str
    needs: frozenset[str]
    run: Callable[[Evidence, np.random.Generator], Checked]
    forecast: str = ""

    def ask(self, evidence: Evidence, random: np.random.Generator) -> Checked:
        """What `run` finds, under the name, the ground and the measured skill of the check."""
        found = self.run(evidence, random)
        told = skill_sentence(self.forecast) if self.forecast else ""
        own = [replace(finding, id=self.id, ground=self.ground, skill=told) for finding in found.findings]
        return replace(found, findings=own)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Failing first; within a level in the order given."""
    return sorted(findings, key=lambda finding: -finding.level.rank)


def named(subjects: Sequence[str], most: int = 6) -> str:
    """A few names, and how many more."""
    rest = f" and {len(subjects) - most} more" if len(subjects) > most else ""
    return ", ".join(subjects[:most]) + rest


def shortened(findings: Sequence[Finding], most: int, unit: str) -> list[Finding]:
    """At most `most` findings of each bad level by name; the rest of that level in one that lists its subjects.

    A hundred classes must not bury the other findings.
    """
    kept: list[Finding] = []
    for level in (Level.FAILING, Level.AT_RISK):
        own = [finding for finding in findings if finding.level is level]
        kept += own[:most]
        left = own[most:]
        if left:
            names = named([finding.subject for finding in left], 8)
            words = f"The same holds for {len(left)} more {unit}: {names}."
            subject = f"{len(left)} more {unit}"
            kept.append(Finding(level, subject, float(len(left)), None, words, left[0].remedy, left[0].about))
    return kept + [finding for finding in findings if finding.level is Level.HEALTHY]


def class_subject(classes: Partition, code: int) -> str:
    """`class cat`; a name that says so itself stays as it is."""
    name = classes.names[code]
    return name if name.startswith("class ") else f"class {name}"


def group_subject(part: Partition, code: int) -> str:
    """`sex: female`, `sex × race: female × black`."""
    return f"{part.name}: {part.names[code]}"


def counted(number: int, unit: str) -> str:
    """`1 class`, `5 classes`, `1 group`: `unit` is the plural."""
    return f"{number:,} {unit if number != 1 else {'classes': 'class', 'groups': 'group'}[unit]}"


def all_of(number: int, unit: str) -> str:
    """`all 5 classes`, `the only class`."""
    return f"all {counted(number, unit)}" if number != 1 else f"the only {counted(1, unit).removeprefix('1 ')}"


def opening(subject: str) -> str:
    """A subject at the start of a sentence; names keep the user's spelling."""
    return subject[:1].upper() + subject[1:] if subject.startswith(("class", "group")) else f"Group {subject}"


def without_implied(findings: Sequence[Finding]) -> list[Finding]:
    """Drop cells of an intersection when one of their own groups was already found as bad.

    Subjects are those of `group_subject`; columns come before their intersections.
    """
    said: dict[str, int] = {}
    kept = []
    for finding in findings:
        column, _, group = finding.subject.partition(": ")
        columns, groups = column.split(CROSS), group.split(CROSS)
        parents = [f"{one}: {name}" for one, name in zip(columns, groups, strict=False)] if len(columns) > 1 else []
        if any(said.get(parent, 0) >= finding.level.rank > 0 for parent in parents):
            continue
        said[finding.subject] = max(said.get(finding.subject, 0), finding.level.rank)
        kept.append(finding)
    return kept


def judged_words(evidence: Evidence) -> str:
    """Which rows the predictions were judged on."""
    return "on the test rows" if evidence.is_test is not None else "on all rows given"


def gap_findings(
    subjects: list[str], right: IntArray, totals: IntArray, *, rows: str, remedy: str
) -> tuple[list[Finding], Intervals]:
    """Findings of the parts that do worse than the rest, the worst first; and the accuracies."""
    accuracy, gaps = rate_intervals(right, totals), gaps_to_rest(right, totals)
    found = []
    for part in np.argsort(-np.nan_to_num(gaps.low, nan=-9.0), kind="stable"):
        if not gaps.low[part] > RISKY_GAP:
            break
        level = Level.FAILING if gaps.low[part] > FAILING_GAP else Level.AT_RISK
        rest = accuracy.value[part] + gaps.value[part]
        found.append(
            Finding(
                level,
                subjects[part],
                float(accuracy.value[part]),
                accuracy.of(int(part)),
                f"{accuracy.value[part]:.1%} of the {int(totals[part]):,} examples of {subjects[part]} are "
                f"predicted right {rows}, {rest:.1%} of all others.",
                remedy,
            )
        )
    return found, accuracy


def accuracy_figure(title: str, names: list[str], accuracy: Intervals, average: float) -> Figure:
    """Accuracies with their intervals, the worst first; at most a hundred."""
    order = np.argsort(np.nan_to_num(accuracy.value, nan=2.0), kind="stable")[:100]
    order = order[np.isfinite(accuracy.value[order])]
    named = len(order) <= MOST_NAMES
    points = Points(
        [float(place) if named else place + 1.0 for place in range(len(order))],
        accuracy.value[order].tolist(),
        "accuracy",
        accuracy.low[order].tolist(),
        accuracy.high[order].tolist(),
        [names[part] for part in order],
    )
    left = len(names) - len(order)
    # the worst are on the left and low, so the words over the line have room there
    marks = [Mark(average, f"over all rows: {average:.3f}", "y", at_start=True)]
    below = "" if named else "rank, the worst first"
    words = [names[part] if len(names[part]) <= LONGEST_NAME else names[part][:LONGEST_NAME] + "…" for part in order]
    return Figure(
        title,
        [Panel(title, below, "accuracy", [points], marks, y_range=(0.0, 1.03), x_names=words if named else None)],
        "Bars are intervals that hold for all parts at once." + (f" {left} parts are not drawn." if left else ""),
    )
