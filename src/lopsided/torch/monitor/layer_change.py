"""How far every layer moved since the monitor was made (Li and Liang 2018, Sections 6 and 7).

    relative distance |W - W0|_F / |W0|_F;   stable rank |D|_F^2 / |D|_2^2 of D = W - W0

every epoch, and less often the whole spectrum of D with its entropy rank and largest gap. Convolution kernels are
treated as matrices, one row per output. The start is kept on the CPU in the layer's own precision.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.measure.weight_change import Spectrum, leading_values, relative_distance, spectrum
from lopsided.torch.monitor.head import linear_layers, named_module, own_weight, unwrap, weight_of
from torch import nn

MOST_WEIGHTS = 100_000_000  # kept as a second copy on the CPU; 400 MB in single precision
WIDEST_SPECTRUM = 1024  # smaller side of a matrix whose whole spectrum is taken


@dataclass(frozen=True)
class LayerChange:
    """One layer against its start; the rank is that of the change. None where the start or the change is 0."""

    name: str
    shape: tuple[int, ...]
    relative_distance: float | None
    stable_rank: float | None
    stable_rank_error: float | None
    spectrum: Spectrum | None


class LayerStarts:
    """Copies of the weights at the start, to compare with."""

    def __init__(self, model: nn.Module, which: bool | Iterable[str]) -> None:
        inner = unwrap(model)
        self._layers: dict[str, nn.Module] = {}
        self.notes: list[str] = []
        if which is True:
            self._layers = _affordable(dict(linear_layers(inner)), self.notes)
        elif which is not False:
            if not isinstance(which, Iterable):
                raise InputError("True, False or names of layers for layers", repr(which), "give a list of names")
            for name in [which] if isinstance(which, str) else which:
                layer = named_module(model, name)
                if not isinstance(getattr(layer, "weight", None), torch.Tensor) or layer.weight.ndim < 2:
                    raise InputError("layers with a weight matrix", repr(name), "name linear layers or convolutions")
                self._layers[name] = layer
        self.starts = {name: _copy(layer) for name, layer in self._layers.items()}

    def compare(self, epoch: int, *, spectra: bool) -> tuple[LayerChange, ...]:
        """Every tracked layer compared with its start."""
        return tuple(
            layer_change(name, _matrix(start), _matrix(now), epoch, spectra=spectra)
            for name, start in self.starts.items()
            if start.shape == (now := _copy(self._layers[name])).shape
        )


def layer_change(name: str, start: FloatArray, now: FloatArray, epoch: int, *, spectra: bool) -> LayerChange:
    """Compare two matrices of one layer."""
    change = now - start
    length = float(np.linalg.norm(change))
    if not np.isfinite(length):
        return LayerChange(name, start.shape, None, None, None, None)
    distance = relative_distance(start, now).frobenius if start.any() else None
    if length == 0:
        return LayerChange(name, start.shape, distance, None, None, None)
    whole = spectrum(change) if spectra and min(change.shape) <= WIDEST_SPECTRUM else None
    if whole is not None:
        return LayerChange(name, start.shape, distance, whole.stable_rank, 0.0, whole)
    largest = leading_values(change, 1, generator(0, "monitor", name, epoch), powers=2, spare=4)
    value, error = float(largest.values[0]), float(largest.errors[0])
    rank = (length / value) ** 2
    # The largest singular value is between `value` and, up to the chance of having missed it, `value + error`.
    return LayerChange(name, start.shape, distance, rank, rank - (length / (value + error)) ** 2, None)


def _affordable(layers: dict[str, nn.Module], notes: list[str]) -> dict[str, nn.Module]:
    """The layers from the head backwards that fit into the limit."""
    kept: dict[str, nn.Module] = {}
    total = 0
    for name, layer in reversed(layers.items()):
        if total + own_weight(layer).numel() > MOST_WEIGHTS:
            notes.append(
                f"only the last {len(kept)} of {len(layers)} layers are tracked, to save memory; choose others with "
                "layers="
            )
            break
        kept[name] = layer
        total += own_weight(layer).numel()
    return dict(reversed(kept.items()))


def _copy(layer: nn.Module) -> torch.Tensor:
    return weight_of(layer).to("cpu", copy=True)


def _matrix(weight: torch.Tensor) -> Any:
    kind = torch.float64 if weight.dtype == torch.float64 else torch.float32
    return weight.to(kind).reshape(weight.shape[0], -1).numpy()
