"""Labels and groups as the monitor and the losses take them: whole numbers 0, 1, 2, ..., one per example; logits and
weights that fit the classes. Anything else raises an InputError."""

from typing import Any

import torch
from lopsided.core.errors import InputError
from torch import Tensor

IGNORED = -100  # as in torch.nn.functional.cross_entropy, whose loss of such a row is 0
MOST_GROUPS = 100_000


def class_codes(labels: Any, outputs: int) -> Tensor:
    """Labels in any container as whole numbers, for that many outputs; one-hot rows and mixtures raise an error."""
    given = _tensor(labels, "labels as whole numbers", "code the classes as 0, 1, 2, ...")
    if given.ndim == 0:
        raise InputError("one label per example", "a single number", "give the labels of the whole batch")
    if given.is_floating_point():
        if outputs > 1:
            raise InputError(
                "labels as whole numbers",
                f"{given.dtype} of shape {tuple(given.shape)}",
                "give class codes 0, 1, 2, ...; for mixed labels (mixup), the codes before mixing",
            )
        given = given.round()
    return given.long()


def group_codes(groups: Any, codes: Tensor) -> Tensor:
    """One group code per label, on the labels' device; a copy, because the caller may reuse its buffer."""
    expected, remedy = f"{codes.numel()} group codes 0, 1, 2, ...", "code the groups as whole numbers, one per label"
    places = _tensor(groups, expected, remedy)
    if places.is_floating_point() or places.is_complex() or places.numel() != codes.numel():
        raise InputError(expected, f"{places.dtype} of shape {tuple(places.shape)}", remedy)
    if places.numel() and int(places.max()) >= MOST_GROUPS:
        raise InputError(f"group codes below {MOST_GROUPS:,}", int(places.max()), "recode them as 0, 1, 2, ...")
    return places.reshape(-1).long().to(codes.device).clone()


def check_codes(codes: Any, number: int, what: str, remedy: str, *, ignored: int | None = None) -> Tensor:
    """Codes from 0 to `number` - 1, or `ignored`, as 64-bit numbers. `what` says what they are in errors, such as
    labels."""
    given = _tensor(codes, f"{what} from 0 to {number - 1}", remedy)
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


def mean_of_counted(losses: Tensor, codes: Tensor, weights: Tensor | None = None) -> Tensor:
    """The mean of the losses, times the weights of their classes, of rows that are not ignored, whose loss is 0; 0
    where all of them are."""
    if weights is not None:
        losses = weights[codes.clamp(min=0)] * losses
    return losses.sum() / (codes != IGNORED).sum().clamp(min=1)


def check_weights(weights: Any, *, one_per_class: bool = False) -> Tensor:
    """One positive number per class; without `one_per_class` also a table by class and group."""
    expected, remedy = "a positive weight for every class", "use remedies.class_weights"
    table = _tensor(weights, expected, remedy, dtype=torch.float32)
    shapes = (1,) if one_per_class else (1, 2)
    if table.ndim not in shapes or not table.numel() or not bool((table.isfinite() & (table > 0)).all()):
        raise InputError(expected, table.tolist(), remedy)
    return table


def _tensor(values: Any, expected: str, remedy: str, dtype: torch.dtype | None = None) -> Tensor:
    if isinstance(values, Tensor) and dtype is None:
        return values.detach()
    try:
        return torch.as_tensor(values, dtype=dtype)
    except (TypeError, ValueError, RuntimeError):
        got = repr(values) if isinstance(values, str) else f"a {type(values).__name__}"
        raise InputError(expected, got, remedy) from None
