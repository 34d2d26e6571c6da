"""At which ratio of two class sizes does a network lose its minority classes, and how far do they turn together?

Random sets, architectures, weight decays, rates, batch sizes and numbers of minority classes; each task trains the
same network over a grid of ratios. A forecaster sees the settings and one pilot run at ratio 10. "Lost" means that the
mean cosine between minority classifiers (centred over classes) is above 1/2; R50 is where it passes 1/2, by linear
interpolation in log R.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lopsided.experiments.claim import Measurement, Numbers, Settings
from lopsided.experiments.skill.family import (
    Choice,
    ChoiceForecaster,
    ChoiceQuestion,
    Estimate,
    Family,
    NumberForecaster,
    NumberQuestion,
)

TASKS = 56
RATIOS = (5, 10, 20, 40, 80, 150, 300)
PILOT = 10  # the ratio of the pilot run; it is not asked about
TAIL_PILOT = (8.0, 160.0)  # ratios of the largest and the smallest minority class in the other pilot
LOST = 0.5
TIE = 0.1  # a cosine this close to 1/2 is a tie
# Nine of ten R50 should lie in this range around the forecast, and nine of ten cosines within so much of it.
THRESHOLD_FACTOR, COSINE_WIDTH = 1.8, 0.15


def tasks() -> Sequence[Settings]:
    """Specifications drawn by a generator of their own."""
    from lopsided.core.seeds import generator
    from lopsided.experiments.skill.small_networks import random_training

    random = generator(70119, "skill", "collapse ratio")
    made = []
    for index in range(TASKS):
        settings = random_training(random)
        classes = len(settings["classes"])
        share = float(random.choice([0.3, 0.5, 0.7]))
        majority = int(np.clip(round(share * classes), 1, classes - 2))
        made.append({"index": index, **settings, "majority": majority})
    return made


def counts_at(settings: Settings, ratio: float) -> list[int]:
    """Majority classes first; a minority class has at least one example."""
    large, majority = settings["largest"], settings["majority"]
    return [large] * majority + [max(1, round(large / ratio))] * (len(settings["classes"]) - majority)


def tail_pilot_counts(settings: Settings) -> list[int]:
    """Minority classes of all sizes, in equal steps of log size: one run that shows which sizes are lost."""
    large, majority = settings["largest"], settings["majority"]
    ratios = np.geomspace(*TAIL_PILOT, len(settings["classes"]) - majority)
    return [large] * majority + [max(1, round(large / ratio)) for ratio in ratios]


def _asked(settings: Settings) -> list[int]:
    """Ratios that the set can show: a minority class keeps one example at least."""
    return [ratio for ratio in RATIOS if ratio <= settings["largest"]]


def measure(settings: Settings, seed: int) -> Numbers:
    """The last layer at every ratio. Seen are three pilots: ratio 10, a tail of sizes, and 2 % of the steps."""
    from lopsided.experiments.skill.small_networks import class_similarity, short_steps, trained

    runs = {str(ratio): trained(settings, counts_at(settings, ratio), seed) for ratio in _asked(settings)}
    seen = {
        "pilot": runs[str(PILOT)],
        "tail": trained(settings, tail_pilot_counts(settings), seed),
        "short": trained(settings, counts_at(settings, PILOT), seed, steps=short_steps(settings)),
        "data": class_similarity(settings, counts_at(settings, PILOT), seed),
    }
    return {"seen": seen, "truth": {"runs": runs}}


def _ratios(settings: Settings) -> list[int]:
    return [ratio for ratio in _asked(settings) if ratio != PILOT]


def _true_lost(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    return [_lost(truth["cosines"][str(ratio)], TIE) for ratio in _ratios(settings)]


def _lost(cosine: float | None, tie: float) -> Choice:
    if cosine is None or abs(cosine - LOST) < tie:
        return Choice(None)
    return Choice("lost" if cosine > LOST else "kept")


def _true_cosines(settings: Settings, truth: Mapping[str, Any]) -> list[Estimate]:
    return [Estimate(truth["cosines"][str(ratio)]) for ratio in _ratios(settings)]


def _true_threshold(settings: Settings, truth: Mapping[str, Any]) -> list[Estimate]:
    ratios = np.array(_asked(settings), dtype=float)
    values = np.array([truth["cosines"][str(int(ratio))] for ratio in ratios])
    above = np.flatnonzero(values > LOST)
    if above.size == 0 or above[0] == 0:
        return [Estimate(None)]  # not within the grid
    place = int(above[0])
    low, high = values[place - 1], values[place]
    share = (LOST - low) / (high - low)
    return [Estimate(float(ratios[place - 1] * (ratios[place] / ratios[place - 1]) ** share))]


def _depth(settings: Settings) -> int:
    return {"mlp 1": 1, "mlp 2": 2, "mlp 3": 3, "plain mlp 2": 2, "small cnn": 3}[settings["network"]]


def _survival(settings: Settings, ratio: float, pilot_loss: float | None) -> Any:
    from lopsided.theory.survival_law import survival_forecast

    return survival_forecast(
        counts_at(settings, ratio),
        weight_decay=settings["weight_decay"],
        step=settings["rate"],
        batch_size=settings["batch"],
        momentum=settings["momentum"],
        hidden_layers=_depth(settings),
        pilot_loss=pilot_loss,
    )


def _survival_cosine(settings: Settings, seen: Mapping[str, Any], ratio: float, pilot: bool) -> float:
    """The expected cosine; with a pilot, shifted by its miss at ratio 10 as far as classes survive."""
    forecast = _survival(settings, ratio, seen["pilot_loss"] if pilot else None)
    value = float(forecast.minority_cosine)
    if not pilot:
        return value
    at_pilot = _survival(settings, PILOT, seen["pilot_loss"])
    kept = float(forecast.survival.min())
    return float(np.clip(value + kept**2 * (seen["pilot_cosine"] - at_pilot.minority_cosine), -1.0, 1.0))


def _equilibrium_cosine(settings: Settings, seen: Mapping[str, Any], ratio: float) -> float:
    from lopsided.theory.network_equilibrium import batchnorm_equilibrium

    rest = batchnorm_equilibrium(counts_at(settings, ratio), settings["weight_decay"], settings["batch"])
    return float(rest.cosines()[-1, -2])


def _multiplier(settings: Settings, seen: Mapping[str, Any]) -> float:
    """lambda = wd sqrt(E_W / E_H) of the pilot."""
    return float(settings["weight_decay"] * np.sqrt(seen["pilot_weight_energy"] / seen["pilot_mean_energy"]))


def _multiplier_cosine(settings: Settings, seen: Mapping[str, Any], ratio: float) -> float | None:
    from lopsided.theory.collapse import collapse

    return collapse(counts_at(settings, ratio), multiplier=_multiplier(settings, seen)).minority_cosine


CosineRule = Any  # (settings, seen, ratio) -> cosine or None
RULES: dict[str, CosineRule] = {
    "survival law": lambda settings, seen, ratio: _survival_cosine(settings, seen, ratio, False),
    "survival law with pilot": lambda settings, seen, ratio: _survival_cosine(settings, seen, ratio, True),
    "BatchNorm equilibrium": _equilibrium_cosine,
    "constant multiplier of the pilot": _multiplier_cosine,
}


def _by_cosine(rule: CosineRule) -> ChoiceForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        return [_lost(rule(settings, seen, ratio), 0.0) for ratio in _ratios(settings)]

    return answer


def _cosine(rule: CosineRule) -> NumberForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        values = [rule(settings, seen, ratio) for ratio in _ratios(settings)]
        return [
            Estimate(None) if v is None else Estimate(v, max(-1.0, v - COSINE_WIDTH), min(1.0, v + COSINE_WIDTH))
            for v in values
        ]

    return answer


def _threshold(rule: CosineRule) -> NumberForecaster:
    """R50 of a rule: where its own cosine passes 1/2, on a fine grid of ratios."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        grid = np.geomspace(2.0, 1000.0, 60)
        for low, high in pairwise(grid):
            if (rule(settings, seen, float(high)) or -1.0) > LOST:
                value = float(np.sqrt(low * high))
                return [Estimate(value, value / THRESHOLD_FACTOR, value * THRESHOLD_FACTOR)]
        return [Estimate(None)]

    return answer


def _constant(value: float) -> NumberForecaster:
    return lambda settings, seen: [Estimate(value)] * len(_ratios(settings))


def _always(word: str) -> ChoiceForecaster:
    return lambda settings, seen: [Choice(word)] * len(_ratios(settings))


def _past(ratio: int) -> ChoiceForecaster:
    return lambda settings, seen: [Choice("lost" if asked > ratio else "kept") for asked in _ratios(settings)]


FAMILY = Family(
    id="skill-collapse-ratio",
    title="Minority classes lost: two class sizes",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    packages=("torch",),
    version=2,
    question=ChoiceQuestion(
        "are the minority classes lost at this ratio",
        _true_lost,
        {name: _by_cosine(rule) for name, rule in RULES.items()},
        "survival law",
        {"never": _always("kept"), "past ratio 100": _past(100), "past ratio 30": _past(30)},
    ),
    numbers=(
        NumberQuestion(
            "R50",
            _true_threshold,
            {name: _threshold(rule) for name, rule in RULES.items()},
            "survival law",
            {"always 50": lambda settings, seen: [Estimate(50.0)]},
            miss="ratio",
        ),
        NumberQuestion(
            "minority cosine",
            _true_cosines,
            {name: _cosine(rule) for name, rule in RULES.items()},
            "survival law",
            {"constant 0": _constant(0.0), "constant 1/2": _constant(0.5)},
        ),
    ),
)
MEASUREMENT = Measurement(FAMILY.id, FAMILY.version, measure)
