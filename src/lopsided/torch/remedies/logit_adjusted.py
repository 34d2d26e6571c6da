"""Logit adjustment for networks (Menon et al. 2021): in the loss, or after training around the model.

    loss       CE(f(x) + tau log pi, y)      the network then predicts by f(x) alone
    post hoc   f(x) - tau log pi             for a network that was trained without it

pi are the class frequencies during training: if classes are oversampled, give the `Rates` of the sampler.
"""

from collections.abc import Sequence
from typing import Any

from torch.nn.functional import cross_entropy

import torch
from lopsided.core.errors import InputError
from lopsided.remedies.logit_adjustment import logit_offsets
from lopsided.remedies.rates import Rates
from lopsided.torch.code_checks import IGNORED, check_codes, check_logits, check_weights, mean_of_counted
from torch import Tensor, nn

_REMEDY = "give a count for every output of the network"


class LogitAdjustedLoss(nn.Module):  # type: ignore[misc]
    """Cross entropy of logits with the offsets tau log pi added (Menon et al. 2021), called as `loss(logits, labels)`.

    Parameters
    ----------
    counts : sequence of float, or Rates
        Training examples of every class, after oversampling if there is any.
    tau : float, default 1.0
        Strength of the adjustment: 1 is Bayes' rule, 0 is plain cross entropy.
    weights : sequence of float or tensor, optional
        One weight per class, in addition to the offsets.

    Adjust in the loss or after training (`PostHocAdjustment`), not both. Examples with the label -100 are ignored.
    """

    def __init__(
        self,
        counts: Sequence[float] | Rates,
        *,
        tau: float = 1.0,
        weights: Sequence[float] | Tensor | None = None,
    ) -> None:
        super().__init__()
        self.offsets: Tensor
        self.weights: Tensor | None
        self.register_buffer("offsets", torch.as_tensor(logit_offsets(counts, tau=tau), dtype=torch.float32))
        table = None if weights is None else check_weights(weights)
        if table is not None and table.shape != self.offsets.shape:
            raise InputError(f"{len(self.offsets)} weights, one per class", f"shape {tuple(table.shape)}", "match them")
        self.register_buffer("weights", table)

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The adjusted mean cross entropy of a batch."""
        check_logits(logits, len(self.offsets), _REMEDY)
        codes = check_codes(labels, len(self.offsets), "labels", _REMEDY, ignored=IGNORED)
        offsets = self.offsets.reshape(-1, *[1] * (logits.ndim - 2))
        return mean_of_counted(cross_entropy(logits + offsets, codes, reduction="none"), codes, self.weights)


class BalancedSoftmaxLoss(LogitAdjustedLoss):
    """Balanced softmax (Ren et al. 2020): cross entropy of f(x) + log n_y, which is `LogitAdjustedLoss` at tau = 1.

    Parameters
    ----------
    counts : sequence of float, or Rates
        Training examples of every class, after oversampling if there is any.
    """

    def __init__(self, counts: Sequence[float] | Rates) -> None:
        super().__init__(counts)


class PostHocAdjustment(nn.Module):  # type: ignore[misc]
    """A trained model whose logits are adjusted in eval mode; in train mode they do not change.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network; it returns logits.
    counts : sequence of float, or Rates
        Training examples of every class, after oversampling if there was any.
    tau : float, default 1.0
        Strength of the adjustment: 1 is Bayes' rule, 0 changes nothing.
    target : sequence of float, optional
        Class frequencies to assume in prediction. By default, all classes are equally frequent.
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
        """Logits for the target class frequencies."""
        logits: Tensor = self.model(*inputs, **named)
        if self.training:
            return logits
        if not isinstance(logits, Tensor):
            raise InputError("a model that returns logits", type(logits).__name__, "wrap it so that it returns them")
        check_logits(logits, len(self.offsets), _REMEDY)
        return logits - self.offsets.reshape(-1, *[1] * (logits.ndim - 2))
