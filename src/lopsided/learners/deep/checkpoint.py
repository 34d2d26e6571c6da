"""A training run that can be interrupted: its checkpoint on disk, always complete, and signals delayed to the end of a
step.

Weights, buffers and velocity are stored as safetensors together with counters and history, without pickle. A checkpoint
has a fingerprint of recipe, seed and data; resuming a run with another one raises an error. Ctrl-C and SIGTERM wait
until the current step is finished, so that the saved state is complete.
"""

import contextlib
import hashlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

import torch
from lopsided.core.errors import InputError
from lopsided.core.files import write_atomically
from torch import Tensor

_VELOCITY, _STATE = "velocity", "network."
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Checkpoint:
    """`counters` are JSON values (step, epoch, history, ...); floats survive to the last digit."""

    network: Mapping[str, Tensor]
    velocity: Tensor
    counters: Mapping[str, Any]

    def write(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        """Write the file, completely or not at all."""
        tensors = {_STATE + name: tensor.detach().clone().contiguous() for name, tensor in self.network.items()}
        tensors[_VELOCITY] = self.velocity.clone()
        metadata = {"fingerprint": fingerprint, "counters": json.dumps(dict(self.counters))}
        write_atomically(path, save(tensors, metadata=metadata))

    @classmethod
    def read(cls, path: str | os.PathLike[str], fingerprint: str) -> "Checkpoint | None":
        """The stored state; None where there is no file yet."""
        source, remedy = Path(path), "remove it or name another"
        if not source.exists():
            return None
        try:
            with safe_open(source, framework="pt") as stored:
                metadata = stored.metadata() or {}
                tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118 - not a dict
            counters = json.loads(metadata["counters"])
            velocity = tensors.pop(_VELOCITY)
        except (SafetensorError, OSError, KeyError, ValueError, RecursionError):
            raise InputError("a checkpoint of a training run", f"something else: {source}", remedy) from None
        if metadata.get("fingerprint") != fingerprint:
            got = "one with another recipe, seed, network or data"
            raise InputError(f"the checkpoint {source} to be of this run", got, remedy)
        return cls({name.removeprefix(_STATE): tensor for name, tensor in tensors.items()}, velocity, counters)


def fingerprint_of(parts: Mapping[str, Any], tensors: Mapping[str, Tensor | None]) -> str:
    """A hash of settings and arrays."""
    digest = hashlib.blake2b(json.dumps(dict(parts), sort_keys=True).encode(), digest_size=20)
    for name, tensor in tensors.items():
        if tensor is not None:
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def held_interruptions() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether an interruption is pending; it is delivered when the block ends.

    Only the main thread receives signals; elsewhere nothing changes. A signal that is ignored stays ignored.
    """
    waiting: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for known in _SIGNALS:
            handler = signal.getsignal(known)
            if handler not in (signal.SIG_IGN, None):
                before[known] = handler
                signal.signal(known, lambda got, frame: waiting.append((got, frame)))
    try:
        yield lambda: bool(waiting)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            number, frame = waiting[0]
            if callable(before[number]):
                before[number](number, frame)
            else:
                signal.raise_signal(number)
