"""At which ratio of two class sizes does a network lose its minority classes, and how far do they turn together?

Random sets, classes, networks, training and numbers of minority classes; each task trains the same network over a grid
of ratios, with two seeds (draw of the examples, start, order), since two seeds near the threshold can differ by half
the range; what happened is the mean cosine over the seeds. A forecaster sees the settings, class means and scatter of
the pictures, and pilots with a third seed: a run at ratio 10, one at ratio 40, one whose minority classes have all
sizes, and 2 % of the steps of the first. "Lost" means that the mean cosine between minority classifiers (centred over
classes) is above 1/2; R50 is where it passes 1/2, by linear interpolation in log R. The recipe "another run" is the
third seed's run at the ratio in question: what repeating the experiment would tell, to be compared with.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.collapse_recipes import (
    ANOTHER_RUN,
    KINDS,
    RECIPES,
    ByCounts,
    PairForecast,
    PairRecipe,
    kind_of,
)
from lopsided.skill.family import (
    Choice,
    ChoiceForecaster,
    ChoiceQuestion,
    Estimate,
    Family,
    NumberForecaster,
    NumberQuestion,
)

TASKS = 84
RATIOS = (5, 10, 20, 40, 80, 150, 300)
PILOT, LATE_PILOT = 10, 40  # the ratios of pilot runs; they are not asked about
TAIL_PILOT = (8.0, 160.0)  # ratios of the largest and the smallest minority class in the other pilot
LOST = 0.5
TIE = 0.1  # a cosine this close to 1/2 is a tie
# Of recipes without intervals of their own: nine of ten R50 and cosines should lie within these of the forecast.
THRESHOLD_FACTOR, COSINE_WIDTH = 1.8, 0.15


def tasks() -> Sequence[Settings]:
    """Specifications drawn by a generator of their own."""
    from lopsided.core.seeds import generator
    from lopsided.skill.small_networks import random_training

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
    """The last layer at every ratio. Seen is a seed of its own: every ratio, a tail of sizes, 2 % of the steps."""
    from lopsided.skill.small_networks import class_similarity, repeated, short_steps, trained

    runs = {str(ratio): repeated(settings, counts_at(settings, ratio), seed) for ratio in _asked(settings)}
    seen = {
        "runs": {str(ratio): trained(settings, counts_at(settings, ratio), seed) for ratio in _asked(settings)},
        "tail": trained(settings, tail_pilot_counts(settings), seed),
        "short": trained(settings, counts_at(settings, PILOT), seed, steps=short_steps(settings)),
        "data": class_similarity(settings, counts_at(settings, PILOT), seed),
    }
    return {"seen": seen, "truth": {"runs": runs}}


def _ratios(settings: Settings) -> list[int]:
    return [ratio for ratio in _asked(settings) if ratio not in (PILOT, LATE_PILOT)]


def _minority_mean(settings: Settings, cosines: FloatArray) -> float:
    block = cosines[settings["majority"] :, settings["majority"] :]
    size = block.shape[0]
    return float((block.sum() - np.trace(block)) / (size * (size - 1)))


def _true_cosine(settings: Settings, truth: Mapping[str, Any], ratio: int) -> float:
    from lopsided.skill.small_networks import mean_cosines

    return _minority_mean(settings, mean_cosines(truth["runs"][str(ratio)]))


def _true_lost(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    return [_lost(_true_cosine(settings, truth, ratio), TIE) for ratio in _ratios(settings)]


def _lost(cosine: float, tie: float) -> Choice:
    if abs(cosine - LOST) < tie:
        return Choice(None)
    return Choice("lost" if cosine > LOST else "kept")


def _true_cosines(kind: str) -> Callable[[Settings, Mapping[str, Any]], list[Estimate]]:
    def truth_of(settings: Settings, truth: Mapping[str, Any]) -> list[Estimate]:
        asked = kind_of(settings) == kind
        return [Estimate(_true_cosine(settings, truth, ratio) if asked else None) for ratio in _ratios(settings)]

    return truth_of


def _true_threshold(kind: str) -> Callable[[Settings, Mapping[str, Any]], list[Estimate]]:
    def truth_of(settings: Settings, truth: Mapping[str, Any]) -> list[Estimate]:
        ratios = np.array(_asked(settings), dtype=float)
        values = np.array([_true_cosine(settings, truth, int(ratio)) for ratio in ratios])
        crossing = _crossing(ratios, values)
        return [Estimate(crossing if kind_of(settings) == kind else None)]

    return truth_of


def _crossing(ratios: FloatArray, values: FloatArray) -> float | None:
    """Where the cosine first passes 1/2; None where that is not within the grid."""
    above = np.flatnonzero(values > LOST)
    if above.size == 0 or above[0] == 0:
        return None
    place = int(above[0])
    low, high = values[place - 1], values[place]
    share = (LOST - low) / (high - low)
    return float(ratios[place - 1] * (ratios[place] / ratios[place - 1]) ** share)


def _prepared(recipe: PairRecipe, settings: Settings, seen: Mapping[str, Any]) -> ByCounts | None:
    pilots = {
        "pilot": (counts_at(settings, PILOT), seen["runs"][str(PILOT)]),
        "late pilot": (counts_at(settings, LATE_PILOT), seen["runs"][str(LATE_PILOT)]),
        "tail": (tail_pilot_counts(settings), seen["tail"]),
    }
    return recipe(settings, seen, pilots)


def _by_cosine(recipe: PairRecipe) -> ChoiceForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        law = _prepared(recipe, settings, seen)
        if law is None:
            return [Choice(None)] * len(_ratios(settings))
        found = [law(counts_at(settings, ratio)).cosines for ratio in _ratios(settings)]
        return [_lost(_minority_mean(settings, cosines), 0.0) for cosines in found]

    return answer


def _cosine(recipe: PairRecipe, kind: str) -> NumberForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        law = _prepared(recipe, settings, seen) if kind_of(settings) == kind else None
        if law is None:
            return [Estimate(None)] * len(_ratios(settings))
        return [_mean_estimate(settings, law(counts_at(settings, ratio))) for ratio in _ratios(settings)]

    return answer


def _mean_estimate(settings: Settings, found: PairForecast) -> Estimate:
    value = _minority_mean(settings, found.cosines)
    if found.means is None:
        return Estimate(value, max(-1.0, value - COSINE_WIDTH), min(1.0, value + COSINE_WIDTH))
    low, high = (_minority_mean(settings, bound) for bound in found.means)
    return Estimate(value, low, high)


def _threshold(recipe: PairRecipe, kind: str) -> NumberForecaster:
    """R50 of a recipe: where its own cosine passes 1/2, on a fine grid of ratios."""

    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        law = _prepared(recipe, settings, seen) if kind_of(settings) == kind else None
        if law is None:
            return [Estimate(None)]
        ratios = np.geomspace(2.0, 1000.0, 30)
        found = [law(_exact_counts(settings, float(ratio))) for ratio in ratios]
        values = np.array([_minority_mean(settings, forecast.cosines) for forecast in found])
        value = _crossing(ratios, values)
        if value is None:
            return [Estimate(None)]
        factor = found[0].threshold_factor or THRESHOLD_FACTOR
        return [Estimate(value, value / factor, value * factor)]

    return answer


def _seen_cosine(settings: Settings, seen: Mapping[str, Any], ratio: int) -> float:
    from lopsided.skill.small_networks import cosines_of_gram

    return _minority_mean(settings, cosines_of_gram(seen["runs"][str(ratio)]["gram"]))


def _another_lost(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    return [_lost(_seen_cosine(settings, seen, ratio), 0.0) for ratio in _ratios(settings)]


def _another_cosine(kind: str) -> NumberForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        asked = kind_of(settings) == kind
        return [Estimate(_seen_cosine(settings, seen, ratio) if asked else None) for ratio in _ratios(settings)]

    return answer


def _another_threshold(kind: str) -> NumberForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        ratios = _asked(settings)
        values = np.array([_seen_cosine(settings, seen, ratio) for ratio in ratios])
        return [Estimate(_crossing(np.array(ratios, dtype=float), values) if kind_of(settings) == kind else None)]

    return answer


def _exact_counts(settings: Settings, ratio: float) -> list[float]:
    """As `counts_at`, not rounded: a threshold between two whole sizes is one of the ratio."""
    large, majority = settings["largest"], settings["majority"]
    return [float(large)] * majority + [large / ratio] * (len(settings["classes"]) - majority)


def _constant(value: float) -> NumberForecaster:
    return lambda settings, seen: [Estimate(value)] * len(_ratios(settings))


def _always(word: str) -> ChoiceForecaster:
    return lambda settings, seen: [Choice(word)] * len(_ratios(settings))


def _past(ratio: int) -> ChoiceForecaster:
    return lambda settings, seen: [Choice("lost" if asked > ratio else "kept") for asked in _ratios(settings)]


def _fixed(value: float) -> NumberForecaster:
    return lambda settings, seen: [Estimate(float(value))]


def _by_ratio(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
    """Straight in log R, from 0 at ratio 5 to 1 at ratio 300: knows nothing of the network."""
    values = [np.log(ratio / 5) / np.log(300 / 5) for ratio in _ratios(settings)]
    return [Estimate(float(value)) for value in values]


DEFAULT = "merging law"
FAMILY = Family(
    id="skill-collapse-ratio",
    title="Minority classes lost: two class sizes",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    packages=("torch",),
    version=3,
    question=ChoiceQuestion(
        "are the minority classes lost at this ratio",
        _true_lost,
        {name: _by_cosine(recipe) for name, recipe in RECIPES.items()} | {ANOTHER_RUN: _another_lost},
        DEFAULT,
        {"never": _always("kept"), "past ratio 100": _past(100), "past ratio 30": _past(30)},
    ),
    numbers=(
        *(
            NumberQuestion(
                f"R50, {kind}",
                _true_threshold(kind),
                {name: _threshold(recipe, kind) for name, recipe in RECIPES.items()}
                | {ANOTHER_RUN: _another_threshold(kind)},
                DEFAULT,
                {f"always {guess}": _fixed(guess) for guess in (30, 50, 100)},
                miss="ratio",
            )
            for kind in KINDS
        ),
        *(
            NumberQuestion(
                f"minority cosine, {kind}",
                _true_cosines(kind),
                {name: _cosine(recipe, kind) for name, recipe in RECIPES.items()}
                | {ANOTHER_RUN: _another_cosine(kind)},
                DEFAULT,
                {"constant 0": _constant(0.0), "constant 1/2": _constant(0.5), "by the ratio alone": _by_ratio},
            )
            for kind in KINDS
        ),
    ),
)
