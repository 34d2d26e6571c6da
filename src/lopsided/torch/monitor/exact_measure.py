"""Frozen weights measured exactly: two passes in evaluation mode over batches (inputs, labels).

Unlike the running sums of an epoch, the features do not move, every example enters the scatter, and NC4 compares with
the means of these very examples.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from lopsided.core.errors import InputError
from lopsided.torch.code_checks import class_codes
from lopsided.torch.monitor.activation_probe import modes_kept
from lopsided.torch.monitor.batch_rows import rows_of
from lopsided.torch.monitor.class_sums import ClassSums, SumsSnapshot
from lopsided.torch.monitor.forward_watch import ForwardWatch
from lopsided.torch.monitor.head import Head
from lopsided.torch.monitor.phase_sums import PhaseSums, outcomes
from torch import nn

Batches = Callable[[], Iterable[Any]] | Iterable[Any]


def measure_exactly(
    model: nn.Module, head: Head, watch: ForwardWatch, phases: PhaseSums, batches: Batches, *, told_features: bool
) -> SumsSnapshot:
    """The sums over all examples; `batches` is a DataLoader, a list, or a function that starts a new pass."""

    def one_pass(sums: ClassSums | None) -> ClassSums:
        device = head.layer.weight.device
        for batch in _started(batches):
            inputs, labels = _pair(batch)
            model(inputs.to(device))
            codes = class_codes(labels, head.outputs)
            seen = watch.take(codes.shape[0])
            features, logits, codes = rows_of(seen, codes, head, told_features=told_features)
            if sums is None:
                sums = phases.new(features, interval=1)
            sums.add(features, *outcomes(logits, codes), codes)
        if sums is None:
            raise InputError("batches of inputs and labels", "none", "give a DataLoader or a list")
        return sums

    with modes_kept(model), torch.no_grad():
        model.eval()
        sums = one_pass(None)
        first = sums.rows
        sums.keep_reference()
        sums.clear()
        one_pass(sums)
    if sums.rows != first:
        got = f"{first} and {sums.rows} examples"
        raise InputError("the same batches in both passes", got, "give a list, a DataLoader or a function")
    return sums.snapshot()


def _started(batches: Batches) -> Iterable[Any]:
    found = batches() if callable(batches) else batches
    if not isinstance(found, Iterable) or isinstance(found, (str, torch.Tensor)):
        raise InputError("batches (inputs, labels)", type(found).__name__, "give a DataLoader or a list of pairs")
    return found


def _pair(batch: Any) -> tuple[torch.Tensor, Any]:
    if isinstance(batch, (tuple, list)) and len(batch) > 1 and isinstance(batch[0], torch.Tensor):
        return batch[0], batch[1]
    got = f"a {type(batch).__name__}" + (f" of {len(batch)}" if isinstance(batch, (tuple, list)) else "")
    raise InputError("batches (inputs, labels) with inputs as a tensor", got, "give a function that yields such pairs")
