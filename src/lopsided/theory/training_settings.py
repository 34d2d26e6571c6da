"""The training settings that the laws of lost classes need, and how much weight decay reduces the initial weights.

    forgetting = sum over steps of rate x weight decay / (1 - momentum)

A weight without gradient shrinks by exp(-forgetting) over the training (so does AdamW's decoupled decay, with momentum
0), so the share of the initial W W^T that remains is exp(-2 forgetting).
"""

import math
from dataclasses import dataclass
from typing import Literal

from lopsided.core.errors import InputError
from lopsided.core.validation import check_choice, check_count, check_in_range, check_positive

# Mean of the rate over the training, by its first value: cut by 10 after each third, or half a cosine.
_MEAN_RATE = {"constant": 1.0, "cuts": (1 + 0.1 + 0.01) / 3, "cosine": 0.5}


@dataclass(frozen=True)
class TrainingSettings:
    """Weight decay, step (the largest of the schedule), batch size and what else is known of network and training.

    `steps=None` means training to convergence, when nothing of the initial weights remains. `optimiser` is "sgd" or
    "adamw".
    """

    weight_decay: float
    step: float
    batch_size: int
    momentum: float = 0.0
    hidden_layers: int = 2
    batch_norm: bool = True
    convolutional: bool = False
    optimiser: str = "sgd"
    schedule: Literal["constant", "cuts", "cosine"] = "cuts"
    steps: int | None = None

    def __post_init__(self) -> None:
        check_positive(self.weight_decay, "the weight decay")
        check_positive(self.step, "the learning rate")
        check_count(self.batch_size, "the batch size")
        check_count(self.hidden_layers, "the hidden layers")
        if check_in_range(self.momentum, "the momentum", 0.0, 1.0) == 1.0:
            raise InputError("a momentum below 1", self.momentum, "give the optimiser's momentum, such as 0.9")
        check_choice(self.schedule, _MEAN_RATE, "a schedule")
        if self.steps is not None:
            check_count(self.steps, "the number of steps")

    @property
    def effective_step(self) -> float:
        """eta = rate / (1 - momentum)."""
        return self.step / (1.0 - self.momentum)

    @property
    def forgetting(self) -> float:
        """Infinite where the training goes to the end."""
        if self.steps is None:
            return math.inf
        return self.effective_step * _MEAN_RATE[self.schedule] * self.weight_decay * self.steps
