"""Whether a model's output is that of its head, and what it is where the model goes on after it.

A softmax or log softmax, a sigmoid and a number added to all logits of an example do not change what the head says. A
scale, a bias, a temperature or the mean with another head does. A decoder of sequences (GPT2ForSequenceClassification)
applies its head at every place and picks one.
"""

from collections.abc import Mapping
from typing import Any

import torch

ROUNDING = 1e-3  # of the largest logit: matrix products of a GPU keep three digits, and no decision turns on less


def answer_in(output: Any) -> torch.Tensor | None:
    """The logits in a model's output: a tensor, under `logits`, or first of several; None where there are none."""
    found = output
    for _ in range(2):
        if isinstance(found, torch.Tensor):
            break
        if isinstance(found, Mapping):
            found = found.get("logits")
        elif (logits := getattr(found, "logits", None)) is not None:
            found = logits
        elif isinstance(found, (tuple, list)) and found:
            found = found[0]
    return found if isinstance(found, torch.Tensor) else None


def tensors_in(output: Any) -> list[torch.Tensor]:
    """The tensors among the entries of a model's output."""
    parts = (
        output.values() if isinstance(output, Mapping) else output if isinstance(output, (tuple, list)) else [output]
    )
    return [part for part in parts if isinstance(part, torch.Tensor)]


def same_answer(logits: torch.Tensor, answer: torch.Tensor) -> bool:
    """Whether rows of a model's output say what these logits of its head do."""
    own, several = logits.detach().double(), logits.shape[-1] > 1
    chances = [own.sigmoid(), own.softmax(dim=-1)] if several else [own.sigmoid()]
    return alike(own, answer, shifted=several) or any(alike(chance, answer) for chance in chances)


def alike(first: torch.Tensor, second: torch.Tensor, *, shifted: bool = False) -> bool:
    """Equal up to rounding in the precision of `second`; with `shifted`, up to a number for each row."""
    if not second.is_floating_point():
        return False
    expected, found = first.detach().double().to(second.device), second.detach().double()
    gap = found - expected
    if shifted:
        expected, gap = (table - table.mean(dim=-1, keepdim=True) for table in (expected, gap))
    allowed = max(ROUNDING, 8 * torch.finfo(second.dtype).eps)
    return not gap.numel() or bool(gap.abs().max() <= allowed * expected.abs().max().clamp(min=1e-6))


def changed_answer(features: torch.Tensor, logits: torch.Tensor, output: Any) -> tuple[torch.Tensor, ...] | None:
    """Features and logits as the model answers, where that is not its head's own output; None where it is, or where
    the output holds no one table of logits to take instead."""
    tables = list({id(part): part for part in (answer_in(output), *tensors_in(output))}.values())
    alike_shaped = [table for table in tables if table is not None and table.shape == logits.shape]
    if any(table.data_ptr() == logits.data_ptr() or same_answer(logits, table) for table in alike_shaped):
        return None
    if len(alike_shaped) == 1 and alike_shaped[0].is_floating_point():
        answer = alike_shaped[0].detach()
        if bool(((answer >= 0) & (answer <= 1)).all()):  # chances; those of several classes an example stay the head's
            whole = alike(torch.ones(answer.shape[:-1], device=answer.device), answer.sum(dim=-1))
            return (features, answer.clamp(min=1e-30).log()) if whole else None
        return features, answer
    return picked_place(features, logits, output)


def picked_place(features: torch.Tensor, logits: torch.Tensor, output: Any) -> tuple[torch.Tensor, ...] | None:
    """Features and logits of the place of each sequence (batch, places, ...) whose logits are the model's answer."""
    answer = answer_in(output)
    if answer is None or logits.ndim != 3 or features.ndim != 3 or answer.shape != (len(logits), logits.shape[2]):
        return None
    picked = (logits == answer.detach()[:, None]).all(dim=2)
    if not bool(picked.any(dim=1).all()):
        return None
    rows, places = torch.arange(len(logits), device=logits.device), picked.int().argmax(dim=1)
    return features[rows, places], logits[rows, places]
