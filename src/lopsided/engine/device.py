"""Which processor the networks of a task are trained on: the CPU, or a GPU where PyTorch has one.

The device is not a setting of a task: the measurement is the same on any device, and its provenance names it.
LOPSIDED_DEVICE carries it to worker processes.
"""

import contextlib
import os
from typing import Literal

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.validation import check_choice
from lopsided.engine.needs import environment

Device = Literal["cpu", "cuda"]
DEVICES: tuple[Device, ...] = ("cpu", "cuda")
DEVICE_VARIABLE = "LOPSIDED_DEVICE"


def chosen_device() -> str:
    """The device of the running task."""
    return os.environ.get(DEVICE_VARIABLE) or "cpu"


def on_device(device: str | None, *, here: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block, networks train on `device`; None keeps what the environment says. `here`: this machine trains
    them, so it needs the GPU."""
    wanted = check_choice(chosen_device() if device is None else device, DEVICES, "a device")
    if here and wanted == "cuda":
        _need_gpu()
    return environment(DEVICE_VARIABLE, wanted)


def _need_gpu() -> None:
    try:
        import torch
    except ImportError:
        raise MissingPackage("torch", "--device cuda", "torch") from None
    if not torch.cuda.is_available():
        raise InputError("a GPU that PyTorch can use", "none", "use --device cpu")
