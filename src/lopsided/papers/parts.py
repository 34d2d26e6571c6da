"""The result of a rule: for each stated part of a claim, and for the claim as a whole.

A part holds, fails, is contradicted (the opposite was measured beyond its error bars) or is unresolved: at this scale
the rule could not have detected the effect that the paper claims. `Power` says which effect it can detect, from the
spread over the measured seeds.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from lopsided.core.statistics import SeedMean, Uncertain
from lopsided.engine.task import Numbers

SHARE = 0.5  # of the parts that must hold for `partly`, where a rule names no other


class Outcome(Enum):
    """What a rule can say."""

    HOLDS = "holds"
    PARTLY = "partly"
    FAILS = "fails"
    CONTRADICTED = "contradicted"
    UNRESOLVED = "unresolved"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Power:
    """The smallest effect that the rule detects with a chance of 0.8, and the effect that the paper claims (None if it
    names no size), in the same unit."""

    detects: float
    claimed: float | None = None

    @property
    def short(self) -> bool:
        """The claimed effect is too small to be detected reliably."""
        return self.claimed is not None and not self.detects <= abs(self.claimed)


@dataclass(frozen=True)
class Part:
    """One stated part of a claim: whether its rule passes, whether the opposite was measured beyond error bars, and
    what it could have detected; `measured` is the size of the effect that was seen, in the unit of the power."""

    name: str
    passes: bool
    opposite: bool = False
    power: Power | None = None
    measured: float | None = None

    @property
    def outcome(self) -> Outcome:
        """A part that is short of power is unresolved, unless what was measured is itself large enough to be seen
        reliably, or is the opposite beyond its error bars."""
        if self.opposite:
            return Outcome.CONTRADICTED
        if self.power is not None and self.power.short:
            clear = self.passes and self.measured is not None and abs(self.measured) >= self.power.detects
            return Outcome.HOLDS if clear else Outcome.UNRESOLVED
        return Outcome.HOLDS if self.passes else Outcome.FAILS

    @classmethod
    def below(cls, name: str, value: SeedMean, limit: float = 0.0, *, claimed: float | None = None) -> "Part":
        """The interval of a mean over seeds lies below the limit; above it, the opposite was measured. `claimed` is how
        far below the limit the paper puts it."""
        return cls._beyond(name, limit - value.mean, value.high < limit, value.low > limit, value, claimed)

    @classmethod
    def above(cls, name: str, value: SeedMean, limit: float = 0.0, *, claimed: float | None = None) -> "Part":
        """The interval of a mean over seeds lies above the limit; below it, the opposite was measured. `claimed` is how
        far above the limit the paper puts it."""
        return cls._beyond(name, value.mean - limit, value.low > limit, value.high < limit, value, claimed)

    @classmethod
    def near(cls, name: str, value: SeedMean, target: float, margin: float) -> "Part":
        """The interval of a mean over seeds lies within the margin; outside it, the opposite was measured. A rule that
        could not detect a deviation as large as the margin leaves the part unresolved."""
        return cls(name, value.within(target, margin), value.outside(target, margin), Power(value.detects, margin))

    @classmethod
    def effect(cls, name: str, measured: Uncertain | SeedMean, claimed: float) -> "Part":
        """An effect with its standard error against no effect: `claimed` is the paper's, with its sign."""
        value = measured if isinstance(measured, SeedMean) else measured.interval()
        return (cls.above if claimed > 0 else cls.below)(name, value, claimed=abs(claimed))

    @classmethod
    def _beyond(
        cls, name: str, size: float, passes: bool, opposite: bool, value: SeedMean, claimed: float | None
    ) -> "Part":
        return cls(name, passes, opposite, Power(value.detects, claimed), size)


@dataclass(frozen=True)
class Verdict:
    """The rule's answer: outcome, what was found in a sentence, the numbers behind it with their spread over seeds, and
    the parts it was put together from."""

    outcome: Outcome
    found: str
    numbers: Numbers
    parts: Sequence[Part] = ()

    @property
    def weakest(self) -> Part | None:
        """The part whose power falls furthest short of what the paper claims."""
        known = [part for part in self.parts if part.power is not None and part.power.claimed]
        return max(known, key=lambda part: part.power.detects / abs(part.power.claimed), default=None)  # type: ignore[union-attr, arg-type]


def decided(
    passed: Collection[bool], *, contradicted: bool = False, opposite: bool = False, share: float = SHARE
) -> Outcome:
    """All pass: holds. At least the `share`: partly. Fewer: fails, or contradicted where the `opposite` was measured.
    `contradicted` outweighs what passes; nothing to pass fails."""
    if contradicted or (opposite and not any(passed)):
        return Outcome.CONTRADICTED
    if not any(passed) or sum(passed) < share * len(passed):
        return Outcome.FAILS
    return Outcome.HOLDS if all(passed) else Outcome.PARTLY


def together(parts: Sequence[Part], share: float = SHARE) -> Outcome:
    """All parts hold: holds. None fails but some are unresolved: unresolved. At least the `share` holds: partly. Else
    contradicted if the opposite was measured of half of them, unresolved if the unresolved parts could make up the
    share, else fails."""
    outcomes = [part.outcome for part in parts]
    held, open_ = outcomes.count(Outcome.HOLDS), outcomes.count(Outcome.UNRESOLVED)
    opposed = outcomes.count(Outcome.CONTRADICTED)
    needed = max(share * len(outcomes), 1)
    if not outcomes:
        return Outcome.FAILS
    if held + open_ == len(outcomes):
        return Outcome.UNRESOLVED if open_ else Outcome.HOLDS
    if held >= needed:
        return Outcome.PARTLY
    if opposed >= len(outcomes) / 2:
        return Outcome.CONTRADICTED
    return Outcome.UNRESOLVED if open_ and held + open_ >= needed else Outcome.FAILS


def weigh(parts: Sequence[Part], found: str, numbers: Numbers, *, share: float = SHARE) -> Verdict:
    """The verdict of the parts `together`; the sentence names those that do not hold."""
    sentence = found.rstrip(".") + "."
    outcome = together(parts, share)
    by_outcome = {kind: [part.name for part in parts if part.outcome is kind] for kind in Outcome}
    if outcome is not Outcome.HOLDS and len(parts) > 1:
        words = {
            Outcome.HOLDS: "Holds",
            Outcome.FAILS: "Fails",
            Outcome.CONTRADICTED: "The opposite was measured for",
            Outcome.UNRESOLVED: "Too few seeds to decide",
        }
        sentence += "".join(
            f" {word}: {'; '.join(by_outcome[kind])}." for kind, word in words.items() if by_outcome[kind]
        )
    passed = by_outcome[Outcome.HOLDS]
    missed = [part.name for part in parts if part.outcome is not Outcome.HOLDS]
    return Verdict(outcome, sentence, {**numbers, "passed": passed, "missed": missed}, tuple(parts))
