"""A claim of a paper as something that runs: settings in, numbers out, and a rule that turns numbers into a verdict.

One file per claim in the folder of its paper, named by its id with underscores (`lp_etf.py` for `lp-etf`); it defines
`CLAIM`. The rule takes error bars into account and gives the verdict, which is never entered by hand. A rule should be
written before the first run; if rule, settings or sizes were changed after numbers had been seen, `revised` says how.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure
from lopsided.core.validation import check_count
from lopsided.engine.definitions import CodeEntry
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.catalogue import Source as Source
from lopsided.papers.catalogue import catalogue
from lopsided.papers.parts import Outcome as Outcome
from lopsided.papers.parts import Part as Part
from lopsided.papers.parts import Power as Power
from lopsided.papers.parts import Verdict as Verdict
from lopsided.papers.parts import decided as decided
from lopsided.papers.parts import weigh as weigh

Scale = Literal["quick", "paper"]
SET_SIZE = 10_000  # seed set K holds the seeds from K * SET_SIZE on, so no two sets share one

# Where a measurement starts in the file of its claim: the arguments of `Claim` that it does not need are left out, so
# that a changed rule, picture or word costs no repeat.
_WORDS = (
    "plot",
    "rule",
    "revised",
    "statement",
    "source",
    "paper_says",
    "readings",
    "readings_at_once",
    "title",
    "x_label",
    "y_label",
)
_PLANS = ("quick", "paper", "smoke", "quick_budget_seconds", "needs", "paper_needs", "packages", "alternatives")
MEASUREMENT = CodeEntry(
    "CLAIM",
    (*_WORDS, *_PLANS, "judge"),
    ("Claim",),
    ("lopsided.papers", "lopsided.worlds"),
    ("lopsided.papers.claim", "lopsided.engine.task"),
)


@dataclass(frozen=True)
class Runs:
    """What one scale runs: a list of JSON-able settings, each under every seed."""

    settings: Sequence[Settings]
    seeds: Sequence[int] = (0,)

    def of_set(self, number: int, count: int | None = None) -> "Runs":
        """The plan with the seeds of a set: 0 is the plan's own; `count` replaces the plan's number of seeds."""
        count = None if count is None else check_count(count, "the number of seeds")
        if count is not None and count > SET_SIZE:
            raise InputError(f"at most {SET_SIZE:,} seeds", f"{count:,}", "give fewer, or another seed set")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < SET_SIZE:
            raise InputError(f"a seed set from 0 to {SET_SIZE - 1:,}", repr(number), "0 is the default")
        own = list(self.seeds)
        if count is not None:
            further = (seed for seed in range(SET_SIZE) if seed not in own)
            own = [*own[:count], *(next(further) for _ in range(count - len(own)))]
        return replace(self, seeds=tuple(number * SET_SIZE + seed for seed in own))


@dataclass(frozen=True)
class Claim:
    """An executable claim.

    `statement`, `source` and `paper_says` of the papers' claims are in `register.csv`; give them here for your own
    claim.

    `quick` and `paper` are what the two scales run; `measure(settings, seed)` is one independent task of them and
    returns JSON-able numbers; `judge(rows)` applies the rule; `plot(rows)` says what to draw. Settings and numbers pass
    through JSON, in a fresh run as in a stored one: tuples come back as lists, and a NaN or an infinity as None.

    `alternatives` names, for each strongest plausible law that the paper does not claim, a function that turns
    the rows into those of that law; the tests feed them, and the rule must not say `holds`.

    `readings` names the interpretations of the text. A setting names its reading under the key "reading"; without it,
    the first applies. With `readings_at_once`, one measurement covers all. `needs` names data sets (folders inside
    LOPSIDED_DATA), `paper_needs` those that only the paper scale reads, and `packages` optional packages (each also the
    extra that installs it), without which the claim is `not run`, with the reason. Raise `version` when a change of
    code changes numbers: stored results of older versions are then not reused. `smoke` is what the tests run if the
    quick scale takes too long for them: the same measurements, fewer and smaller, without a meaningful verdict.
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
    readings_at_once: bool = False
    needs: Sequence[str] = ()
    paper_needs: Sequence[str] = ()
    packages: Sequence[str] = ()
    smoke: Runs | None = None
    quick_budget_seconds: float = 15.0
    version: int = 1
    revised: str = ""
    alternatives: Mapping[str, Callable[[Sequence[Row]], Sequence[Row]]] = field(default_factory=dict)

    @property
    def plans(self) -> dict[Scale, Runs]:
        """What each scale runs."""
        return {"quick": self.quick, **({} if self.paper is None else {"paper": self.paper})}

    def __post_init__(self) -> None:
        entry = catalogue().get(self.id)
        for name in ("statement", "source", "paper_says") if entry is not None and not self.statement else ():
            object.__setattr__(self, name, getattr(entry, name))
