"""Rows under another law than the claimed one, for `Claim.alternatives`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lopsided.engine.task import Numbers, Row

Law = Callable[[Sequence[Row]], Sequence[Row]]


def power_law(number: str, x: str, power: float) -> Law:
    """`number` goes like the setting `x` to that power: each seed's value at the least x, carried over; rows that
    differ in other settings are kept separate."""

    def law(rows: Sequence[Row]) -> list[Row]:
        least = min(row.settings[x] for row in rows)
        first = {_apart(row, x): row.numbers[number] for row in rows if row.settings[x] == least}

        def value(row: Row) -> float | None:
            start = first[_apart(row, x)]
            return None if start is None else start * (row.settings[x] / least) ** power

        return [Row(row.settings, row.seed, {**row.numbers, number: value(row)}) for row in rows]

    return law


def constant(x: str, *with_it: str) -> Law:
    """Nothing depends on the setting `x`: all numbers are those of the same seed and the other settings at the least
    x. `with_it` names the settings that change with x."""

    def law(rows: Sequence[Row]) -> list[Row]:
        least = min(row.settings[x] for row in rows if row.settings.get(x) is not None)
        first = {_apart(row, x, *with_it): row.numbers for row in rows if row.settings.get(x) == least}
        return [Row(row.settings, row.seed, first.get(_apart(row, x, *with_it), row.numbers)) for row in rows]

    return law


def _apart(row: Row, *names: str) -> tuple[int, str]:
    return row.seed, repr(sorted((key, value) for key, value in row.settings.items() if key not in names))


def tilted(number: str, x: str, power: float) -> Law:
    """`number` times the setting `x` to that power, in units of its least value: this changes its exponent by that
    power; undefined values stay undefined."""

    def law(rows: Sequence[Row]) -> list[Row]:
        least = min(row.settings[x] for row in rows)
        return [
            Row(row.settings, row.seed, {**row.numbers, number: value * (row.settings[x] / least) ** power})
            if (value := row.numbers[number]) is not None
            else row
            for row in rows
        ]

    return law


def renumbered(numbers: Callable[[Row], Numbers]) -> Law:
    """Replace some numbers of every row."""
    return lambda rows: [replace(row, numbers={**row.numbers, **numbers(row)}) for row in rows]
