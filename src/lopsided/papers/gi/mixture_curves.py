"""Results of the mixture claims from their rows: values over a setting and seeds, as curves, numbers and panels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Line, Panel
from lopsided.core.statistics import SeedCurve
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Row

Reading = str | Callable[[Row], Any]


def seed_curve(rows: Sequence[Row], x: Reading, y: Reading, **fixed: Any) -> SeedCurve:
    """Collect `y` over `x` and seeds from the rows whose settings have the `fixed` values."""

    def read(row: Row, what: Reading, home: Any) -> Any:
        return what(row) if callable(what) else home[what]

    chosen = [row for row in rows if all(row.settings.get(key) == value for key, value in fixed.items())]
    places = sorted({float(read(row, x, row.settings)) for row in chosen})
    seeds = sorted({row.seed for row in chosen})
    values = np.full((len(seeds), len(places)), np.nan)
    for row in chosen:
        value = read(row, y, row.numbers)
        place = places.index(float(read(row, x, row.settings)))
        values[seeds.index(row.seed), place] = np.nan if value is None else float(value)
    return SeedCurve(np.array(places), values)


def drawn(line: SeedCurve, label: str, *, dashed: bool = False) -> Line:
    """The mean curve with a band of one standard error."""
    low, high = line.mean - line.error, line.mean + line.error
    return Line(_plain(line.x), _plain(line.mean), label, _plain(low), _plain(high), dashed=dashed, markers=True)


def over(
    title: str,
    x_label: str,
    y_label: str,
    lines: Mapping[str, SeedCurve],
    *,
    dashed: Sequence[str] = (),
    log: str = "",
) -> Panel:
    """A panel of mean curves by name; `dashed` names those drawn so, `log` the logarithmic axes ("x", "y" or "xy")."""
    shown = [drawn(line, name, dashed=name in dashed) for name, line in lines.items()]
    return Panel(title, x_label, y_label, shown, x_log="x" in log, y_log="y" in log)


def _plain(values: FloatArray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def described(line: SeedCurve) -> dict[str, Any]:
    """A curve as numbers for the verdict."""
    return {"x": _plain(line.x), "mean": _plain(line.mean), "standard_error": _plain(line.error)}
