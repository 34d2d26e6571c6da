"""Forecasts of the cosines between classifiers, by name: what the families on two class sizes and on long tails ask.

A recipe is a function of settings, what is seen and the pilots with their counts; it gives a function from counts to
a `PairForecast` (K x K expected cosines with 90 % intervals), or None where it has nothing to say.

| recipe | what it knows |
|---|---|
| BatchNorm equilibrium | the settings (networks with BatchNorm) |
| survival law, survival law with pilot | the settings; and the loss of a pilot at ratio 10 |
| constant multiplier of the pilot | lambda = wd sqrt(E_W / E_H) of a pilot at ratio 10 |
| measured energies of the pilot | E_W and E_H of a pilot at ratio 10, held (the Layer-Peeled paper's own recipe) |
| merging law | the settings, and class means and scatter of the inputs |
| merging law with short pilot | the settings, scatter, and class means of the features after 2 % of the steps |
| merging law with pilot | as merging law, and the angles at the end of a pilot at ratio 10 |
| merging law with late pilot | the same at ratio 40 |
| merging law with tail pilot | and those of a pilot whose minority classes have all sizes (two class sizes only) |
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.small_networks import HIDDEN_LAYERS, cosines_of_gram
from lopsided.theory.training_settings import TrainingSettings

ANOTHER_RUN = "another run"  # of the very task with another seed: a recipe of both families
KINDS = ("BatchNorm", "no BatchNorm", "AdamW")
_TINY = 1e-12  # of a strength: keeps the angles of classes that are all lost defined, and equal
Counts = Sequence[float]
Seen = Mapping[str, Any]


@dataclass(frozen=True)
class PairForecast:
    """Expected cosines; 90 % intervals of pairs and of means over pairs where the recipe has them."""

    cosines: FloatArray
    pairs: tuple[FloatArray, FloatArray] | None = None
    means: tuple[FloatArray, FloatArray] | None = None
    threshold_factor: float | None = None  # nine of ten thresholds lie within this factor of the forecast


ByCounts = Callable[[Counts], PairForecast]
Pilots = Mapping[str, tuple[Counts, Numbers]]  # by name: class counts, and what is kept of the run
PairRecipe = Callable[[Settings, Seen, Pilots], ByCounts | None]


def kind_of(settings: Settings) -> str:
    """The questions about numbers are asked apart for these."""
    if settings["optimiser"] != "sgd":
        return "AdamW"
    return "no BatchNorm" if settings["network"].startswith("plain") else "BatchNorm"


def training_of(settings: Settings) -> TrainingSettings:
    """The task's settings as the theory takes them."""
    name = settings["network"]
    return TrainingSettings(
        weight_decay=settings["weight_decay"],
        step=settings["rate"],
        batch_size=settings["batch"],
        momentum=settings["momentum"],
        hidden_layers=HIDDEN_LAYERS[name],
        batch_norm=not name.startswith("plain"),
        convolutional=name == "small cnn",
        optimiser=settings["optimiser"],
        schedule=settings["schedule"],
        steps=settings["steps"],
    )


def _survival(pilot: bool) -> PairRecipe:
    def recipe(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
        from lopsided.theory.survival_law import SurvivalForecast, survival_forecast

        training, (ran, run) = training_of(settings), pilots["pilot"]
        if training.optimiser != "sgd" or not training.batch_norm:
            return None

        def law(counts: Counts) -> SurvivalForecast:
            return survival_forecast(
                list(counts),
                weight_decay=training.weight_decay,
                step=training.step,
                batch_size=training.batch_size,
                momentum=training.momentum,
                hidden_layers=training.hidden_layers,
                pilot_loss=run["loss"] if pilot else None,
            )

        miss = cosines_of_gram(run["gram"]) - law(ran).cosines if pilot else 0.0

        def forecast(counts: Counts) -> PairForecast:
            found = law(counts)  # the pilot's miss carries over as far as both classes survive
            carried = found.cosines + np.outer(found.survival, found.survival) * miss
            return PairForecast(np.clip(carried, -1.0, 1.0))

        return forecast

    return recipe


def _equilibrium(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
    from lopsided.theory.network_equilibrium import batchnorm_equilibrium, cosines_of_strengths

    training = training_of(settings)
    if training.optimiser != "sgd" or not training.batch_norm:
        return None

    def forecast(counts: Counts) -> PairForecast:
        rest = batchnorm_equilibrium(list(counts), training.weight_decay, training.batch_size)
        return PairForecast(cosines_of_strengths(rest.strengths + _TINY))

    return forecast


def _layer_peeled(hold: str) -> PairRecipe:
    def recipe(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
        from lopsided.theory.layer_peeled.energy import restraint
        from lopsided.theory.layer_peeled.solve import solve_free

        if settings["optimiser"] != "sgd":
            return None
        classes, (_, run) = len(settings["classes"]), pilots["pilot"]
        weight, mean = (float(np.trace(run[name])) / classes for name in ("gram", "mean_gram"))
        if hold == "multiplier":
            held = restraint(classes, multiplier=settings["weight_decay"] * float(np.sqrt(weight / mean)))
        else:
            held = restraint(classes, weight_energy=weight, feature_energy=mean)

        def forecast(counts: Counts) -> PairForecast:
            weights, _ = solve_free(np.asarray(counts, dtype=np.float64), held).factors()
            inner = weights @ weights.T + _TINY * np.ones((classes, classes))  # classifiers that vanish coincide
            return PairForecast(cosines_of_gram(inner))

        return forecast

    return recipe


def _merging(*names: str, short: bool = False) -> PairRecipe:
    def recipe(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
        from lopsided.theory.merging_law import InputFacts, PilotRun, merging_law

        data = seen["data"]
        likeness = cosines_of_gram(seen["short"]["mean_gram"]) if short else np.array(data["mean_cosines"])
        law = merging_law(
            training_of(settings),
            len(settings["classes"]),
            similarity=likeness,
            pilots=[
                PilotRun(list(ran), cosines_of_gram(run["gram"]), run["loss"])
                for ran, run in (pilots[name] for name in names)
            ],
            inputs=InputFacts(data["input_norm"], data["scatter"]),
        )
        if law.beyond:
            return None

        def forecast(counts: Counts) -> PairForecast:
            found = law.forecast(list(counts))
            assert found.threshold_interval is not None
            factor = found.threshold_interval[1] / found.threshold_frequency
            return PairForecast(found.cosines, found.cosine_intervals, found.mean_intervals, factor)

        return forecast

    return recipe


RECIPES: dict[str, PairRecipe] = {
    "merging law": _merging(),
    "merging law with short pilot": _merging(short=True),
    "merging law with pilot": _merging("pilot"),
    "merging law with late pilot": _merging("late pilot"),
    "merging law with tail pilot": _merging("pilot", "tail"),
    "survival law": _survival(False),
    "survival law with pilot": _survival(True),
    "BatchNorm equilibrium": _equilibrium,
    "constant multiplier of the pilot": _layer_peeled("multiplier"),
    "measured energies of the pilot": _layer_peeled("energies"),
}
