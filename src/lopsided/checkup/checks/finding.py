"""What an audit says: findings with a level, a subject, a value with its interval, a sentence, its ground and a remedy.

A check is one file of `checkup/checks/` that defines `CHECK`; what it needs and is not given makes it skipped, with the
reason and what to provide.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.figure import Figure


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

    id: str
    level: Level
    subject: str
    value: float | None
    interval: tuple[float, float] | None
    message: str
    remedy: str
    ground: str  # paper and equation it rests on
    about: Literal["dataset", "example"] = "dataset"
    examples: Sequence[int] = ()
    skill: str = ""  # how often forecasts of this kind came true, where that was measured


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
            first = left[0]
            kept.append(
                Finding(
                    first.id,
                    level,
                    f"{len(left)} more {unit}",
                    float(len(left)),
                    None,
                    f"The same holds for {len(left)} more {unit}: {names}.",
                    first.remedy,
                    first.ground,
                    first.about,
                )
            )
    return kept + [finding for finding in findings if finding.level is Level.HEALTHY]


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

    `needs` are names of `Evidence.has`; `run` may decline by InputError. `forecast` names the kind of forecast that its
    findings make, as `core.published_skill` lists them; empty where they measure.
    """

    id: str
    question: str
    rule: str
    needs: frozenset[str]
    run: Callable[[Evidence, np.random.Generator], Checked]
    forecast: str = ""
