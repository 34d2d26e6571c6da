"""Group DRO as a loss (Sagawa et al. 2020), with its group weights in the state dict; correct under DDP.

    q_g <- q_g exp(eta (l_g + C / sqrt(n_g))) / normaliser;     loss = sum_g q_g l_g

as in `remedies.group_dro` (see there for the deviation from the authors' script). With several processes l_g is the
mean over all of them: sums and sizes are added up before q is updated, so that q stays the same everywhere. Each one
returns W sum_g q_g (its own sum of losses of g) / (size of g on all), whose average over processes, which is what DDP
takes of the gradients, is sum_g q_g l_g.
"""

from collections.abc import Sequence

import torch.distributed as distributed
from torch.nn.functional import cross_entropy

import torch
from lopsided.core.errors import InputError
from lopsided.remedies.group_dro import dro_start
from lopsided.torch.code_checks import IGNORED, check_codes
from lopsided.torch.processes import process_group
from torch import Tensor, nn


class GroupDROLoss(nn.Module):  # type: ignore[misc]
    """Group DRO, called as `loss(logits, labels, groups)`, or as `loss(losses, groups=groups)` with a loss per example.

    Parameters
    ----------
    group_counts : sequence of float
        Training examples of every group; groups are 0, 1, 2, ...
    step : float, default 0.01
        The step eta of the group weights.
    adjustment : float, default 0
        The size adjustment C; Sagawa et al. try 0 to 5.

    The group weights are updated in train mode only. They are kept in double precision, because a group that is never
    the worst can have a very small weight for a long time.
    """

    def __init__(self, group_counts: Sequence[float], *, step: float = 0.01, adjustment: float = 0.0) -> None:
        super().__init__()
        start = dro_start(group_counts, step=step, adjustment=adjustment)
        self.step = start.step
        self.weights: Tensor
        self.offsets: Tensor
        self.register_buffer("weights", torch.from_numpy(start.weights))
        self.register_buffer("offsets", torch.from_numpy(start.offsets))

    def forward(self, outputs: Tensor, labels: Tensor | None = None, groups: Tensor | None = None) -> Tensor:
        """The weighted loss of a batch; in train mode the weights are updated first."""
        if groups is None:
            raise InputError("the group of every example", "none", "call loss(logits, labels, groups)")
        number = self.weights.shape[0]
        places = check_codes(groups, number, "groups", "number them from 0, and give a count for each")
        losses = outputs if labels is None else cross_entropy(outputs, labels.long(), reduction="none")
        if losses.ndim != 1 or places.shape != losses.shape:
            raise InputError(
                "one loss and one group per example", f"{tuple(losses.shape)} and {tuple(places.shape)}", "flatten them"
            )
        if labels is not None:  # an ignored example belongs to no group
            losses, places = losses[labels != IGNORED], places[labels != IGNORED]
        precise = losses.double()
        sums = torch.zeros(number, dtype=torch.float64, device=losses.device).index_add(0, places, precise)
        sizes = torch.bincount(places, minlength=number).to(torch.float64)
        processes, _ = process_group()
        totals = torch.stack([sums.detach(), sizes])
        if processes > 1:
            distributed.all_reduce(totals)
        seen = totals[1].clamp(min=1)
        if self.training:
            # a batch that overflowed moves nothing: mixed precision skips its step too
            self._move(totals[0] / seen, (totals[1] > 0) & totals[0].isfinite())
        return (processes * (self.weights * sums / seen).sum()).to(losses.dtype)

    def _move(self, means: Tensor, present: Tensor) -> None:
        """The update of q; `means` are detached, so no gradient flows into it."""
        exponents = torch.where(present, self.step * (means.nan_to_num() + self.offsets), torch.zeros_like(means))
        raised = self.weights * torch.exp(exponents - exponents.max())
        # a new tensor, because the graph of an earlier batch may still need the old one
        self.weights = raised / raised.sum()
