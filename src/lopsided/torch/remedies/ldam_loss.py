"""LDAM with deferred reweighting (Cao et al. 2019): rare classes get a larger margin.

    CE(s (f - Delta_y e_y), y)     Delta_k = C / n_k^(1/4), the largest of them `margin`      (eqs. 12, 13)

From epoch `reweight_from` on, examples are weighted by the effective number of their class (Cui et al. 2019), like the
authors' DRW: the network first learns features without weights and then focuses on the rare classes. Deviations:
weights have mean 1 over the training examples, and the loss is the mean of w_i CE_i, as in `WeightedCrossEntropy`.
`scale` is 1, for ordinary logits; the authors use 30 with a head of normalised rows and features, whose logits are
cosines.
"""

from collections.abc import Sequence

import numpy as np
from torch.nn.functional import cross_entropy

import torch
from lopsided.core.validation import check_count, check_positive
from lopsided.remedies.class_weighting import effective_numbers
from lopsided.remedies.logit_adjustment import check_class_counts
from lopsided.remedies.rates import Rates
from lopsided.torch.code_checks import IGNORED, check_codes, check_logits, mean_of_counted
from torch import Tensor, nn

_REMEDY = "give a count for every output of the network"


class LDAMLoss(nn.Module):  # type: ignore[misc]
    """The LDAM loss, called as `loss(logits, labels)`. With `reweight_from`, call `loss.set_epoch(epoch)` before each
    epoch.

    Parameters
    ----------
    counts : sequence of float
        Training examples of every class.
    margin : float
        The margin of the rarest class.
    scale : float
        s, the factor of the logits; use 30 with a cosine head.
    reweight_from : int, optional
        The epoch from which rare classes get more weight; the authors use four fifths of the training.
    beta : float
        Beta of the effective number of examples.
    """

    def __init__(
        self,
        counts: Sequence[float] | Rates,
        *,
        margin: float = 0.5,
        scale: float = 1.0,
        reweight_from: int | None = None,
        beta: float = 0.9999,
    ) -> None:
        super().__init__()
        sizes = check_class_counts(counts)
        roots = sizes**-0.25
        margins = check_positive(margin, "the margin") * roots / roots.max()
        weights = 1.0 / effective_numbers(sizes, beta)
        weights = weights * sizes.sum() / (weights @ sizes)
        self.scale = check_positive(scale, "the scale")
        self.reweight_from = (
            None if reweight_from is None else check_count(reweight_from, "the epoch to reweight from", at_least=0)
        )
        self.margins: Tensor
        self.weights: Tensor
        self.epoch: Tensor
        self.register_buffer("margins", torch.as_tensor(margins, dtype=torch.float32))
        self.register_buffer("weights", torch.as_tensor(np.asarray(weights), dtype=torch.float32))
        self.register_buffer("epoch", torch.zeros((), dtype=torch.int64))  # resumes with the state dict

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch that begins, counted from 0."""
        self.epoch.fill_(check_count(epoch, "the epoch", at_least=0))

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The mean loss of a batch."""
        check_logits(logits, len(self.margins), _REMEDY)
        codes = check_codes(labels, len(self.margins), "labels", _REMEDY, ignored=IGNORED)
        rows = codes.clamp(min=0)
        wanted = torch.zeros_like(logits).scatter_(1, rows.unsqueeze(1), self.margins[rows].to(logits).unsqueeze(1))
        losses = cross_entropy(self.scale * (logits - wanted), codes, reduction="none")
        late = self.reweight_from is not None and int(self.epoch) >= self.reweight_from
        return mean_of_counted(losses, codes, self.weights if late else None)
