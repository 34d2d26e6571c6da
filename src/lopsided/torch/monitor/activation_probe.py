"""Activation patterns of the ReLU units against their start, on a few examples kept from the first training batch.

    pattern of (unit, example) = 1_{preactivation >= 0}      (Li and Liang 2018, Sections 5 and 7)

The probe runs the network on those examples once at the start and once per epoch, without gradients, with dropout off.
Batch normalisation uses the probe's own statistics at both times, since running statistics at the start are not those
of any data; its buffers and the random state are put back. Of large maps, evenly spaced units are kept.
A network that calls `relu` as a function shows no ReLU layers; then the features themselves (positive or not) are read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from lopsided.measure.coupling import pattern_change
from lopsided.torch.monitor.head import Head, unwrap
from torch import nn

MOST_UNITS = 4096  # units kept per layer and example
_RECTIFIERS = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.RReLU)
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


@dataclass(frozen=True)
class LayerPatterns:
    """Share of a layer's (unit, example) pairs whose pattern differs from the start; of units with such a pair."""

    name: str
    pairs: float
    units: float
    examples: int


class ActivationProbe:
    """A few inputs and the patterns they had at the start; of 0 examples nothing is kept or run."""

    def __init__(self, model: nn.Module, head: Head, examples: int) -> None:
        self._model, self._head, self._examples = unwrap(model), head, examples
        self.inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self.start_patterns: dict[str, torch.Tensor] = {}
        self.started = examples == 0
        self.running = False  # the monitor's own hooks look away meanwhile
        self.notes: tuple[str, ...] = ()  # why there are no patterns

    def start(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Keep the first examples of a batch and their patterns."""
        self.started = True
        rows = _rows(arguments) or _rows(tuple(keywords.values()))
        if rows is None or any(
            isinstance(one, torch.Tensor) and not _dense(one) for one in (*arguments, *keywords.values())
        ):
            self.notes = ("the model's inputs are not dense tensors, so activation patterns are not tracked",)
            return
        kept = tuple(self._cut(value, rows) for value in arguments)
        self.inputs = kept, {name: self._cut(value, rows) for name, value in keywords.items()}
        self.start_patterns = self._patterns()
        if not self.start_patterns and not self.notes:
            self.notes = ("hooks find no ReLU units in the model, so activation patterns are not tracked",)

    def compare(self) -> tuple[LayerPatterns, ...]:
        """Every layer's patterns now against the start."""
        if not self.start_patterns:
            return ()
        now = self._patterns()
        found = []
        for name, before in self.start_patterns.items():
            after = now.get(name)
            if after is not None and after.shape == before.shape:
                change = pattern_change(_signs(before), _signs(after))
                found.append(LayerPatterns(name, change.pairs, change.units, change.examples))
        return tuple(found)

    def _cut(self, value: Any, rows: int) -> Any:
        if isinstance(value, torch.Tensor) and value.ndim and value.shape[0] == rows:
            return value[: self._examples].detach().clone()
        return value

    def _patterns(self) -> dict[str, torch.Tensor]:
        assert self.inputs is not None
        calls: dict[str, list[torch.Tensor]] = {}
        features: list[torch.Tensor] = []

        def watch(name: str) -> Any:
            return lambda module, arguments: calls.setdefault(name, []).append(_pattern(arguments[0] >= 0))

        handles = [
            module.register_forward_pre_hook(watch(name))
            for name, module in self._model.named_modules()
            if isinstance(module, _RECTIFIERS)
        ]
        handles.append(self._head.layer.register_forward_pre_hook(lambda _, inputs: features.append(inputs[0])))
        self.running = True
        try:
            with _undisturbed(self._model):
                self._model(*self.inputs[0], **self.inputs[1])
        except Exception as error:  # the model may refuse a smaller batch; watching must never stop a training
            self.notes = (
                f"activation patterns are not tracked: the model failed on the probe examples ({type(error).__name__})",
            )
            return {}
        finally:
            self.running = False
            for handle in handles:
                handle.remove()
        if not calls and features and bool((features[-1] >= 0).all()):
            calls = {"features": [_pattern(features[-1] > 0)]}
        return {
            name if len(patterns) == 1 else f"{name} ({call + 1})": pattern
            for name, patterns in calls.items()
            for call, pattern in enumerate(patterns)
        }


@contextmanager
def modes_kept(model: nn.Module) -> Iterator[dict[Any, bool]]:
    """Every module's training flag, put back at the end, one by one: users freeze parts of a network."""
    modes = {module: module.training for module in model.modules()}
    try:
        yield modes
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Evaluation mode, batch statistics, no gradients, no autocast; modes, buffers and random state are put back."""
    norms = [module for module in model.modules() if isinstance(module, _BATCH_NORMS)]
    kept = [{name: buffer.clone() for name, buffer in norm.named_buffers()} for norm in norms]
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    devices = [device] if device.type == "cuda" else []
    with modes_kept(model) as modes, torch.no_grad():
        for module in modes:
            module.training = isinstance(module, _BATCH_NORMS)
        try:
            with torch.random.fork_rng(devices), torch.autocast(device.type, enabled=False):
                yield
        finally:
            for norm, buffers in zip(norms, kept, strict=True):
                for name, value in buffers.items():
                    norm.get_buffer(name).copy_(value)


def _pattern(active: torch.Tensor) -> torch.Tensor:
    flat = active.reshape(active.shape[0], -1)
    return flat[:, :: -(-flat.shape[1] // MOST_UNITS)].to("cpu", copy=True)


def _signs(pattern: torch.Tensor) -> Any:
    return (pattern.to(torch.int8) * 2 - 1).numpy()


def _rows(values: tuple[Any, ...]) -> int | None:
    """Length of the first axis of the first tensor."""
    return next((len(one) for one in values if isinstance(one, torch.Tensor) and _dense(one) and one.ndim), None)


def _dense(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested
