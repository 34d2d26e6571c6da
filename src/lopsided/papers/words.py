"""The parts, the seed sets and the power of a verdict as every page words them."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class PartLine(NamedTuple):
    """One part of a claim: its name, its verdict and what the rule could have detected."""

    name: str
    verdict: str
    power: str


class SetLine(NamedTuple):
    """One seed set: its name, what it is for, and the verdict of its seeds alone."""

    name: str
    role: str
    verdict: str


def part_line(part: Mapping[str, Any]) -> PartLine:
    """A part of a record."""
    return PartLine(str(part["name"]), str(part["verdict"]), power_words(part.get("power")))


def power_words(power: Mapping[str, Any] | None) -> str:
    """`detects 0.12; claimed 0.5`; nothing where no spread was measured."""
    if power is None or power.get("detects") is None:
        return ""
    claimed = power.get("claimed")
    return f"detects {power['detects']:.2g}" + ("" if claimed is None else f"; claimed {abs(claimed):.2g}")


def set_line(one: Mapping[str, Any]) -> SetLine:
    """A seed set of a record."""
    count = int(one["seeds"])
    name = f"seed set {one['set']} ({count} seed{'s' if count != 1 else ''})"
    return SetLine(name, str(one["role"]), str(one["verdict"] or "too few seeds for the rule"))


def apart(exploration: str | None, confirmation: str | None) -> str:
    """What the runs before and after the rule was frozen say, each by itself."""
    if exploration is None and confirmation is None:
        return ""
    if confirmation is None:
        return f"Exploration: {exploration}. No run on fresh seeds has confirmed it under its present rule."
    first = "" if exploration is None else f"Exploration: {exploration}. "
    return f"{first}Confirmation on seeds never used before: {confirmation}."
