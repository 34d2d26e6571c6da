"""Augmentation of batches, for chosen groups or classes: Gaussian noise and random crops (Li et al., Figures 1, 7, 8).

Both act in train mode only. A share of the chosen examples is changed, each by its own noise or shift. Choose the
variance with `remedies.matching_noise` or `remedies.forecast_noise`.
"""

from collections.abc import Sequence

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import check_count, check_in_range, check_positive
from torch import Tensor, nn


class _ForSomeExamples(nn.Module):  # type: ignore[misc]
    """Which examples of a batch are changed: those of `only` (all where None), each with probability `share`."""

    def __init__(self, only: Sequence[int] | None, share: float, generator: torch.Generator | None) -> None:
        super().__init__()
        self.only = None if only is None else tuple(check_count(code, "a group", at_least=0) for code in only)
        self.share = check_in_range(share, "the share", 0.0, 1.0)
        self.generator = generator

    def chosen(self, inputs: Tensor, groups: Tensor | None) -> Tensor:
        """True for the examples to change."""
        if self.only is None:
            wanted = torch.ones(inputs.shape[0], dtype=torch.bool, device=inputs.device)
        elif groups is None or groups.shape != inputs.shape[:1]:
            got = "none" if groups is None else f"shape {tuple(groups.shape)}"
            raise InputError("a group for every example", got, "call it with (inputs, groups)")
        else:
            wanted = torch.isin(groups, torch.tensor(self.only, device=groups.device)).to(inputs.device)
        if self.share < 1:
            wanted &= torch.rand(inputs.shape[0], generator=self.generator).to(inputs.device) < self.share
        return wanted


class GroupNoise(_ForSomeExamples):
    """Gaussian noise on chosen examples of a batch, in train mode only; called as `layer(inputs, groups)`.

    Parameters
    ----------
    variance : float
        Variance of the noise; `remedies.matching_noise` chooses one.
    only : sequence of int, optional
        Codes of the groups or classes that get noise. By default, all examples can.
    share : float, default 1.0
        Chance of each of these examples to get noise.
    generator : torch.Generator, optional
        Source of the random numbers. By default, PyTorch's own.
    """

    def __init__(
        self,
        variance: float,
        *,
        only: Sequence[int] | None = None,
        share: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(only, share, generator)
        self.deviation = 0.0 if variance == 0 else check_positive(variance, "the noise variance") ** 0.5

    def forward(self, inputs: Tensor, groups: Tensor | None = None) -> Tensor:
        """The batch with noise on the chosen examples."""
        if not self.training or self.deviation == 0:
            return inputs
        if not inputs.is_floating_point():
            raise InputError(
                "inputs as floating-point numbers for Gaussian noise",
                f"{inputs.dtype}",
                "convert them first, for example pictures with inputs.float() / 255",
            )
        noise = torch.randn(inputs.shape, generator=self.generator, dtype=inputs.dtype).to(inputs.device)
        chosen = self.chosen(inputs, groups).reshape(-1, *[1] * (inputs.ndim - 1))
        return inputs + chosen * self.deviation * noise


class GroupCrops(_ForSomeExamples):
    """Random crops of chosen pictures (n x ... x H x W) of a batch, in train mode only; called as `layer(inputs,
    groups)`.

    Parameters
    ----------
    padding : int
        The largest shift, in pixels.
    only : sequence of int, optional
        Codes of the groups or classes that are cropped. By default, all pictures can be.
    share : float, default 1.0
        Chance of each of these pictures to be cropped.
    fill : float, default 0.0
        Value of uncovered pixels.
    generator : torch.Generator, optional
        Source of the random numbers. By default, PyTorch's own.
    """

    def __init__(
        self,
        padding: int,
        *,
        only: Sequence[int] | None = None,
        share: float = 1.0,
        fill: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(only, share, generator)
        self.padding, self.fill = check_count(padding, "the padding", at_least=0), fill

    def forward(self, inputs: Tensor, groups: Tensor | None = None) -> Tensor:
        """The batch with the chosen pictures shifted by up to `padding` pixels."""
        if inputs.ndim < 3:
            raise InputError("pictures n x ... x H x W", f"shape {tuple(inputs.shape)}", "reshape them")
        if not self.training or self.padding == 0:
            return inputs
        number, height, width = inputs.shape[0], inputs.shape[-2], inputs.shape[-1]
        shifts = torch.randint(0, 2 * self.padding + 1, (number, 2), generator=self.generator).to(inputs.device)
        shifts[~self.chosen(inputs, groups)] = self.padding  # the middle: nothing moves
        padded = nn.functional.pad(inputs, [self.padding] * 4, value=self.fill)
        rows = shifts[:, :1] + torch.arange(height, device=inputs.device)
        columns = shifts[:, 1:] + torch.arange(width, device=inputs.device)
        flat = padded.reshape(number, -1, *padded.shape[-2:])
        picked = flat[
            torch.arange(number, device=inputs.device)[:, None, None], :, rows[:, :, None], columns[:, None, :]
        ]
        return picked.movedim(-1, 1).reshape(inputs.shape)
