"""LDAM (Cao et al. 2019): the loss CE(f(x) - Delta_y e_y, y), with class weights at the end of the training."""

from dataclasses import dataclass
from typing import Any, ClassVar

from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import last_step
from lopsided.remedies.learner import Learner
from lopsided.remedies.network import NetworkLoss


@dataclass(frozen=True)
class Ldam(NetworkLoss):
    """`margin` of the rarest class; from the share `deferred` of the training on rare classes weigh more."""

    kind: ClassVar[str] = "ldam"
    name: ClassVar[str] = "LDAM"
    why: ClassVar[str] = "Rare classes get a larger margin, and more weight in the last fifth of the training."
    margin: float = 0.5
    deferred: float = 0.8

    def form(self, training: LabelledSet, learner: Learner, seed: int) -> Any:
        """The loss, which learns here how many epochs there will be."""
        loss = super().form(training, learner, seed)
        loss.reweight_from = round(self.deferred * last_step(learner.fresh(training)).epochs(training.size))
        return loss
