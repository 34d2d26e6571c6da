"""The settings of training: SGD with momentum or AdamW, weight decay, and the learning rate schedule.

The defaults are those of Section 4.C of the Layer-Peeled paper: batches of 128, step 0.1, momentum 0.9, weight decay
5e-4 on every parameter, the step divided by 10 after one and after two thirds of the training. Two methods that are
common today are also available: the cosine schedule, rate (1 + cos(pi t / T)) / 2 (Loshchilov and Hutter 2017), and
AdamW (2019).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from lopsided.core.errors import InputError
from lopsided.core.validation import check_choice, check_count, check_in_range, check_positive

Schedule = Literal["cuts", "cosine"]
Optimiser = Literal["sgd", "adamw"]


@dataclass(frozen=True)
class TrainingRecipe:
    """Length in `steps` or in `epochs` (exactly one of them), and the settings of the optimiser.

    `anneal_at` and `anneal_by` belong to the schedule "cuts", `momentum` to SGD.
    """

    steps: int | None = None
    epochs: float | None = None
    batch_size: int = 128
    rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    anneal_at: Sequence[float] = (1 / 3, 2 / 3)
    anneal_by: float = 0.1
    schedule: Schedule = "cuts"
    optimiser: Optimiser = "sgd"

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.epochs is None):
            raise InputError("the length of training in steps or in epochs", "both or none", "give one of them")
        if self.steps is not None:
            check_count(self.steps, "the number of steps")
        if self.epochs is not None:
            check_positive(self.epochs, "the number of epochs")
        check_count(self.batch_size, "the batch size", at_least=2)
        check_positive(self.rate, "the step")
        check_in_range(self.momentum, "the momentum", 0.0, 0.9999)
        check_in_range(self.weight_decay, "the weight decay", 0.0, 10.0)
        check_positive(self.anneal_by, "the factor of annealing")
        check_choice(self.schedule, get_args(Schedule), "a schedule")
        check_choice(self.optimiser, get_args(Optimiser), "an optimiser")
        for share in self.anneal_at:
            check_in_range(share, "the time of annealing, as a share of training", 0.0, 1.0)

    def total_steps(self, epoch_length: int) -> int:
        """Steps for an epoch of `epoch_length` examples; batches are full, or all examples if there are fewer."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return max(1, round(self.epochs * batches(epoch_length, self.batch_size)))

    def rate_at(self, step: int, total: int) -> float:
        """The step size of update number `step`, counted from 0."""
        if self.schedule == "cosine":
            return float(self.rate * 0.5 * (1.0 + math.cos(math.pi * step / total)))
        passed = sum(step >= share * total for share in self.anneal_at)
        return float(self.rate * self.anneal_by**passed)


def batches(examples: int, batch_size: int) -> int:
    """Batches in an epoch: the remainder is left out; it differs between epochs, because each has a new random
    order."""
    return max(1, examples // batch_size)
