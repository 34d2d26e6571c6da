"""Public functions show themselves: a parameter that several of them take is documented once, for `help()` of each.

A function names its parameters in its signature, writes `{inputs}` as a line of its docstring's Parameters and is
decorated with `documented_by(entries)`.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_MARK = "{inputs}"

Function = TypeVar("Function", bound=Callable[..., Any])


def entries_of(text: str) -> dict[str, str]:
    """Parameter -> its entry, of a list as it stands in a docstring."""
    return {entry.split(" : ", 1)[0]: entry for entry in re.split(r"\n(?=\S)", text.strip())}


def documented_by(entries: Mapping[str, str]) -> Callable[[Function], Function]:
    """A decorator of functions and classes: the entries of all parameters that they take and do not document themselves
    stand in place of the line `{inputs}`."""

    def decorated(function: Function) -> Function:
        if function.__doc__ is not None:  # None under python -OO
            told = inspect.cleandoc(function.__doc__)
            taken = [name for name in inspect.signature(function).parameters if name in entries]
            taken = [name for name in taken if f"\n{name} : " not in told]
            function.__doc__ = told.replace(_MARK, "\n".join(entries[name] for name in taken))
        return function

    return decorated


def taken_by(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the arguments `given` (a function's `locals()` at its start), those that `function` has a parameter for."""
    return {name: value for name, value in given.items() if name in inspect.signature(function).parameters}
