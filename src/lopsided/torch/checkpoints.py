"""Two checkpoints of one network, layer by layer: how far each moved, in how many directions, and what the classifier's
angles did.

    |W - W0|_F / |W0|_F,  spectrum and ranks of W - W0 and of W     (Li and Liang 2018; `measure.weight_change`)
    cosines between the rows of the classifier, before and after    (Fang et al. 2021)
"""

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Line, Panel, Points
from lopsided.core.jsonable import jsonable
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import FloatArray
from lopsided.measure.angles import pairwise_angles
from lopsided.measure.weight_change import Spectrum, relative_distance, spectrum
from lopsided.torch.checkpoint_files import first_line, read_weights
from lopsided.torch.monitor.layer_change import WIDEST_SPECTRUM

_HEAD_NAMES = {"fc", "head", "classifier", "linear", "output", "out", "logits", "lm_head", "heads"}


@dataclass(frozen=True)
class LayerComparison:
    """One weight before and after; spectra for matrices and kernels up to a limit, None for the rest."""

    name: str
    shape: tuple[int, ...]
    relative_distance: float | None  # None when the layer began at 0
    change: Spectrum | None
    after: Spectrum | None


@dataclass(frozen=True)
class ClassifierComparison:
    """Cosines between the classifier's rows, before and after."""

    name: str
    classes: int
    cosine_before: float | None
    cosine_after: float | None
    largest_before: float | None
    largest_after: float | None
    closest_after: tuple[int, int] | None


@dataclass(frozen=True)
class CheckpointComparison:
    """Two checkpoints of a network compared, layer by layer in the order of the first.

    Attributes
    ----------
    before : str
        Name of the first checkpoint.
    after : str
        Name of the second checkpoint.
    layers : tuple of LayerComparison
        Distance and spectra of every weight that both have.
    classifier : ClassifierComparison, optional
        Cosines between the classifier's rows; None if no classifier was found.
    only_before : tuple of str
        Weights that only the first checkpoint has.
    only_after : tuple of str
        Weights that only the second checkpoint has.
    seconds : float
        Time that the comparison took.
    """

    before: str
    after: str
    layers: tuple[LayerComparison, ...]
    classifier: ClassifierComparison | None
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(jsonable(self))

    def _repr_html_(self) -> str:
        """For notebooks: how far every layer moved."""
        rows = [[layer.name, " x ".join(map(str, layer.shape)), layer.relative_distance] for layer in self.layers]
        return notebook_view(f"{self.before} and {self.after} compared", (("layer", "shape", "|W - W0| / |W0|"), rows))

    def figure(self) -> Figure:
        """Distances of the layers, and the spectra of their changes."""
        known = [(place, layer) for place, layer in enumerate(self.layers) if layer.relative_distance is not None]
        heights = [layer.relative_distance for _, layer in known]
        names = [layer.name for _, layer in known]
        distances = Points([place for place, _ in known], heights, "layers", names=names)
        spectra = [
            Line(np.arange(1, len(values) + 1).tolist(), values.tolist(), layer.name)
            for layer in self.layers
            if layer.change is not None and len(values := layer.change.values[layer.change.values > 0]) > 1
        ][-8:]
        panels = [Panel("Distance of each layer from before", "layer", "|W - W0| / |W0|", [distances])]
        if spectra:
            title = "Singular values of the change"
            panels.append(Panel(title, "place", "singular value", spectra, x_log=True, y_log=True))
        return Figure("Two checkpoints compared", panels)


def compare_checkpoints(
    before: str | os.PathLike[str], after: str | os.PathLike[str], *, head: str | None = None, strict: bool = True
) -> CheckpointComparison:
    """Compare two checkpoint files (safetensors, or PyTorch weights).

    Parameters
    ----------
    before : path
        The earlier checkpoint of a network.
    after : path
        The later checkpoint.
    head : str, optional
        The name of the classifier's weight. By default, the last matrix.
    strict : bool, default True
        Whether the names must agree. False compares what both have.
    """
    began = time.perf_counter()
    first, second = read_weights(before), read_weights(after)
    common = [name for name in first if name in second]
    only_first = tuple(name for name in first if name not in second)
    only_second = tuple(name for name in second if name not in first)
    if not common or (strict and (only_first or only_second)):
        got = f"{(only_first or only_second)[0]!r} in one of them only"
        remedy = "compare checkpoints of one run, or what both have with strict=False (--common)"
        raise InputError("two checkpoints of one network", got, remedy)
    for name in common:
        if first[name].shape != second[name].shape:
            got = f"{name!r} of shape {tuple(first[name].shape)} and {tuple(second[name].shape)}"
            raise InputError("two checkpoints of one network", got, "compare checkpoints of one run")
    layers = tuple(_layer(name, first[name], second[name]) for name in common)
    in_order = not any(str(path).lower().endswith(".safetensors") for path in (before, after))
    classifier = _classifier(head, common, first, second, in_order=in_order)
    return CheckpointComparison(
        os.fspath(before), os.fspath(after), layers, classifier, only_first, only_second, time.perf_counter() - began
    )


compare = compare_checkpoints  # the command's name


def _layer(name: str, first: torch.Tensor, second: torch.Tensor) -> LayerComparison:
    start, end = _matrix(name, first), _matrix(name, second)
    distance = relative_distance(start, end).frobenius if start.any() else None
    shape = tuple(first.shape)
    if first.ndim < 2 or min(start.shape) > WIDEST_SPECTRUM:
        return LayerComparison(name, shape, distance, None, None)
    return LayerComparison(name, shape, distance, spectrum(end - start), spectrum(end))


def _classifier(
    told: str | None,
    common: list[str],
    first: dict[str, torch.Tensor],
    second: dict[str, torch.Tensor],
    *,
    in_order: bool,
) -> ClassifierComparison | None:
    """The last matrix of a checkpoint that keeps the model's order; else the only one with a usual name for a head.

    safetensors keeps names in alphabetical order, in which the last need not be the head; None where it is not clear.
    """
    matrices = [name for name in common if first[name].ndim >= 2 and first[name].shape[0] > 1]
    if told is not None:
        matrices = [name for name in matrices if name in (told, f"{told}.weight")]
        if not matrices:
            raise InputError("the name of a weight matrix in both checkpoints", repr(told), f"choose among {common}")
    if not matrices:
        return None
    name = matrices[-1]
    if told is None and not in_order and len(matrices) > 1:
        numbered = all(entry.split(".")[0].isdecimal() for entry in matrices)
        heads = [entry for entry in matrices if _HEAD_NAMES & set(entry.lower().split("."))]
        if numbered:  # nn.Sequential
            name = max(matrices, key=lambda entry: int(entry.split(".")[0]))
        elif len(heads) == 1:
            name = heads[0]
        else:
            return None
    old, new = _matrix(name, first[name]), _matrix(name, second[name])
    if len(new) > 20_000:  # a vocabulary, not classes; its square would not fit
        return None
    angles, every = (pairwise_angles(old), pairwise_angles(new)), np.ones(len(new), dtype=bool)
    return ClassifierComparison(
        name=name,
        classes=len(new),
        cosine_before=angles[0].mean(every),
        cosine_after=angles[1].mean(every),
        largest_before=angles[0].largest,
        largest_after=angles[1].largest,
        closest_after=angles[1].closest,
    )


def _matrix(name: str, weight: torch.Tensor) -> FloatArray:
    try:
        array: FloatArray = weight.detach().to(torch.float64).reshape(len(weight) if weight.ndim > 1 else 1, -1).numpy()
    except RuntimeError as error:  # PyTorch's own for want of memory, and for types that it cannot convert
        got = f"{name!r} of shape {tuple(weight.shape)}: {first_line(error)}"
        raise InputError("weights that can be converted to float64", got) from None
    if not np.isfinite(array).all():
        raise InputError("finite weights", f"NaN or infinity in {name!r}", "take a checkpoint from before it diverged")
    return array
