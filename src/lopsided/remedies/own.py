"""What users bring as arms of a trial: samplers of imbalanced-learn (anything with `fit_resample`) and estimators.

Each is a remedy like any other, so plan, trial and store have no special case. Their parameters are what
`learner_identity` says about the object, which decides whether a stored result can be reused. The object cannot be
rebuilt from them, so it stays in the process that it was given to.
"""

from collections.abc import Container
from dataclasses import dataclass, replace
from itertools import chain, count
from textwrap import shorten
from typing import Any, ClassVar, Self

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.learner_identity import learner_identity
from lopsided.learners.named_learner import learner_name
from lopsided.remedies.contract import Remedy
from lopsided.remedies.learner_balance import by_codes


@dataclass(frozen=True)
class Own(Remedy):
    """An object of the user's, with a name."""

    default: ClassVar[bool] = False
    own: ClassVar[bool] = True
    silent: ClassVar[str] = "it is your own, and nothing is known about it"
    called: str
    made: Any

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name that the user gave."""
        return self.called

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that decide its results."""
        return {"called": self.called, **learner_identity(self.made)}

    def named_apart(self, taken: Container[str]) -> Self:
        """Where the name is taken, it is called by its parameters, or gets a number."""
        names = chain([self.called, self._told], (f"{self._told} ({number})" for number in count(2)))
        return replace(self, called=next(name for name in names if name not in taken))

    def python(self) -> tuple[str, str]:
        """The object itself is the user's to provide, as `own`."""
        about = shorten(self._told, 80, placeholder="...")
        return f"from lopsided.remedies.own import own_arm  # own: {about}", f"own_arm(({self.called!r}, own))"

    @property
    def _told(self) -> str:
        return " ".join(repr(self.made).split())


@dataclass(frozen=True)
class OwnSampler(Own):
    """The learner is fitted on what the sampler makes of the training rows."""

    kind: ClassVar[str] = "own sampler"

    def draw(self, training: LabelledSet, seed: int) -> LabelledSet:
        """A fresh copy of the sampler; where it has no random state, that of the seed."""
        sampler = by_codes(self.made, training.classes.names)
        if sampler.get_params().get("random_state", 0) is None:
            sampler.set_params(random_state=int(generator(seed, "own sampler").integers(2**31)))
        features, codes = sampler.fit_resample(training.features, training.classes.codes)
        return training.resampled(features, codes, getattr(sampler, "sample_indices_", None))


@dataclass(frozen=True)
class OwnEstimator(Own):
    """The estimator is trained plainly, in place of the trial's learner."""

    kind: ClassVar[str] = "own estimator"

    def learner_for(self, estimator: Any) -> Any:
        """`estimator` does not matter."""
        return self.made


def own_arm(given: Any) -> Own:
    """A sampler or an estimator, or a pair of a name and such an object."""
    expected = "arms that are names, remedies, samplers, estimators or pairs (name, estimator)"
    pair = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str)
    made = given[1] if pair else given
    if not hasattr(made, "get_params") or isinstance(made, type):
        raise InputError(expected, f"{made!r}"[:80], "give an unfitted object of scikit-learn or imbalanced-learn")
    called = given[0] if pair else learner_name(made)
    if hasattr(made, "fit_resample"):
        return OwnSampler(called, made)
    if not (hasattr(made, "fit") and hasattr(made, "predict")):
        raise InputError(expected, f"a {type(made).__name__}", "it has neither fit_resample nor fit and predict")
    return OwnEstimator(called, made)
