"""`Figure` to the JSON that plotly.js draws; plain dictionaries, so no plotting package is needed."""

import html
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

from lopsided.core.figure import Bars, Figure, Heatmap, Line, Mark, Panel, Pictures, Points
from lopsided.core.jsonable import jsonable
from lopsided.report import style
from lopsided.report.mosaic import data_address, mosaic
from lopsided.report.style import log_ticks

_LONGEST_NAME = 24  # of a bar; a longer one would take the room of the bars
_MOST_SHORTENED = 30  # bars; of more plotly.js names only some, as they fit


def panel_json(panel: Panel) -> dict[str, Any]:
    """`{data, layout}` of one panel; colours of text and grid are set by the page, which knows light and dark."""
    data: list[dict[str, Any]] = []
    for position, series in enumerate(panel.series):
        colour = style.colour(position)
        match series:
            case Line():
                data += _line(series, colour)
            case Points():
                data.append(_points(series, style.EMPHASIS if series.emphasised else colour))
            case Bars():
                names = [_plain(name) if isinstance(name, str) else name for name in series.x]
                bars = {"type": "bar", "x": names, "y": series.heights, "name": _plain(series.label)}
                data.append(bars | {"marker": {"color": colour}})
            case Heatmap():
                data.append(_heatmap(series))
            case Pictures():
                data.append({"type": "image", "source": data_address(mosaic(series)), "hoverinfo": "skip"})
    shown = next((series for series in panel.series if isinstance(series, Bars)), None)
    heated = any(isinstance(series, Heatmap) for series in panel.series)
    named = shown is not None and any(isinstance(name, str) for name in shown.x)
    across, upward = (panel.x_label, panel.x_log, panel.x_range), (panel.y_label, panel.y_log, panel.y_range)
    layout: dict[str, Any] = {
        "title": {"text": _plain(panel.title), "font": {"size": 15}},
        "xaxis": _axis(*across, cells=heated or named, values=_values(panel, "x")),
        "yaxis": _axis(*upward, cells=heated and shown is None, values=_values(panel, "y")),
        "margin": {"l": 64, "r": 24, "t": 48, "b": 56},
        "legend": {"orientation": "h", "y": -0.3, "yanchor": "top"},
        "shapes": [_shape(mark.axis, mark.at) for mark in panel.marks],
        "annotations": [_annotation(mark, panel) for mark in panel.marks],
        "hovermode": "closest",
        "showlegend": len(panel.series) > 1,
    }
    if shown is not None and named and len(shown.x) <= _MOST_SHORTENED:
        layout["xaxis"] |= {"tickvals": data[0]["x"], "ticktext": [_plain(_shortened(str(name))) for name in shown.x]}
    if panel.x_names is not None:
        places = {"tickvals": list(range(len(panel.x_names))), "ticktext": [_plain(name) for name in panel.x_names]}
        turned = {"tickangle": -35, "tickfont": {"size": 10}, "zeroline": False}
        layout["xaxis"] = {**_axis(panel.x_label, False, panel.x_range, cells=False), **places, **turned}
        layout["legend"] = {"orientation": "h", "y": 1.0, "yanchor": "bottom"}  # the names have the room below
        if len(panel.series) > 2:  # a second line of it would run into the title
            layout["margin"] = {**layout["margin"], "t": 84}
            layout["title"] = {**layout["title"], "yref": "container", "y": 0.97, "yanchor": "top"}
    for series in panel.series:
        if isinstance(series, Pictures):
            layout |= _picture_axes(series, panel) | {"margin": {"l": 64, "r": 24, "t": 48, "b": 76}}
    result: dict[str, Any] = jsonable({"data": data, "layout": layout})
    return result


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"


def figure_json(figure: Figure) -> list[dict[str, Any]]:
    """One entry per panel."""
    return [panel_json(panel) for panel in figure.panels]


def _plain(words: str) -> str:
    """plotly.js reads a few tags in its texts; ours are plain words."""
    return html.escape(words, quote=False)


def _values(panel: Panel, axis: Literal["x", "y"]) -> list[float]:
    """The numbers that are drawn along an axis."""
    found: list[Any] = [mark.at for mark in panel.marks if mark.axis == axis]
    for series in panel.series:
        match series:
            case Line() | Points():
                drawn = (series.x,) if axis == "x" else (series.y, series.low, series.high)
                found += [value for values in drawn if values is not None for value in values]
            case Bars():
                found += list(series.x if axis == "x" else series.heights)
    return [float(value) for value in found if isinstance(value, Real)]


def _axis(
    label: str, log: bool, limits: tuple[float, float] | None, *, cells: bool, values: Sequence[float] = ()
) -> dict[str, Any]:
    """`cells`: the names of bars, or of a heatmap's rows and columns, even if they look like numbers."""
    kind = "log" if log else "category" if cells else "-"
    axis: dict[str, Any] = {"title": {"text": _plain(label), "standoff": 8}, "type": kind, "automargin": True}
    seen = [value for value in limits or values if value > 0 and math.isfinite(value)]
    if log and seen:
        ticks = log_ticks(0.9 * min(seen), 1.1 * max(seen))
        if len(ticks) > 1:  # within less than that plotly.js chooses its own
            axis |= {"tickvals": ticks, "tickformat": ",~g"}
    if limits:
        axis["range"] = [math.log10(limit) for limit in limits] if log else list(limits)
    return axis


def _line(series: Line, colour: str) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    if series.low is not None and series.high is not None:
        x = list(series.x)
        edge = {"type": "scatter", "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        traces += [
            {**edge, "x": x, "y": series.low},
            {**edge, "x": x, "y": series.high, "fill": "tonexty", "fillcolor": colour + "2e"},
        ]
    line = {"color": colour, "width": 2, "dash": "dash" if series.dashed else "solid"}
    traces.append(_scatter(series, "lines+markers" if series.markers else "lines") | {"line": line})
    return traces


def _scatter(series: Line | Points, mode: str) -> dict[str, Any]:
    return {"type": "scatter", "mode": mode, "x": series.x, "y": series.y, "name": _plain(series.label)}


def _points(series: Points, colour: str) -> dict[str, Any]:
    size, symbol = (14, "star") if series.emphasised else (6, "circle")
    trace = _scatter(series, "markers") | {"marker": {"color": colour, "size": size, "symbol": symbol}}
    if series.names is not None:
        trace["text"] = [_plain(name) for name in series.names]
        trace["hovertemplate"] = "%{text}<br>%{x}, %{y}<extra></extra>"
    if series.low is not None and series.high is not None:
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [_difference(high, y) for high, y in zip(series.high, series.y, strict=True)],
            "arrayminus": [_difference(y, low) for low, y in zip(series.low, series.y, strict=True)],
            "color": colour,
            "thickness": 1,
        }
    return trace


def _difference(upper: float | None, lower: float | None) -> float | None:
    return None if upper is None or lower is None else max(upper - lower, 0.0)


def _heatmap(series: Heatmap) -> dict[str, Any]:
    steps = len(style.HEAT) - 1
    return {
        "type": "heatmap",
        "x": [_plain(name) if isinstance(name, str) else f"{name:.4g}" for name in series.x],
        "y": [_plain(name) if isinstance(name, str) else f"{name:.4g}" for name in series.y],
        "z": series.values,
        "zmin": series.low,
        "zmax": series.high,
        "colorscale": [[index / steps, colour] for index, colour in enumerate(style.HEAT)],
        "colorbar": {"title": {"text": _plain(series.label), "side": "right"}},
    }


def _picture_axes(series: Pictures, panel: Panel) -> dict[str, Any]:
    grid = mosaic(series)
    plain = {"showgrid": False, "zeroline": False, "ticks": "", "automargin": True}
    columns, rows = ([_plain(name) for name in names] for names in (series.column_names, series.row_names))
    across = {"title": {"text": _plain(panel.x_label)}, "tickvals": grid.column_centres, "ticktext": columns}
    down = {"title": {"text": _plain(panel.y_label)}, "tickvals": grid.row_centres, "ticktext": rows}
    return {"xaxis": plain | across, "yaxis": plain | down}


def _shape(axis: str, at: float) -> dict[str, Any]:
    line = {"color": style.MARK, "width": 1.3, "dash": "dot"}
    if axis == "x":
        return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}
    return {"type": "line", "y0": at, "y1": at, "xref": "paper", "x0": 0, "x1": 1, "line": line}


def _annotation(mark: Mark, panel: Panel) -> dict[str, Any]:
    log = panel.x_log if mark.axis == "x" else panel.y_log
    place = math.log10(mark.at) if log else mark.at  # plotly.js places annotations, unlike shapes, in logarithms
    words = {"text": _plain(mark.label), "showarrow": False, "font": {"size": 11, "color": style.MARK}}
    if mark.axis == "x":
        upright = {"yref": "paper", "y": 0.02, "textangle": -90, "xanchor": "left", "yanchor": "bottom"}
        return words | {"x": place} | upright
    end = {"x": 0, "xanchor": "left"} if mark.at_start else {"x": 1, "xanchor": "right"}
    return words | {"y": place, "xref": "paper", "yanchor": "bottom"} | end
