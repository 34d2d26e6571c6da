"""What a model was given in the running forward pass, while the comparison of inputs wants it.

Some training loops call a part of the model that has the head in it, and not the model (`self.net(x)` in Lightning):
then that part's inputs count, those of the outermost one that runs.
"""

from typing import Any

import torch
from lopsided.torch.comparable_rows import model_inputs
from lopsided.torch.monitor.first_inputs import FirstInputs
from lopsided.torch.monitor.head import Head, unwrap
from lopsided.torch.monitor.hook import Hook
from torch import nn

GivenTensors = tuple[tuple[torch.Tensor, int | None], ...]  # tensors with their versions


class GivenInputs:
    """`enter` and `leave` with the model's own forward pass; `taken` is what the pass through the head belongs to."""

    def __init__(self, model: nn.Module, head: Head, label_keyword: str | None, first: FirstInputs) -> None:
        self._label_keyword, self._first, self._inside = label_keyword, first, False
        self._now: GivenTensors = ()
        self._giver = 0  # how deep the part lies whose inputs these are
        modules, path = dict(unwrap(model).named_modules()), head.name.split(".")
        parts = [modules.get(".".join(path[:end])) for end in range(1, len(path))]
        self._depths = {id(part): depth for depth, part in enumerate(parts) if part is not None}
        self._handles = [
            part.register_forward_pre_hook(Hook(self._before_part), with_kwargs=True)
            for part in parts
            if part is not None and not first.done
        ]

    def enter(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """The model begins a forward pass."""
        self._now, self._inside = (), True
        if not self._first.done:
            self._keep(arguments, keywords)

    def leave(self) -> None:
        """The model's forward pass is over."""
        self._now, self._inside = (), False

    def taken(self) -> GivenTensors:
        """The inputs of the pass that has reached the head."""
        found = self._now
        if not self._inside:
            self._now = ()
        return found

    def close(self) -> None:
        """Watch the parts no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._now = ()

    def _before_part(self, part: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> None:
        if self._first.done:
            self.close()
            return
        depth = self._depths.get(id(part), len(self._depths))
        if self._inside or keywords is None or (self._now and depth > self._giver):
            return
        self._giver = depth
        self._keep(arguments, keywords)

    def _keep(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """What was computed with a gradient is no input of the data's; the rest without its graph."""
        given = model_inputs(arguments, keywords, self._label_keyword)
        self._now = tuple((one.detach(), tensor_version(one)) for one in given if one.grad_fn is None)


def tensor_version(tensor: torch.Tensor) -> int | None:
    """PyTorch's count of in-place writes; tensors of inference mode have none."""
    return None if tensor.is_inference() else tensor._version
