"""How a network is trained, as far as the laws of lost classes need it, and how far weight decay forgets the start.

    forgetting = sum over steps of rate x weight decay / (1 - momentum)

A weight that gets no gradient falls by exp(-forgetting) over the training (Adam's decay, apart from the gradient, does
the same with momentum 0), so the part of the start that is left in W W^T is exp(-2 forgetting).
"""

import math
from dataclasses import dataclass
from typing import Literal

from lopsided.core.errors import InputError
from lopsided.core.validation import check_choice, check_count, check_in_range, check_positive

Runs = Literal["constant", "cuts", "cosine"]
# Mean of the rate over the training, by its first value: cut by 10 after each third, or half a cosine.
_MEAN_RATE = {"constant": 1.0, "cuts": (1 + 0.1 + 0.01) / 3, "cosine": 0.5}


@dataclass(frozen=True)
class TrainingSettings:
    """Weight decay, step (the largest of the schedule), batch size and what else is known of network and training.

    `steps` None means: to the end, when the start is forgotten. `optimiser` is "sgd" or "adamw".
    """

    weight_decay: float
    step: float
    batch_size: int
    momentum: float = 0.0
    hidden_layers: int = 2
    batch_norm: bool = True
    convolutional: bool = False
    optimiser: str = "sgd"
    schedule: Runs = "cuts"
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
