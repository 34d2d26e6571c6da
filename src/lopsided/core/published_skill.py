"""What the published benchmark says about a kind of forecast, in one sentence to stand beside it.

    measured_skill("classes lost").sentence -> "Such forecasts were right in 87% of cases with small networks (..."

A forecast is looked up under the family and the recipe that make it, on the held-out half alone: that is the half no
recipe was designed on. Where nothing was published for it the answer is None and nothing is said. A score stands only
beside the call that was scored: for the multiplier and the energies that is a last layer that was measured, and for
classes lost a run within the law's range.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

PUBLISHED = "published_skill.json"
# Reliability and worst misses: too large to ship, so in the repository alone.
DETAILS = Path(__file__).resolve().parents[3] / "docs" / "measured" / "skill_details.json"
_SPLIT = "held-out"
_NETWORKS = "with small networks on pictures"
# kind of forecast -> family, recipe, what the cases are
FORECASTS: dict[str, tuple[str, str, str]] = {
    "collapse": ("skill-collapse-ratio", "constant multiplier of the pilot", _NETWORKS),
    "collapse by energies": ("skill-collapse-ratio", "measured energies of the pilot", _NETWORKS),
    "classes lost": ("skill-collapse-ratio", "network forecast", _NETWORKS),
    "more of a group": ("skill-group-mixtures", "lopsided.mixture, true mixture", "with random mixtures"),
}


@dataclass(frozen=True)
class Record:
    """`right` of `decided` forecasts came true, over `tasks` tasks; the best simple rule's rate beside it."""

    family: str
    recipe: str
    cases: str
    tasks: int
    asked: int
    decided: int
    right: int
    rate: float
    interval: tuple[float, float] | None
    baseline: str
    baseline_rate: float | None

    @property
    def sentence(self) -> str:
        """For a person: rates of 100, and how many cases they rest on."""
        rule = ""
        if self.baseline_rate is not None:
            rule = f"; the best simple rule, {self.baseline}, in {round(100 * self.baseline_rate)}%"
        silent = self.asked - self.decided
        left = f", {silent} undecided" if silent else ""
        return (
            f"Such forecasts were right in {round(100 * self.rate)}% of cases {self.cases} ({self.right} of "
            f"{self.decided} in {self.tasks} held-out tasks{left}{rule})."
        )


def measured_skill(forecast: str) -> Record | None:
    """The record of a kind of forecast (a key of `FORECASTS`), None where none is published."""
    family, recipe, cases = FORECASTS[forecast]
    entry = _held_out().get(family)
    if entry is None:
        return None
    own = entry["numbers"]["recipes"].get(recipe)
    if own is None or not own["decided"]:
        return None
    ends = None if own["interval"] is None else tuple(own["interval"])
    scored = {name: own[name] for name in ("asked", "decided", "right", "rate")}
    about = {name: entry[name] for name in ("tasks", "baseline", "baseline_rate")}
    return Record(family, recipe, cases, interval=ends, **scored, **about)


def skill_sentence(forecast: str, what: str = "Such forecasts") -> str:
    """`measured_skill` in words, which say `what` was right; empty where none is published."""
    record = measured_skill(forecast)
    return "" if record is None else record.sentence.replace("Such forecasts", what)


def published_text() -> str:
    """The score as it ships."""
    return files("lopsided.core").joinpath(PUBLISHED).read_text(encoding="utf-8")


def published_details() -> list[dict[str, Any]]:
    """What the page shows besides the score; empty where only the package is at hand."""
    if not DETAILS.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(DETAILS.read_text(encoding="utf-8"))
    return found


@cache
def _held_out() -> dict[str, Any]:
    scores = json.loads(published_text())["scores"]
    return {entry["family"]: entry for entry in scores if entry["split"] == _SPLIT}
