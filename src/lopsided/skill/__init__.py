"""Score shipped functions on randomly drawn tasks. Each family imports the functions that it scores.

`lopsided.skill` is the public function of this room as well as the room itself, so the package can be called.
"""

import importlib
import inspect
import sys
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, **options: Any) -> Any:
        """As `lopsided.skill.benchmark.skill`."""
        # imported by name: every module here depends on this file, and a changed score must not cause new measurements
        return importlib.import_module(f"{__name__}.benchmark").skill(**options)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(importlib.import_module(f"{__name__}.benchmark").skill)


sys.modules[__name__].__class__ = _CallableRoom
