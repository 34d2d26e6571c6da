"""A hook that ends with its owner and is not copied with the model.

`copy.deepcopy(model)` (an averaged copy, a snapshot) and `pickle` would otherwise carry the monitor along, and the copy
would feed it. So a hook holds a weak reference, and its copies are inert. A compiled model leaves its graph to call it.
"""

import weakref
from typing import Any

import torch
from torch import nn


class Hook:
    """Calls a method of a live object; does nothing when the object is gone or the hook is a copy."""

    def __init__(self, method: Any = None) -> None:
        self._owner = None if method is None else weakref.ref(method.__self__)
        self._function: Any = None if method is None else method.__func__

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *arguments: Any) -> None:
        """Forward the call; the result is always None, so no forward pass is ever changed.

        A compiler that followed it would compile it once for each kind of hook and argument, until it gives up.
        """
        owner = None if self._owner is None else self._owner()
        if owner is not None:
            self._function(owner, *arguments)
        elif isinstance(arguments[0], nn.Module):  # nobody will need it again, and TorchScript takes no such hook
            drop_hooks(arguments[0], self)

    def __reduce__(self) -> tuple[type["Hook"], tuple[()]]:
        return Hook, ()


def drop_hooks(module: nn.Module, only: Hook | None = None) -> None:
    """Take the hooks of monitors off a module that is no longer watched, such as a copy."""
    for hooks in (module._forward_hooks, module._forward_pre_hooks):
        for key, hook in list(hooks.items()):
            if isinstance(hook, Hook) and only in (None, hook):
                hooks.pop(key, None)
