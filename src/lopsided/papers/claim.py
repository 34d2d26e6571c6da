"""A claim of a paper as something that runs: settings in, numbers out, and a rule that turns numbers into a verdict.

One file per claim in the folder of its paper, named by its id with underscores (`lp_etf.py` for `lp-etf`); it defines
`CLAIM`. The rule knows its error bars and gives the verdict, which is never typed in by hand. A rule should be written
before the first run; where rule, settings or sizes were changed after numbers had been seen, `revised` says how.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from lopsided.core.figure import Figure
from lopsided.core.statistics import SeedMean
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.catalogue import Source as Source
from lopsided.papers.catalogue import catalogue

Scale = Literal["quick", "paper"]


class Outcome(Enum):
    """What a rule can say."""

    HOLDS = "holds"
    PARTLY = "partly"
    FAILS = "fails"
    CONTRADICTED = "contradicted"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Verdict:
    """The rule's answer: outcome, what was found in a sentence, the numbers behind it with their spread over seeds."""

    outcome: Outcome
    found: str
    numbers: Numbers


@dataclass(frozen=True)
class Runs:
    """What one scale runs: a list of JSON-able settings, each under every seed."""

    settings: Sequence[Settings]
    seeds: Sequence[int] = (0,)


@dataclass(frozen=True)
class Claim:
    """An executable claim.

    `statement`, `source` and `paper_says` of the papers' claims stand in `register.csv`; your own states them here.

    `quick` and `paper` are what the two scales run; `measure(settings, seed)` is one independent task of them and
    returns JSON-able numbers; `judge(rows)` applies the rule; `plot(rows)` says what to draw. Settings and numbers pass
    through JSON, in a fresh run as in a stored one: tuples come back as lists, and a NaN or an infinity as None.

    `readings` names the ways the text can be read; a setting names its reading under the key "reading". `needs` names
    data sets (folders inside LOPSIDED_DATA), `paper_needs` those that only the paper scale reads, and `packages`
    optional packages (each also the extra that installs it), without which the claim is `not run`, with the reason.
    Raise `version` when a change of code changes numbers: stored results of older versions are then not reused. `smoke`
    is what the tests run where the quick scale takes longer than they may: the same measurements, fewer and smaller,
    with no verdict worth having.
    """

    id: str
    rule: str
    quick: Runs
    measure: Callable[[Settings, int], Numbers]
    judge: Callable[[Sequence[Row]], Verdict]
    plot: Callable[[Sequence[Row]], Figure]
    paper: Runs | None = None
    statement: str = ""
    source: Source = field(default_factory=lambda: Source("", ""))
    paper_says: str = ""
    readings: Mapping[str, str] = field(default_factory=dict)
    needs: Sequence[str] = ()
    paper_needs: Sequence[str] = ()
    packages: Sequence[str] = ()
    smoke: Runs | None = None
    quick_budget_seconds: float = 15.0
    version: int = 1
    revised: str = ""

    @property
    def plans(self) -> dict[Scale, Runs]:
        """What each scale runs."""
        return {"quick": self.quick, **({} if self.paper is None else {"paper": self.paper})}

    def __post_init__(self) -> None:
        entry = catalogue().get(self.id)
        for name in ("statement", "source", "paper_says") if entry is not None and not self.statement else ():
            object.__setattr__(self, name, getattr(entry, name))


@dataclass(frozen=True)
class Part:
    """One stated part of a claim: whether its rule passes, and whether the opposite was measured beyond error bars."""

    name: str
    passes: bool
    opposite: bool = False

    @classmethod
    def below(cls, name: str, value: SeedMean, limit: float = 0.0) -> "Part":
        """The interval of a mean over seeds lies below the limit; above it, the opposite was measured."""
        return cls(name, value.high < limit, value.low > limit)

    @classmethod
    def above(cls, name: str, value: SeedMean, limit: float = 0.0) -> "Part":
        """The interval of a mean over seeds lies above the limit; below it, the opposite was measured."""
        return cls(name, value.low > limit, value.high < limit)

    @classmethod
    def near(cls, name: str, value: SeedMean, target: float, margin: float) -> "Part":
        """The interval of a mean over seeds lies within the margin; outside it, the opposite was measured."""
        return cls(name, value.within(target, margin), value.outside(target, margin))


def decided(passed: Collection[bool], *, contradicted: bool = False, opposite: bool = False) -> Outcome:
    """All pass: holds. Some: partly. None: fails, or contradicted where the `opposite` was measured. `contradicted`
    outweighs what passes; nothing to pass fails."""
    if contradicted or (opposite and not any(passed)):
        return Outcome.CONTRADICTED
    if not any(passed):
        return Outcome.FAILS
    return Outcome.HOLDS if all(passed) else Outcome.PARTLY


def weigh(parts: Sequence[Part], found: str, numbers: Numbers) -> Verdict:
    """All parts pass: holds. Some: partly. None: contradicted if every part's opposite was measured, else fails."""
    passed = [part.name for part in parts if part.passes]
    missed = [part.name for part in parts if not part.passes]
    opposite = all(part.opposite for part in parts)
    outcome = decided([part.passes for part in parts], opposite=opposite) if missed else Outcome.HOLDS
    opposed = [part.name for part in parts if part.opposite]
    sentence = found.rstrip(".") + "."
    if outcome is Outcome.PARTLY:
        sentence += f" Passes: {'; '.join(passed)}. Does not: {'; '.join(missed)}."
    if opposed:
        sentence += f" The opposite was measured for: {'; '.join(opposed)}."
    return Verdict(outcome, sentence, {**numbers, "passed": passed, "missed": missed})
