"""A hook that dies with its owner and does not travel with the model.

`copy.deepcopy(model)` (an averaged copy, a snapshot) and `pickle` would otherwise carry the monitor along, and the copy
would feed it. The hook holds a weak reference, and its copies are inert. A compiled model leaves its graph to call it.
"""

import weakref
from collections.abc import Callable
from typing import Any

import torch


class Hook:
    """Calls a method of a live object; does nothing when the object is gone or the hook is a copy."""

    def __init__(self, method: Callable[..., None] | None = None) -> None:
        self._method = None if method is None else weakref.WeakMethod(method)

    def __call__(self, *arguments: Any) -> None:
        """Forward the call; the result is always None, so no forward pass is ever changed."""
        if torch.compiler.is_compiling():
            _untraced(self._forward, *arguments)
        else:
            self._forward(*arguments)

    def _forward(self, *arguments: Any) -> None:
        method = None if self._method is None else self._method()
        if method is not None:
            method(*arguments)

    def __reduce__(self) -> tuple[type["Hook"], tuple[()]]:
        return Hook, ()


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _untraced(action: Callable[..., None], *arguments: Any) -> None:
    action(*arguments)
