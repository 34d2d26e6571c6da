"""What the remedies of networks share: another loss in training, or another last layer after it. Arms of a trial of the
learner `deep`.

The formulas are in `lopsided.torch`: `torch_form` gives the loss module, or a function from a finished model to the
corrected one, and a trial trains with the same object. Post-hoc logit adjustment needs no network and is `logit
adjustment`.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import is_network, last_step, learner_name, steps_of
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy, load_forms, torch_form, uneven_classes
from lopsided.remedies.learner import Learner

NO_NETWORK = "It changes the loss or the last layer of a PyTorch network, which {} is not: use the learner deep."


@dataclass(frozen=True)
class NetworkRemedy(Remedy):
    """Base of the remedies for networks: they are proposed if class sizes differ, and need the learner `deep`."""

    default: ClassVar[bool] = False  # a trial includes them if the learner is a network
    needs_network: ClassVar[bool] = True
    why: ClassVar[str]

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """With the authors' parameters."""
        classes, notes = uneven_classes(occasion.training)
        return ([], notes) if classes is None else ([Proposal(cls(), cls.why)], [])

    def shift(self, training: LabelledSet, learner: Learner, seed: int) -> FloatArray:
        """None; learners that are not networks are rejected here, before anything is trained."""
        if not is_network(learner.estimator):
            got = learner_name(learner.estimator)
            raise InputError(f"a PyTorch network for {self.name}", got, "use the learner deep")
        return super().shift(training, learner, seed)

    @property
    def code_homes(self) -> tuple[str, ...]:
        """Also that of the form, which no import leads to."""
        load_forms()
        return *super().code_homes, torch_form.dispatch(type(self)).__module__

    def form(self, training: LabelledSet, learner: Learner, seed: int) -> Any:
        """The PyTorch object for these rows."""
        load_forms()
        return torch_form(self, training, seed=seed)


@dataclass(frozen=True)
class NetworkLoss(NetworkRemedy):
    """The network is trained with another loss."""

    def train(self, training: LabelledSet, learner: Learner, weights: FloatArray | None, seed: int) -> Any:
        """One network with the loss."""
        return learner.fit(training, loss=self.form(training, learner, seed))


@dataclass(frozen=True)
class NetworkHead(NetworkRemedy):
    """The network is trained plainly; then its last layer is replaced."""

    def train(self, training: LabelledSet, learner: Learner, weights: FloatArray | None, seed: int) -> Any:
        """One network, corrected by means of the rows as it sees them."""
        fitted = learner.fit(training, weights)
        before = fitted[:-1] if len(steps_of(fitted)) > 1 else None
        shown = training if before is None else training.with_features(before.transform(training.features))
        network = last_step(fitted)
        corrected = self.form(shown, learner, seed)(network.trained_.network)
        network.trained_ = replace(network.trained_, network=corrected)
        return fitted
