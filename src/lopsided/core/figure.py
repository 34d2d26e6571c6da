"""A figure as facts: what is drawn, in the words of the data; `report` draws it (PNG, HTML).

Every room that has something to show returns a `Figure`; none imports a plotting library.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Values = Sequence[float | None]


@dataclass(frozen=True)
class _Series:
    x: Values
    y: Values
    label: str
    low: Values | None = None
    high: Values | None = None


@dataclass(frozen=True)
class Line(_Series):
    """A curve, optionally with markers; None breaks it. `low` and `high` draw a band around it."""

    dashed: bool = False
    markers: bool = False


@dataclass(frozen=True)
class Points(_Series):
    """Separate points, optionally with vertical error bars and a name each (shown on hover)."""

    names: Sequence[str] | None = None
    emphasised: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars over categories or positions."""

    x: Sequence[float | str]
    heights: Values
    label: str


@dataclass(frozen=True)
class Heatmap:
    """A matrix of values; rows run along y."""

    x: Sequence[float | str]
    y: Sequence[float | str]
    values: Sequence[Values]
    label: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Pictures:
    """A grid of pictures, one list per row, the first row on top; None leaves a place empty.

    A picture is rows of pixels from 0 to 255: a number each, or three for red, green and blue; all of one size.
    """

    rows: Sequence[Sequence[Sequence[Sequence[float | Sequence[float]]] | None]]
    row_names: Sequence[str]
    column_names: Sequence[str]
    label: str


@dataclass(frozen=True)
class Mark:
    """A straight line through the panel with a few words: a threshold, a limit, a reference.

    The words over a line across the panel stand at its right end, or with `at_start` at its left.
    """

    at: float
    label: str
    axis: Literal["x", "y"] = "x"
    at_start: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `x_names` are words to stand at 0, 1, 2... on the x axis instead of numbers."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Line | Points | Bars | Heatmap | Pictures]
    marks: Sequence[Mark] = ()
    x_log: bool = False
    y_log: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_names: Sequence[str] | None = None


@dataclass(frozen=True)
class Figure:
    """One or more panels with a title and a caption that says what to see."""

    title: str
    panels: Sequence[Panel] = field(default_factory=tuple)
    caption: str = ""
