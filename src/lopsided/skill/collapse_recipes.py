"""Named forecasts of the cosines between classifiers, for the families on two class sizes and on long tails.

A recipe is a function of the settings, of what is seen and of the pilots with their counts. It returns a function from
counts to a `PairForecast` (K x K expected cosines with 90 % intervals), or None if it does not apply. "another run" is
the run of the third seed at the ratio in question; it shows how well repeating the experiment would forecast it. A
family computes its answers from the cosines at its ratios, in the same way for a recipe, another run and the truth; but
a class is lost where the forecast itself lists it as lost or at risk, if it has such a list.

| recipe | what it knows |
|---|---|
| network forecast | the settings (BatchNorm under SGD), as the Monitor and the remedies use it |
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
from functools import partial
from typing import Any, Literal

import numpy as np

from lopsided.core.validation import BoolArray, FloatArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.collapse_runs import LATE_PILOT, PILOT, counts_at, tail_pilot_counts
from lopsided.skill.family import Amount, Choice, Forecaster, Question
from lopsided.skill.small_networks import HIDDEN_LAYERS, cosines_of_gram, mean_cosines
from lopsided.theory import network_forecast as public
from lopsided.theory.collapse import collapse
from lopsided.theory.merging_law import InputFacts, PilotRun, merging_law
from lopsided.theory.network_equilibrium import batchnorm_equilibrium, cosines_of_strengths
from lopsided.theory.survival_law import SurvivalForecast, survival_forecast
from lopsided.theory.training_settings import TrainingSettings

ANOTHER_RUN, DEFAULT = "another run", "network forecast"
UNSHIPPED = (ANOTHER_RUN, "survival law with pilot")  # an experiment; the other adds the pilot's errors to the law
LOST, TIE = 0.5, 0.1  # the cosine, and how close to it is a tie
KINDS = ("BatchNorm", "no BatchNorm", "AdamW")
_TINY = 1e-12  # of a strength: keeps the angles of classes that are all lost defined, and equal
ClassSizes = Sequence[float]
Seen = Mapping[str, Any]


@dataclass(frozen=True)
class PairForecast:
    """Expected cosines, with 90 % intervals of pairs and of means over pairs if the recipe has them.

    `lost`, by class, is the recipe's own answer if it has one.
    """

    cosines: FloatArray
    pairs: tuple[FloatArray, FloatArray] | None = None
    means: tuple[FloatArray, FloatArray] | None = None
    threshold_factor: float | None = None  # 90 % of the thresholds lie within this factor of the forecast
    lost: BoolArray | None = None


ByCounts = Callable[[ClassSizes], PairForecast]
Pilots = Mapping[str, tuple[ClassSizes, Numbers]]  # by name: class counts, and what is kept of the run
PairRecipe = Callable[[Settings, Seen, Pilots], ByCounts | None]


def kind_of(settings: Settings) -> str:
    """Kinds of networks for which numbers are scored separately."""
    if settings["optimiser"] != "sgd":
        return "AdamW"
    return "no BatchNorm" if settings["network"].startswith("plain") else "BatchNorm"


def training_of(settings: Settings) -> TrainingSettings:
    """The task's settings in the form that the theory takes."""
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


def _asked_of(settings: Settings) -> dict[str, Any] | None:
    """The inputs of the laws for networks with BatchNorm under SGD; None for other networks."""
    training = training_of(settings)
    if training.optimiser != "sgd" or not training.batch_norm:
        return None
    names = ("weight_decay", "step", "batch_size", "momentum", "hidden_layers")
    return {name: getattr(training, name) for name in names}


def _survival(pilot: bool) -> PairRecipe:
    def recipe(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
        known, (ran, run) = _asked_of(settings), pilots["pilot"]
        if known is None:
            return None
        known["pilot_loss"] = run["loss"] if pilot else None
        there = survival_forecast(list(ran), **known)
        miss = cosines_of_gram(run["gram"]) - there.cosines if pilot else 0.0

        def forecast(counts: ClassSizes) -> PairForecast:
            found = survival_forecast(list(counts), **known)
            # the pilot's miss carries over as far as both classes survive
            carried = found.cosines + np.outer(found.survival, found.survival) * miss
            return PairForecast(np.clip(carried, -1.0, 1.0), lost=_listed(found.at_risk, counts))

        return forecast

    return recipe


def _by_settings(forecast: Callable[[Settings, dict[str, Any], ClassSizes], PairForecast]) -> PairRecipe:
    """A recipe that needs only the settings, of networks with BatchNorm."""

    def recipe(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
        known = _asked_of(settings)
        return None if known is None else partial(forecast, settings, known)

    return recipe


def _equilibrium(settings: Settings, known: dict[str, Any], counts: ClassSizes) -> PairForecast:
    rest = batchnorm_equilibrium(list(counts), known["weight_decay"], known["batch_size"])
    return PairForecast(cosines_of_strengths(rest.strengths + _TINY), lost=rest.strengths <= 0)


def _network_forecast(settings: Settings, known: dict[str, Any], counts: ClassSizes) -> PairForecast:
    convolutional = training_of(settings).convolutional
    return _of_law(public.network_forecast(list(counts), **known, convolutional=convolutional))


def _listed(classes: Sequence[int], counts: ClassSizes | FloatArray) -> BoolArray:
    """Which classes are in a list."""
    return np.isin(np.arange(len(counts)), classes)


def _layer_peeled(hold: str) -> PairRecipe:
    def recipe(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
        if settings["optimiser"] != "sgd":
            return None
        classes, (_, run) = len(settings["classes"]), pilots["pilot"]
        weight, mean = (float(np.trace(run[name])) / classes for name in ("gram", "mean_gram"))
        held: dict[str, Any] = {"weight_energy": weight, "feature_energy": mean}
        if hold == "multiplier":
            held = {"multiplier": settings["weight_decay"] * float(np.sqrt(weight / mean))}

        def forecast(counts: ClassSizes) -> PairForecast:
            found = collapse(list(counts), **held)
            weights, _ = found.solution.factors()
            inner = weights @ weights.T + _TINY * np.ones((classes, classes))  # classifiers that vanish coincide
            return PairForecast(cosines_of_gram(inner), lost=_listed(found.collapsed, counts))

        return forecast

    return recipe


def _merging(*names: str, short: bool = False) -> PairRecipe:
    def recipe(settings: Settings, seen: Seen, pilots: Pilots) -> ByCounts | None:
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

        return lambda counts: _of_law(law.forecast(list(counts)))

    return recipe


def _of_law(found: SurvivalForecast) -> PairForecast:
    assert found.threshold_interval is not None
    factor = found.threshold_interval[1] / found.threshold_frequency
    lost = _listed(found.at_risk, found.counts.counts)
    return PairForecast(found.cosines, found.cosine_intervals, found.mean_intervals, factor, lost)


RECIPES: dict[str, PairRecipe] = {
    "network forecast": _by_settings(_network_forecast),
    "merging law": _merging(),
    "merging law with short pilot": _merging(short=True),
    "merging law with pilot": _merging("pilot"),
    "merging law with late pilot": _merging("late pilot"),
    "merging law with tail pilot": _merging("pilot", "tail"),
    "survival law": _survival(False),
    "survival law with pilot": _survival(True),
    "BatchNorm equilibrium": _by_settings(_equilibrium),
    "constant multiplier of the pilot": _layer_peeled("multiplier"),
    "measured energies of the pilot": _layer_peeled("energies"),
}

Ratios = Callable[[Settings], Sequence[float]]
Read = Callable[[Settings, FloatArray], FloatArray]  # from the cosines at one ratio to the values in question
ReadLost = Callable[[Settings, BoolArray], BoolArray]
ByRatio = Callable[[float], PairForecast]
PairSource = Callable[[Settings, Mapping[str, Any]], ByRatio | None]
Bounds = Callable[[PairForecast], tuple[FloatArray, FloatArray] | None]


def by_recipe(recipe: PairRecipe, counts: Callable[[Settings, float], Any] = counts_at) -> PairSource:
    """A recipe with its pilots, from a ratio on."""

    def source(settings: Settings, seen: Seen) -> ByRatio | None:
        pilots = {
            name: (counts_at(settings, ratio), seen["runs"][str(ratio)])
            for name, ratio in (("pilot", PILOT), ("late pilot", LATE_PILOT))
        }
        if "tail" in seen:
            pilots["tail"] = (tail_pilot_counts(settings), seen["tail"])
        law = recipe(settings, seen, pilots)
        return None if law is None else lambda ratio: law(counts(settings, ratio))

    return source


def another_run(settings: Settings, seen: Seen) -> ByRatio:
    """The run with the forecaster's own seed."""
    return lambda ratio: PairForecast(cosines_of_gram(seen["runs"][str(ratio)]["gram"]))


def happened(settings: Settings, truth: Mapping[str, Any]) -> ByRatio:
    """The mean over the two seeds."""
    return lambda ratio: PairForecast(mean_cosines(truth["runs"][str(ratio)]))


def lost_by(
    source: PairSource, ratios: Ratios, read: Read, read_lost: ReadLost, tie: float = 0.0
) -> Callable[[Settings, Any], list[Choice]]:
    """Lost if the value exceeds 1/2, undecided within `tie` of it; or the recipe's own answer."""

    def answer(settings: Settings, given: Mapping[str, Any]) -> list[Choice]:
        law = source(settings, given)
        if law is None:
            return [Choice(None)] * _asked(settings, ratios, read)
        answers: list[Choice] = []
        for forecast in map(law, ratios(settings)):
            if forecast.lost is not None:
                answers += [Choice("lost" if lost else "kept") for lost in read_lost(settings, forecast.lost)]
                continue
            for value in read(settings, forecast.cosines):
                answers.append(Choice(None if abs(value - LOST) < tie else "lost" if value > LOST else "kept"))
        return answers

    return answer


def values_by(
    source: PairSource, ratios: Ratios, read: Read, kind: str, bounds: Bounds | None = None
) -> Callable[[Settings, Any], list[Amount]]:
    """The value, for networks of one kind; `bounds` are the intervals, which only some recipes have."""

    def answer(settings: Settings, given: Mapping[str, Any]) -> list[Amount]:
        law = source(settings, given) if kind_of(settings) == kind else None
        if law is None:
            return [Amount(None)] * _asked(settings, ratios, read)
        found: list[Amount] = []
        for forecast in map(law, ratios(settings)):
            values = read(settings, forecast.cosines)
            ends = () if bounds is None else bounds(forecast) or ()
            columns = [values, *(read(settings, end) for end in ends)]
            found += [Amount(*map(float, own)) for own in zip(*columns, strict=True)]
        return found

    return answer


def _asked(settings: Settings, ratios: Ratios, read: Read) -> int:
    return len(ratios(settings)) * len(read(settings, np.eye(len(settings["classes"]))))


def lost_question(
    name: str,
    lost: Callable[[PairSource, float], Forecaster[Choice]],
    recipes: Mapping[str, PairRecipe],
    baselines: Mapping[str, Forecaster[Choice]],
) -> Question[Choice]:
    """A choice that every recipe, another run and the truth answer in the same way."""
    answers = {one: lost(by_recipe(recipe), 0.0) for one, recipe in recipes.items()}
    answers[ANOTHER_RUN] = lost(another_run, 0.0)
    return Question(name, lost(happened, TIE), answers, DEFAULT, baselines, unshipped=UNSHIPPED)


def questions_by_kind(
    name: str,
    read: Callable[[PairSource, str, bool], Forecaster[Amount]],
    recipes: Mapping[str, PairRecipe],
    baselines: Mapping[str, Forecaster[Amount]],
    miss: Literal["ratio", "difference"] = "difference",
    counts: Callable[[Settings, float], Any] = counts_at,
) -> list[Question[Amount]]:
    """The same for numbers, separately for every kind of network; only recipes give intervals (`read`'s last
    argument)."""
    found = []
    for kind in KINDS:
        answers = {one: read(by_recipe(recipe, counts), kind, True) for one, recipe in recipes.items()}
        answers[ANOTHER_RUN] = read(another_run, kind, False)
        truth = read(happened, kind, False)
        found.append(Question(f"{name}, {kind}", truth, answers, DEFAULT, baselines, miss, unshipped=UNSHIPPED))
    return found
