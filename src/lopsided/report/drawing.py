"""Write figures to a file; the ending chooses the form: .html (interactive, offline) or .png."""

import os
from collections.abc import Sequence
from pathlib import Path

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure
from lopsided.core.files import as_path, check_target, write_atomically

_ENDINGS = (".html", ".png")


def check_plot_path(path: str | os.PathLike[str]) -> Path:
    """A path that ends in .html or .png in a directory that exists; checked before the work, not after."""
    if as_path(path, "a file for the plot").suffix.lower() not in _ENDINGS:
        raise InputError("a plot file that ends in .html or .png", repr(str(path)))
    return check_target(path, _ENDINGS, "plot")


def check_report_path(path: str | os.PathLike[str]) -> Path:
    """A path that ends in .html in a directory that exists; checked before the work, not after."""
    return check_target(path, (".html", ".htm"), "report")


def write_figures(
    path: str | os.PathLike[str],
    title: str,
    figures: Sequence[Figure],
    *,
    facts: Sequence[tuple[str, str]] = (),
    footer: str = "",
) -> Path:
    """Several figures in one file: a page with all of them, or one PNG with all their panels."""
    target = check_plot_path(path)
    if target.suffix.lower() == ".png":
        caption = " ".join(figure.caption for figure in figures if figure.caption)
        together = Figure(title, [panel for figure in figures for panel in figure.panels], caption)
        from lopsided.report.png import figure_png

        return write_atomically(target, figure_png(together))
    from lopsided.report.page import figures_page

    return write_atomically(target, figures_page(title, figures, facts=facts, footer=footer))


def write_figure(
    path: str | os.PathLike[str], figure: Figure, *, facts: Sequence[tuple[str, str]] = (), footer: str = ""
) -> Path:
    """Draw `figure` into `path`; the facts and the footer go into the HTML form only."""
    return write_figures(path, figure.title, [figure], facts=facts, footer=footer)
