"""Formulas as MathML, made while the pages are built: no script, no font and no request in the reader's browser."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(writer: Any, node: nodes.math) -> None:
    """A formula inside a line."""
    writer.body.append(convert(_plain(node.astext())))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """A formula on its own, with its number if it has a label."""
    number = f'<span class="eqno">({node["number"]})</span>' if node["number"] else ""
    writer.body.append(f'<div class="math-display">{number}{convert(_plain(node.astext()), display="block")}</div>\n')
    raise nodes.SkipNode


def _plain(latex: str) -> str:
    """LaTeX that the converter draws well: plain bars (its paired ones stretch), a thin space after sin, cos and ln."""
    lines = "\n".join(line for line in latex.splitlines() if line.strip())
    bars = re.sub(r"\\[lr]Vert(?![A-Za-z]) ?", r"\\|", lines)
    bars = re.sub(r"\\[lr]vert(?![A-Za-z]) ?", "|", bars)
    return re.sub(r"\\(sin|cos|ln)\s+(?=[A-Za-z\\(])", r"\\\1\\,", bars)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer and choose it."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    app.config.html_math_renderer = "mathml"  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
