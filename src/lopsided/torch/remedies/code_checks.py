"""Labels and groups as losses take them: whole numbers 0, 1, 2, ..., one per example; logits that fit the classes."""

from typing import Any

import torch
from lopsided.core.errors import InputError
from torch import Tensor

IGNORED = -100  # as in torch.nn.functional.cross_entropy, whose loss of such a row is 0


def check_codes(codes: Any, number: int, what: str, remedy: str, *, ignored: int | None = None) -> Tensor:
    """Codes from 0 to `number` - 1 as 64-bit numbers, beside those that are `ignored`. `what` are they: labels..."""
    try:
        given = codes if isinstance(codes, Tensor) else torch.as_tensor(codes)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"{what} from 0 to {number - 1}", f"a {type(codes).__name__}", remedy) from None
    if given.is_floating_point() or given.is_complex():
        raise InputError(f"{what} as whole numbers", f"values of type {given.dtype}", "give them as integers")
    whole = given.long()
    inside = whole if ignored is None else whole.where(whole != ignored, 0)
    if whole.numel():
        low, high = int(inside.min()), int(inside.max())
        if not 0 <= low <= high < number:
            raise InputError(f"{what} from 0 to {number - 1}", low if low < 0 else high, remedy)
    return whole


def check_logits(logits: Any, classes: int, remedy: str) -> None:
    """A tensor with one column per class."""
    shape = tuple(logits.shape) if isinstance(logits, Tensor) else None
    if shape is None or len(shape) < 2 or shape[1] != classes:
        got = type(logits).__name__ if shape is None else f"shape {shape}"
        raise InputError(f"logits with {classes} columns, one per class", got, remedy)


def check_weights(weights: Any) -> Tensor:
    """One positive number per class."""
    try:
        table = torch.as_tensor(weights, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError):
        got = repr(weights) if isinstance(weights, str) else f"a {type(weights).__name__}"
        raise InputError("a positive weight for every class", got, "use remedies.class_weights") from None
    if table.ndim not in (1, 2) or not table.numel() or not bool((table.isfinite() & (table > 0)).all()):
        raise InputError("a positive weight for every class", table.tolist(), "use remedies.class_weights")
    return table
