"""Predict, measure and mend what imbalance does to a neural network.

Importing the package is light: each public name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopsided.audit.score import score
    from lopsided.core.errors import InputError, LopsidedError
    from lopsided.theory.collapse import CollapseForecast, collapse

__version__ = "0.1.0.dev0"

# public name -> module that defines it
_HOME = {
    "CollapseForecast": "lopsided.theory.collapse",
    "InputError": "lopsided.core.errors",
    "LopsidedError": "lopsided.core.errors",
    "collapse": "lopsided.theory.collapse",
    "score": "lopsided.audit.score",
}

__all__ = ["CollapseForecast", "InputError", "LopsidedError", "__version__", "collapse", "score"]


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'lopsided' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
