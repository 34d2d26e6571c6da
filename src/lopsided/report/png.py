"""`Figure` to PNG with Matplotlib."""

import io
from typing import Any

import numpy as np

from lopsided.core.figure import Bars, Figure, Heatmap, Line, Mark, Panel, Pictures, Points
from lopsided.report import style
from lopsided.report.mosaic import mosaic
from lopsided.report.style import log_ticks, tick_words

_ROOM_FOR_NAMES = 45  # letters that fit side by side under a heat map


def _numbers(values: Any) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def figure_png(figure: Figure) -> bytes:
    """Draw every panel side by side (two in a row at most) and return the PNG bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    count = len(figure.panels)
    columns = min(count, 2)
    rows = -(-count // columns)
    size = style.PANEL_WIDTH * columns, style.PANEL_HEIGHT * rows + 0.5
    canvas = Canvas(figsize=size, dpi=style.DOTS_PER_INCH, layout="constrained")
    FigureCanvasAgg(canvas)
    canvas.suptitle(figure.title, fontsize=style.FONT_SIZE + 1.5, fontweight="bold")
    for position, panel in enumerate(figure.panels):
        _draw(canvas, canvas.add_subplot(rows, columns, position + 1), panel)
    if figure.caption:
        canvas.supxlabel(figure.caption, fontsize=style.FONT_SIZE - 2, color=style.MARK, wrap=True)
    stream = io.BytesIO()
    canvas.savefig(stream, format="png", metadata={"Software": "lopsided"})
    return stream.getvalue()


def _draw(canvas: Any, axes: Any, panel: Panel) -> None:
    axes.set_title(panel.title, fontsize=style.FONT_SIZE)
    axes.set_xlabel(panel.x_label, fontsize=style.FONT_SIZE - 0.5)
    axes.set_ylabel(panel.y_label, fontsize=style.FONT_SIZE - 0.5)
    axes.tick_params(labelsize=style.FONT_SIZE - 2)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    for position, series in enumerate(panel.series):
        colour = style.colour(position)
        match series:
            case Line():
                _line(axes, series, colour)
            case Points():
                _points(axes, series, style.EMPHASIS if series.emphasised else colour)
            case Bars():
                axes.bar(list(series.x), _numbers(series.heights), color=colour, label=series.label)
            case Heatmap():
                _heatmap(canvas, axes, series)
            case Pictures():
                _pictures(axes, series)
    if panel.x_names is not None:
        turned = {"rotation": 25, "ha": "right", "rotation_mode": "anchor"}
        crowded = sum(map(len, panel.x_names)) > _ROOM_FOR_NAMES
        axes.set_xticks(range(len(panel.x_names)), panel.x_names, **(turned if crowded else {}))
        axes.set_xlim(-0.5, len(panel.x_names) - 0.5)
    if panel.x_range:
        axes.set_xlim(panel.x_range)
    if panel.y_range:
        axes.set_ylim(panel.y_range)
    if panel.x_log and panel.x_names is None:
        _log_ticks(axes.xaxis)
    if panel.y_log:
        _log_ticks(axes.yaxis)
    for mark in panel.marks:
        _mark(axes, mark)
    labelled = [series for series in panel.series if series.label and not isinstance(series, Heatmap | Pictures)]
    if len(labelled) > 1:
        axes.legend(fontsize=style.FONT_SIZE - 2, frameon=False, loc="best")


def _mark(axes: Any, mark: Mark) -> None:
    line, place, side = axes.axhline, (0.01 if mark.at_start else 0.99, mark.at), "left" if mark.at_start else "right"
    where: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "xytext": (0, 2), "ha": side}
    if mark.axis == "x":
        line, place = axes.axvline, (mark.at, 0.02)
        where = {"xycoords": axes.get_xaxis_transform(), "xytext": (3, 0), "ha": "left", "rotation": 90}
    line(mark.at, color=style.MARK, linestyle=":", linewidth=1.1, zorder=1)
    look = {"va": "bottom", "fontsize": style.FONT_SIZE - 2.5, "color": style.MARK, "textcoords": "offset points"}
    box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
    axes.annotate(mark.label, place, **where, **look, bbox=box)


def _log_ticks(axis: Any) -> None:
    """Labels that do not crowd; the small ticks between them stay without words."""
    low, high = sorted(axis.get_view_interval())
    ticks = log_ticks(low, high)
    if len(ticks) < 2:  # far less than a decade: the labels of a straight axis
        from matplotlib.ticker import MaxNLocator

        ticks = [float(tick) for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]
    axis.set_ticks(ticks, [tick_words(tick) for tick in ticks])
    axis.set_minor_formatter("")


def _line(axes: Any, series: Line, colour: str) -> None:
    x, look = _numbers(series.x), {"color": colour, "label": series.label, "linewidth": 1.8, "markersize": 3.5}
    how = {"linestyle": "--" if series.dashed else "-", "marker": "o" if series.markers else None}
    axes.plot(x, _numbers(series.y), **look, **how)
    if series.low is not None and series.high is not None:
        axes.fill_between(x, _numbers(series.low), _numbers(series.high), color=colour, alpha=0.18, linewidth=0)


def _points(axes: Any, series: Points, colour: str) -> None:
    x, y = _numbers(series.x), _numbers(series.y)
    if series.low is not None and series.high is not None:
        errors = np.clip(np.vstack([y - _numbers(series.low), _numbers(series.high) - y]), 0, None)
        axes.errorbar(x, y, yerr=errors, fmt="none", ecolor=colour, elinewidth=1, capsize=2)
    size = 70 if series.emphasised else 16
    axes.scatter(x, y, s=size, color=colour, label=series.label, zorder=4, marker="*" if series.emphasised else "o")


def _heatmap(canvas: Any, axes: Any, series: Heatmap) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("heat", list(style.HEAT))
    values = np.array([_numbers(row) for row in series.values])
    image = axes.imshow(values, aspect="auto", origin="lower", cmap=colours, vmin=series.low, vmax=series.high)
    for axis, names in ((axes.xaxis, series.x), (axes.yaxis, series.y)):
        step = max(1, len(names) // 10)
        axis.set_ticks(range(0, len(names), step), [_short(name) for name in list(names)[::step]])
    if sum(len(_short(name)) for name in series.x) > _ROOM_FOR_NAMES:
        axes.tick_params(axis="x", labelrotation=40)
    bar = canvas.colorbar(image, ax=axes)
    bar.set_label(series.label, fontsize=style.FONT_SIZE - 1)
    bar.ax.tick_params(labelsize=style.FONT_SIZE - 2)


def _pictures(axes: Any, series: Pictures) -> None:
    grid = mosaic(series)
    axes.imshow(grid.pixels, aspect="equal", interpolation="nearest")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.xaxis.set_ticks(grid.column_centres, list(series.column_names))
    axes.yaxis.set_ticks(grid.row_centres, list(series.row_names))


def _short(name: float | str) -> str:
    return name if isinstance(name, str) else f"{name:.3g}"
