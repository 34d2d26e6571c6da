"""Logit adjustment for networks (Menon et al. 2021): in the loss, or after training around the model.

    loss       CE(f(x) + tau log pi, y)      the network then predicts by f(x) alone
    post hoc   f(x) - tau log pi             for a network that was trained plainly

pi is the prior of the examples as they are shown: give the `Rates` of the sampler where classes are oversampled.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lopsided.remedies.logit_adjustment import logit_offsets
from lopsided.remedies.rates import Rates


class LogitAdjustedLoss(nn.Module):  # type: ignore[misc]
    """Cross entropy of logits with the offsets tau log pi added. Adjust in the loss or after training, not both."""

    def __init__(self, counts: Sequence[float] | Rates, *, tau: float = 1.0, weights: Tensor | None = None) -> None:
        super().__init__()
        self.offsets: Tensor
        self.weights: Tensor | None
        self.register_buffer("offsets", torch.as_tensor(logit_offsets(counts, tau=tau), dtype=torch.float32))
        self.register_buffer("weights", weights)

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The adjusted mean cross entropy of a batch."""
        losses = nn.functional.cross_entropy(logits + self.offsets, labels, reduction="none")
        return losses.mean() if self.weights is None else (self.weights[labels] * losses).mean()


class PostHocAdjustment(nn.Module):  # type: ignore[misc]
    """A trained model whose logits are adjusted in eval mode; in train mode they pass as they are.

    `target` is the class prior to predict under; equal classes where none is given.
    """

    def __init__(
        self,
        model: nn.Module,
        counts: Sequence[float] | Rates,
        *,
        tau: float = 1.0,
        target: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.offsets: Tensor
        offsets = logit_offsets(counts, tau=tau, target=target)
        self.register_buffer("offsets", torch.as_tensor(offsets, dtype=torch.float32))

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """Logits under the target prior."""
        logits: Tensor = self.model(*inputs, **named)
        return logits if self.training else logits - self.offsets
