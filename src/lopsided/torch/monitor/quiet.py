"""Looking without touching: contexts in which the monitor computes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def quiet(device: torch.device) -> Iterator[None]:
    """No graph, normal tensors even inside inference mode, full precision even inside autocast."""
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.no_grad())
        if torch.is_autocast_enabled(device.type):
            stack.enter_context(torch.autocast(device.type, enabled=False))
        yield


@contextmanager
def modes_kept(model: nn.Module) -> Iterator[dict[Any, bool]]:
    """Every module's training flag, put back at the end, one by one: users freeze parts of a network."""
    modes = {module: module.training for module in model.modules()}
    try:
        yield modes
    finally:
        for module, mode in modes.items():
            module.training = mode
