"""The measured numbers with their spread over seeds: one line per setting, one column per number."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Row, canonical


@dataclass(frozen=True)
class SpreadCell:
    """Over the seeds of one setting: mean, standard deviation (None for one seed), lowest, highest, how many."""

    mean: float
    deviation: float | None
    lowest: float
    highest: float
    count: int


@dataclass(frozen=True)
class SpreadTable:
    """`columns` are the settings that vary; `shared` those that do not; `rows` pair a setting with its spreads."""

    columns: tuple[str, ...]
    shared: dict[str, Any]
    names: tuple[str, ...]
    rows: tuple[tuple[tuple[Any, ...], tuple[SpreadCell | None, ...]], ...]


def spread_table(rows: Sequence[Row]) -> SpreadTable:
    """Only numbers that are single values; curves and matrices belong to the plot."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(canonical(row.settings), []).append(row)
    settings = [json.loads(text) for text in groups]
    keys = list(dict.fromkeys(key for setting in settings for key in setting))
    varying = tuple(key for key in keys if len({json.dumps(setting.get(key)) for setting in settings}) > 1)
    names = tuple(
        dict.fromkeys(name for row in rows for name, value in row.numbers.items() if _number(value) is not None)
    )
    lines = tuple(
        (
            tuple(setting.get(key) for key in varying),
            tuple(_spread([_number(row.numbers.get(name)) for row in group]) for name in names),
        )
        for setting, group in zip(settings, groups.values(), strict=True)
    )
    shared = {key: settings[0][key] for key in keys if key not in varying} if settings else {}
    return SpreadTable(varying, shared, names, lines)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    return None


def _spread(values: Sequence[float | None]) -> SpreadCell | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    found = seed_mean(known)
    deviation = found.deviation if len(known) > 1 else None
    return SpreadCell(found.mean, deviation, min(known), max(known), len(known))
