"""Focal loss (Lin et al. 2017): examples that are already classified correctly with confidence get little weight.

    mean over the batch of  w_y (1 - p_y)^gamma (-log p_y)

gamma = 0 is cross entropy, 2 is the authors' choice. It was designed for detectors with very many easy negatives. For
long-tailed classes it changes less than logit adjustment, because it does not use the class frequencies.
"""

from collections.abc import Sequence

from torch.nn.functional import cross_entropy

import torch
from lopsided.core.validation import check_in_range
from lopsided.torch.code_checks import IGNORED, check_codes, check_logits, check_weights, mean_of_counted
from torch import Tensor, nn


class FocalLoss(nn.Module):  # type: ignore[misc]
    """The focal loss, called as `loss(logits, labels)`.

    Parameters
    ----------
    gamma : float
        The larger, the less weight easy examples have; 0 is cross entropy.
    weights : sequence of float, optional
        One weight per class, for example `remedies.class_weights(labels).weights`.

    Labels are 0, 1, 2, ...; examples with the label -100 are ignored.
    """

    def __init__(self, gamma: float = 2.0, *, weights: Sequence[float] | Tensor | None = None) -> None:
        super().__init__()
        self.gamma = check_in_range(gamma, "gamma", 0.0, 100.0)
        self.weights: Tensor | None
        self.register_buffer("weights", None if weights is None else check_weights(weights, one_per_class=True))

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The mean focal loss of a batch."""
        classes = logits.shape[1] if self.weights is None else len(self.weights)
        check_logits(logits, classes, "give a weight for every class")
        codes = check_codes(labels, classes, "labels", "code the classes as 0, 1, 2, ...", ignored=IGNORED)
        plain = cross_entropy(logits, codes, reduction="none")
        # 1 - p by expm1: at p near 1 the difference of two rounded numbers would be 0, and its gradient NaN
        losses = (-torch.expm1(-plain)).clamp(min=torch.finfo(plain.dtype).tiny) ** self.gamma * plain
        return mean_of_counted(losses, codes, self.weights)
