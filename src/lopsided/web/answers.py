"""What the rooms of the laboratory answer with: figures as the page draws them, and the code that gives the same."""

import shlex
from collections.abc import Mapping
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


class CodeRecipe(BaseModel):
    """Python and a command line, two texts to copy; both print what the page shows."""

    python: str
    command: str


def call(function: str, first: Any, options: Mapping[str, Any]) -> str:
    """`function(first, name=value, ...)` without the options that were not given."""
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    return f"{function}({', '.join([repr(first), *given])})"


def command(words: list[str], options: Mapping[str, Any]) -> str:
    """`lopsided words --name value ...` as a shell takes it."""
    given = [part for name, value in options.items() if value is not None for part in _option(name, value)]
    return shlex.join(["lopsided", *words, *given])


def _option(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return [flag]
    if isinstance(value, list):
        return [flag, ",".join(value)]
    return [flag, repr(value) if isinstance(value, float) else str(value)]


def python_command(code: str) -> str:
    """The code as a command line, where there is no command of its own."""
    return f"python - <<'EOF'\n{code}\nEOF"


def own_recipe(function: str, first: str, options: Mapping[str, Any], shown: str) -> CodeRecipe:
    """A public function that is also a command, with the part of its result that is `shown`."""
    python = f"import lopsided\n\nprint({call(f'lopsided.{function}', first, options)}{shown})"
    return CodeRecipe(python=python, command=command([function, first], {**options, "json": True}))


def call_recipe(module: str, function: str, settings: Mapping[str, Any], seed: int) -> CodeRecipe:
    """One call of a function that takes settings and a seed."""
    code = f"from {module} import {function}\n\nprint({function}({settings!r}, seed={seed}))"
    return CodeRecipe(python=code, command=python_command(code))
