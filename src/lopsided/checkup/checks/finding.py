"""Findings of an audit: a level, a subject, a value with its interval, a sentence, its source and a remedy.

A check is one file of `checkup/checks/` that defines `CHECK`; what it needs and is not given makes it skipped, with the
reason and what to provide.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal
from zlib import crc32

import numpy as np

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.errors import MOST_LETTERS, cut
from lopsided.core.figure import Figure
from lopsided.data.columns import some_of


class Level(Enum):
    """How bad it is; later is worse."""

    HEALTHY = "healthy"
    AT_RISK = "at risk"
    FAILING = "failing"

    @property
    def rank(self) -> int:
        """0, 1, 2: to sort by and to compare with --fail-on."""
        return list(Level).index(self)

    @staticmethod
    def beyond(value: float, failing: float) -> "Level":
        """Of a value that is called: failing above `failing`, at risk below."""
        return Level.FAILING if value > failing else Level.AT_RISK


@dataclass(frozen=True)
class Finding:
    """One statement about one subject. `examples` are positions in the data, for findings about single examples."""

    id: str = field(default="", kw_only=True)  # this and the ground are the check's: `Check.ask` sets them
    level: Level
    subject: str
    value: float | None
    interval: tuple[float, float] | None
    message: str
    remedy: str = "Nothing to do."
    ground: str = field(default="", kw_only=True)
    about: Literal["dataset", "example"] = "dataset"
    examples: Sequence[int] = ()
    skill: str = field(default="", kw_only=True)  # how often this very forecast came true, where it was measured

    def __post_init__(self) -> None:
        for name in ("message", "remedy"):  # they hold names from the data
            object.__setattr__(self, name, cut(getattr(self, name)))
        if len(self.subject) > MOST_LETTERS:  # a baseline tells findings apart by their subjects
            mark = f" #{crc32(self.subject.encode(errors='backslashreplace')):08x}"
            object.__setattr__(self, "subject", cut(self.subject, MOST_LETTERS - len(mark)) + mark)


@dataclass(frozen=True)
class Skipped:
    """A check that did not run, with the reason and what to provide, or that failed because of a bug in lopsided."""

    check: str
    why: str
    broken: bool = False


@dataclass(frozen=True)
class Checked:
    """What a check gives back: findings, its measures by name (plain values), and what to draw."""

    findings: Sequence[Finding]
    measures: Mapping[str, Any] = field(default_factory=dict)
    figures: Sequence[Figure] = ()


@dataclass(frozen=True)
class Check:
    """One question asked of the evidence, and the rule that sets the level of its findings.

    `ground` is the paper and equation, or the method, behind the rule. `needs` are names of `Evidence.has`; `run` may
    decline by InputError. `exact`: it uses counts and sums only, which are taken over all examples; the other checks
    see a sample of data too large for memory.
    """

    id: str
    question: str
    rule: str
    ground: str
    needs: frozenset[str]
    run: Callable[[Evidence, np.random.Generator], Checked]
    exact: bool = False

    def ask(self, evidence: Evidence, random: np.random.Generator) -> Checked:
        """What `run` finds, under the name and the ground of the check."""
        found = self.run(evidence, random)
        return replace(found, findings=[replace(one, id=self.id, ground=self.ground) for one in found.findings])


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Failing first; within a level in the order given."""
    return sorted(findings, key=lambda finding: -finding.level.rank)


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
            words = f"The same holds for {len(left)} more {unit}: {some_of([finding.subject for finding in left], 8)}."
            about = words, left[0].remedy, left[0].about
            kept.append(Finding(level, f"{len(left)} more {unit}", float(len(left)), None, *about))
    return kept + [finding for finding in findings if finding.level is Level.HEALTHY]
