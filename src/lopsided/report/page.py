"""One offline HTML page: figures drawn by an embedded plotly.js, each with its data as a table.

The library is embedded once, compressed (0.66 MB), and unpacked by the browser; the page makes no request.
"""

import base64
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from lopsided.core.figure import Bars, Figure, Heatmap, Panel, Pictures
from lopsided.report.plotly import figure_json
from lopsided.report.style import sentence

FEW = 4  # places along x


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("lopsided.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = sentence
    environment.filters["coded"] = _coded
    return environment


def _coded(text: str) -> Any:
    """Escaped text in which names between backticks are set as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def render(template: str, **facts: Any) -> str:
    """Fill a template of this room; everything is escaped unless the template says otherwise."""
    text: str = _environment().get_template(template).render(**facts)
    return text


@cache
def plotly_library() -> str:
    """plotly.js (cartesian bundle), gzip and base64."""
    packed = files("lopsided.report").joinpath("assets/plotly-cartesian.min.js.gz").read_bytes()
    return base64.b64encode(packed).decode("ascii")


def script_json(value: Any) -> str:
    """JSON that is safe inside a <script> element."""
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, allow_nan=False))


def is_small(panel: Panel) -> bool:
    """Whether a panel has too few places to fill the width of a page."""
    if any(isinstance(series, (Heatmap, Pictures)) for series in panel.series):
        return False
    return len({x for series in panel.series if not isinstance(series, (Heatmap, Pictures)) for x in series.x}) <= FEW


def panel_table(panel: Panel, most: int = 400) -> dict[str, Any]:
    """The numbers of a panel as one long table: series, x, y; of pictures, how many stand in a row. Long series are
    thinned for the page."""
    rows: list[tuple[str, Any, Any]] = []
    for series in panel.series:
        if isinstance(series, Heatmap):
            rows += [
                (series.label, f"{x}, {y}", value)
                for y, line in zip(series.y, series.values, strict=True)
                for x, value in zip(series.x, line, strict=True)
            ]
        elif isinstance(series, Pictures):
            rows += [
                (series.label, name, sum(picture is not None for picture in line))
                for name, line in zip(series.row_names, series.rows, strict=True)
            ]
        else:
            heights = series.heights if isinstance(series, Bars) else series.y
            rows += [(series.label, x, y) for x, y in zip(series.x, heights, strict=True)]
    kept = rows[:: -(-len(rows) // most) if rows else 1]
    return {"x_label": panel.x_label, "y_label": panel.y_label, "rows": kept, "left_out": len(rows) - len(kept)}


def figures_page(
    title: str, figures: Sequence[Figure], *, facts: Sequence[tuple[str, str]] = (), footer: str = ""
) -> str:
    """A page with a table of facts and the figures below it."""
    return render(
        "figures.html",
        title=title,
        facts=list(facts),
        figures=[
            {
                "figure": figure,
                "tables": [panel_table(panel) for panel in figure.panels],
                "small": [is_small(panel) for panel in figure.panels],
            }
            for figure in figures
        ],
        plots=script_json([panel for figure in figures for panel in figure_json(figure)]),
        library=plotly_library(),
        footer=footer,
    )
