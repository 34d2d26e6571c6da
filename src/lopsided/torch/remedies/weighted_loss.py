"""Cross entropy weighted by class, or by cell of class and group: mean of w_i CE_i over the batch.

The weights have mean 1 over the training examples, so the step keeps its scale. Deviation from PyTorch: its
`cross_entropy(weight=...)` divides by the sum of the weights in the batch, so in a batch with one rare example that
example counts less than its weight says, and the mean over batches is not the weighted mean. Here it is.
"""

from collections.abc import Sequence

from torch.nn.functional import cross_entropy

import torch
from lopsided.core.errors import InputError
from lopsided.remedies.class_weighting import Weights
from lopsided.torch.code_checks import IGNORED, check_codes, check_logits, check_weights, mean_of_counted
from torch import Tensor, nn


class WeightedCrossEntropy(nn.Module):  # type: ignore[misc]
    """Weighted cross entropy, called as `loss(logits, labels)`, or as `loss(logits, labels, groups)` with weights by
    cell.

    Parameters
    ----------
    weights : Weights, or sequence of float or tensor
        From `remedies.class_weights`, or one number per class.

    Labels and groups are 0, 1, 2, ...; examples with the label -100 are ignored.
    """

    def __init__(self, weights: Weights | Sequence[float] | Tensor) -> None:
        super().__init__()
        # A class that the data lacked has no weight; among given numbers every class of the logits has one.
        self._every_class = not isinstance(weights, Weights)
        self.weights: Tensor
        self.register_buffer("weights", _table(weights) if isinstance(weights, Weights) else check_weights(weights))

    def forward(self, logits: Tensor, labels: Tensor, groups: Tensor | None = None) -> Tensor:
        """The weighted mean cross entropy of a batch."""
        if (groups is None) != (self.weights.ndim == 1):
            wanted = "groups with weights by class and group" if groups is None else "no groups with weights by class"
            raise InputError(wanted, "none" if groups is None else "groups", "match the call to the weights")
        if self._every_class:
            check_logits(logits, len(self.weights), "give a weight for every class")
        codes = check_codes(labels, len(self.weights), "labels", "give a weight for every class", ignored=IGNORED)
        rows, counted = codes.clamp(min=0), codes != IGNORED
        if groups is None:
            chosen = self.weights[rows]
        else:
            chosen = self.weights[rows, check_codes(groups, self.weights.shape[1], "groups", "number them from 0")]
        if bool(chosen[counted].isnan().any()):
            raise InputError(
                "cells of class and group that had examples", "an empty one", "make the weights from all the data"
            )
        losses = cross_entropy(logits, codes, reduction="none")
        return mean_of_counted(chosen.where(counted, 0.0) * losses, codes)


def _table(weights: Weights) -> Tensor:
    """K, or K x G with NaN in cells without examples; rows and columns are the numbers that labels and groups are."""
    axes = [_numbers(weights.cells.classes, "labels")]
    if weights.cells.groups is not None:
        axes.append(_numbers(weights.cells.groups, "groups"))
    table = torch.full([max(axis) + 1 for axis in axes], torch.nan)
    table[tuple(torch.tensor(axis) for axis in axes)] = torch.as_tensor(weights.weights, dtype=table.dtype)
    return table


def _numbers(names: Sequence[str], what: str) -> list[int]:
    if not all(name.isdigit() for name in names):
        raise InputError(f"{what} numbered from 0 for a loss", ", ".join(names[:5]), "make weights from codes")
    return [int(name) for name in names]
