"""How a forecast turns class counts into the number of examples a class needs: which theory, with which settings."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.validation import check_positive
from lopsided.theory.layer_peeled.solve import Features


@dataclass(frozen=True)
class Recipe:
    """Settings of the forecast; which ones are given decides the theory.

    - `weight_decay` with `step` and `batch_size`: the law of lost classes in networks with batch normalisation that
      forecast real networks best (`theory.network_forecast`).
    - one of `multiplier`, `tau`, both energies, or `weight_decay` alone: the Layer-Peeled Model.

    Parameters
    ----------
    weight_decay : float, optional
        Weight decay of the training.
    step : float, optional
        Learning rate.
    batch_size : int, optional
        Examples per step.
    momentum : float, default 0.0
        Momentum of the optimizer.
    hidden_layers : int, default 2
        Hidden layers of the network.
    pilot_loss : float, optional
        Final training loss of a pilot run, which sharpens the forecast.
    multiplier : float, optional
        Weight of the nuclear norm of the logits in the loss (Layer-Peeled Model).
    tau : float, optional
        K sqrt(E_H E_W), the bound on that norm.
    feature_energy : float, optional
        Mean squared length of the features; give `weight_energy`, too.
    weight_energy : float, optional
        Mean squared length of the classifiers.
    feature_decay : float, optional
        Decay of the features, if it differs from that of the weights.
    features : "free" or "relu", default "free"
        Whether features may be negative.
    target_cosine : float, optional
        Mean cosine to reach among minority classifiers, instead of the number of examples needed (Layer-Peeled Model
        only).
    safety : float, default 2.0
        Every class is raised to so many times the examples it needs. The forecast threshold came within a factor of 2
        of where real networks lost classes (`lopsided skill`).
    """

    weight_decay: float | None = None
    step: float | None = None
    batch_size: int | None = None
    momentum: float = 0.0
    hidden_layers: int = 2
    pilot_loss: float | None = None
    multiplier: float | None = None
    tau: float | None = None
    feature_energy: float | None = None
    weight_energy: float | None = None
    feature_decay: float | None = None
    features: Features = "free"
    target_cosine: float | None = None
    safety: float = 2.0

    def __post_init__(self) -> None:
        if check_positive(self.safety, "the safety factor") < 1:
            raise InputError("a safety factor of at least 1", self.safety, "below it classes stay under the threshold")
        if self.survives and self.target_cosine is not None:
            raise InputError(
                "a target cosine for the Layer-Peeled Model",
                "one together with a step or a batch size",
                "leave out the step and the batch size, or the target",
            )

    @property
    def survives(self) -> bool:
        """Whether to use a law of lost classes: a step or a batch size is given."""
        return self.step is not None or self.batch_size is not None

    @property
    def restraint(self) -> dict[str, float | None]:
        """The regularisation, as `theory.collapse` takes it."""
        names = ("multiplier", "tau", "feature_energy", "weight_energy", "weight_decay", "feature_decay")
        return {name: getattr(self, name) for name in names}


def recipe_from(given: "Recipe | Mapping[str, Any] | None") -> Recipe:
    """A recipe from a dict of its settings, or an error that says how to give one."""
    if isinstance(given, Recipe):
        return given
    if given is None:
        raise InputError(
            "a recipe for rate='forecast'",
            "none",
            "give for example recipe={'weight_decay': 5e-4, 'step': 0.1, 'batch_size': 128}, or another rate",
        )
    if not isinstance(given, Mapping):
        raise InputError(
            "a dict of settings as the recipe", f"a {type(given).__name__}", "see lopsided.remedies.Recipe"
        )
    known = {field.name for field in fields(Recipe)}
    unknown = sorted(str(name) for name in given if name not in known)
    if unknown:
        raise InputError(f"settings among {', '.join(sorted(known))}", ", ".join(unknown))
    return Recipe(**given)
