"""A `Figure` as the page draws it."""

from typing import Any

from pydantic import BaseModel

from lopsided.core.figure import Figure
from lopsided.report.plotly import figure_json


class PanelDrawing(BaseModel):
    """One pair of axes for plotly.js."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class Drawing(BaseModel):
    """Title, caption and panels."""

    title: str
    caption: str
    panels: list[PanelDrawing]


def drawing(figure: Figure) -> Drawing:
    """What the page gets."""
    panels = [PanelDrawing(**panel) for panel in figure_json(figure)]
    return Drawing(title=figure.title, caption=figure.caption, panels=panels)
