"""The Python and the command line that give the same numbers as the page."""

import shlex
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


class Recipe(BaseModel):
    """Two texts to copy; both print what the page shows."""

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
    return [flag, repr(value) if isinstance(value, float) else str(value)]


def python_command(code: str) -> str:
    """The code as a command line, where there is no command of its own."""
    return f"python - <<'EOF'\n{code}\nEOF"
