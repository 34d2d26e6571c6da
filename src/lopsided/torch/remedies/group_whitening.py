"""Centring or whitening per group as a layer: x -> (x - mu_g) Sigma_g^(-1/2), fitted beforehand on arrays."""

import torch
from lopsided.core.errors import InputError
from lopsided.remedies.group_standardiser import GroupStandardiser
from lopsided.torch.code_checks import check_codes
from torch import Tensor, nn


class GroupWhitening(nn.Module):  # type: ignore[misc]
    """Centring or whitening per group as a layer, called as `layer(inputs, groups)`.

    Parameters
    ----------
    fitted : remedies.GroupStandardiser
        A standardiser that was fitted on the training features. Groups are coded in the order of its `groups_`.
    """

    def __init__(self, fitted: GroupStandardiser) -> None:
        super().__init__()
        if not hasattr(fitted, "means_"):
            raise InputError("a fitted GroupStandardiser", "one that has not been fitted", "call its fit first")
        self.groups = fitted.groups_
        self.means: Tensor
        self.whiteners: Tensor | None
        self.register_buffer("means", torch.as_tensor(fitted.means_, dtype=torch.float32))
        whiteners = None if fitted.whiteners_ is None else torch.as_tensor(fitted.whiteners_, dtype=torch.float32)
        self.register_buffer("whiteners", whiteners)

    def forward(self, inputs: Tensor, groups: Tensor) -> Tensor:
        """The rows of a batch, each standardised by its own group."""
        known = f"fit on examples of every group (fitted groups: {', '.join(self.groups[:8])})"
        places = check_codes(groups, len(self.groups), "groups", known)
        if inputs.ndim != 2 or inputs.shape[1] != self.means.shape[1] or places.shape != inputs.shape[:1]:
            raise InputError(
                f"rows of {self.means.shape[1]} features and a group for each",
                f"shapes {tuple(inputs.shape)} and {tuple(places.shape)}",
                "give the features that it was fitted on",
            )
        centred = inputs - self.means[places]
        if self.whiteners is None:
            return centred
        return torch.einsum("ni,nij->nj", centred, self.whiteners[places])
