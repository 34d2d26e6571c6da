"""Which classes of a long tail does a network lose, and which pairs of classifiers turn together?

Random sets, classes, networks, training and profiles: sizes fall from the largest to a ratio-th of it, geometrically or
as a power of the rank. Each task trains the same network at three ratios, with two seeds; what happened is the mean
cosine over the seeds. A forecaster sees the settings, the class means of the pictures, and pilots with a third seed:
ratio 10, ratio 40, and 2 % of the steps. The recipe "another run" is the third seed's run at the ratio in question.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
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

TASKS = 60
RATIOS = (30, 100, 300)
PILOT, LATE_PILOT = 10, 40
LOST, TIE = 0.5, 0.1  # the nearest class's cosine, and how close to it is a tie
FORECAST_LOST = 0.5
COSINE_WIDTH = 0.15  # of recipes without intervals of their own
DEFAULT = "merging law"


def tasks() -> Sequence[Settings]:
    """Specifications drawn by a generator of their own."""
    from lopsided.core.seeds import generator
    from lopsided.skill.small_networks import random_training

    random = generator(70119, "skill", "collapse tail")
    made = []
    for index in range(TASKS):
        settings = random_training(random)
        made.append({"index": index, **settings, "profile": str(random.choice(["geometric", "power"], p=[0.6, 0.4]))})
    return made


def counts_at(settings: Settings, ratio: float) -> list[int]:
    """n_k = n_0 R^(-k/(K-1)), or n_0 (k+1)^(-ln R / ln K); at least one example each."""
    classes = len(settings["classes"])
    rank = np.arange(classes)
    fall = rank / (classes - 1) if settings["profile"] == "geometric" else np.log(rank + 1) / np.log(classes)
    return [max(1, round(float(size))) for size in settings["largest"] * ratio ** (-fall)]


def _asked(settings: Settings) -> list[int]:
    """Ratios that the set can show: the smallest class keeps one example at least."""
    return [ratio for ratio in RATIOS if ratio <= settings["largest"]]


def measure(settings: Settings, seed: int) -> Numbers:
    """The last layer at every ratio. Seen is a seed of its own: every ratio, two pilots, 2 % of the steps."""
    from lopsided.skill.small_networks import class_similarity, repeated, short_steps, trained

    shown = (PILOT, LATE_PILOT, *_asked(settings))
    seen = {
        "runs": {str(ratio): trained(settings, counts_at(settings, ratio), seed) for ratio in shown},
        "short": trained(settings, counts_at(settings, PILOT), seed, steps=short_steps(settings)),
        "data": class_similarity(settings, counts_at(settings, PILOT), seed),
    }
    runs = {str(ratio): repeated(settings, counts_at(settings, ratio), seed) for ratio in _asked(settings)}
    return {"seen": seen, "truth": {"runs": runs}}


def _ratios_and_pairs(settings: Settings) -> tuple[list[int], tuple[IntArray, IntArray]]:
    first, second = np.triu_indices(len(settings["classes"]), 1)
    return _asked(settings), (first.astype(np.int64), second.astype(np.int64))


def _true_cosines(truth: Mapping[str, Any], ratio: int) -> FloatArray:
    from lopsided.skill.small_networks import mean_cosines

    return mean_cosines(truth["runs"][str(ratio)])


def _nearest(cosines: FloatArray) -> FloatArray:
    """Of every class, the largest cosine with another class."""
    others = cosines - 2.0 * np.eye(cosines.shape[0])
    found: FloatArray = others.max(axis=1)
    return found


def _true_lost(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    return [
        Choice(None if abs(cosine - LOST) < TIE else "lost" if cosine > LOST else "kept")
        for ratio in _asked(settings)
        for cosine in _nearest(_true_cosines(truth, ratio))
    ]


def _true_pairs(kind: str) -> Callable[[Settings, Mapping[str, Any]], list[Estimate]]:
    def truth_of(settings: Settings, truth: Mapping[str, Any]) -> list[Estimate]:
        ratios, pairs = _ratios_and_pairs(settings)
        asked = kind_of(settings) == kind
        return [
            Estimate(float(value) if asked else None)
            for ratio in ratios
            for value in _true_cosines(truth, ratio)[pairs]
        ]

    return truth_of


def _prepared(recipe: PairRecipe, settings: Settings, seen: Mapping[str, Any]) -> ByCounts | None:
    pilots = {"pilot": PILOT, "late pilot": LATE_PILOT}
    runs = {name: (counts_at(settings, ratio), seen["runs"][str(ratio)]) for name, ratio in pilots.items()}
    return recipe(settings, seen, runs)


def _by_cosine(recipe: PairRecipe) -> ChoiceForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        law = _prepared(recipe, settings, seen)
        if law is None:
            return [Choice(None)] * (len(_asked(settings)) * len(settings["classes"]))
        found = [_nearest(law(counts_at(settings, ratio)).cosines) for ratio in _asked(settings)]
        return [Choice("lost" if cosine > FORECAST_LOST else "kept") for row in found for cosine in row]

    return answer


def _pairs(recipe: PairRecipe, kind: str) -> NumberForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        ratios, pairs = _ratios_and_pairs(settings)
        law = _prepared(recipe, settings, seen) if kind_of(settings) == kind else None
        if law is None:
            return [Estimate(None)] * (len(ratios) * pairs[0].size)
        return [found for ratio in ratios for found in _estimates(law(counts_at(settings, ratio)), pairs)]

    return answer


def _estimates(found: PairForecast, pairs: tuple[IntArray, IntArray]) -> list[Estimate]:
    values = found.cosines[pairs]
    low, high = (
        (values - COSINE_WIDTH, values + COSINE_WIDTH)
        if found.pairs is None
        else (found.pairs[0][pairs], found.pairs[1][pairs])
    )
    return [Estimate(float(value), float(a), float(b)) for value, a, b in zip(values, low, high, strict=True)]


def _constant(value: Callable[[int], float]) -> NumberForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        ratios, pairs = _ratios_and_pairs(settings)
        return [Estimate(value(len(settings["classes"])))] * (len(ratios) * pairs[0].size)

    return answer


def _as_in_pilot(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
    ratios, pairs = _ratios_and_pairs(settings)
    values = _seen_cosines(seen, PILOT)[pairs]
    return [Estimate(float(value)) for _ in ratios for value in values]


def _seen_cosines(seen: Mapping[str, Any], ratio: int) -> FloatArray:
    from lopsided.skill.small_networks import cosines_of_gram

    return cosines_of_gram(seen["runs"][str(ratio)]["gram"])


def _another_lost(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    found = [_nearest(_seen_cosines(seen, ratio)) for ratio in _asked(settings)]
    return [Choice("lost" if cosine > FORECAST_LOST else "kept") for row in found for cosine in row]


def _another_pairs(kind: str) -> NumberForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Estimate]:
        (ratios, pairs), asked = _ratios_and_pairs(settings), kind_of(settings) == kind
        found = [value for ratio in ratios for value in _seen_cosines(seen, ratio)[pairs]]
        return [Estimate(float(value) if asked else None) for value in found]

    return answer


def _below(share: float) -> ChoiceForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        profiles = [np.array(counts_at(settings, ratio)) for ratio in _asked(settings)]
        return [Choice("lost" if n < share * counts.sum() else "kept") for counts in profiles for n in counts]

    return answer


TAIL_RECIPES = {name: recipe for name, recipe in RECIPES.items() if "tail pilot" not in name}
FAMILY = Family(
    id="skill-collapse-tail",
    title="Classes lost: long tails",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    packages=("torch",),
    version=2,
    question=ChoiceQuestion(
        "does this class merge with another",
        _true_lost,
        {name: _by_cosine(recipe) for name, recipe in TAIL_RECIPES.items()} | {ANOTHER_RUN: _another_lost},
        DEFAULT,
        {"never": _below(0.0), "under 1 % of the examples": _below(0.01), "under 0.3 %": _below(0.003)},
    ),
    numbers=tuple(
        NumberQuestion(
            f"pair cosine, {kind}",
            _true_pairs(kind),
            {name: _pairs(recipe, kind) for name, recipe in TAIL_RECIPES.items()} | {ANOTHER_RUN: _another_pairs(kind)},
            DEFAULT,
            {
                "as if balanced": _constant(lambda classes: -1.0 / (classes - 1)),
                "constant 0": _constant(lambda classes: 0.0),
                "as in the pilot": _as_in_pilot,
            },
        )
        for kind in KINDS
    ),
)
