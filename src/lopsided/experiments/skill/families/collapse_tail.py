"""Which classes of a long tail does a network lose, and which pairs of classifiers turn together?

Random sets, classes, networks, training and profiles: sizes fall from the largest to a ratio-th of it, geometrically or
as a power of the rank. Each task trains the same network at three ratios. A forecaster sees the settings, one pilot at
ratio 10, a pilot of 2 % of the steps, and the class means of the pictures.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.experiments.claim import Measurement, Numbers, Settings
from lopsided.experiments.skill.family import Choice, ChoiceForecaster, ChoiceQuestion, Family

TASKS = 48
RATIOS = (30, 100, 300)
PILOT = 10


def tasks() -> Sequence[Settings]:
    """Specifications drawn by a generator of their own."""
    from lopsided.core.seeds import generator
    from lopsided.experiments.skill.small_networks import random_training

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
    """The last layer at every ratio. Seen are two pilots at ratio 10: a whole run, and 2 % of its steps."""
    from lopsided.experiments.skill.small_networks import class_similarity, short_steps, trained

    seen = {
        "pilot": trained(settings, counts_at(settings, PILOT), seed),
        "short": trained(settings, counts_at(settings, PILOT), seed, steps=short_steps(settings)),
        "data": class_similarity(settings, counts_at(settings, PILOT), seed),
    }
    runs = {str(ratio): trained(settings, counts_at(settings, ratio), seed) for ratio in _asked(settings)}
    return {"seen": seen, "truth": {"runs": runs}}


def _nearest(runs: Mapping[str, Any], ratio: int) -> np.ndarray:
    """Of every class, the largest cosine with another class."""
    from lopsided.experiments.skill.small_networks import cosines_of_gram

    found = cosines_of_gram(runs[str(ratio)]["gram"])
    np.fill_diagonal(found, -1.0)
    return found.max(axis=1)


def _true_lost(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    return [
        Choice(None if abs(cosine - 0.5) < 0.1 else "lost" if cosine > 0.5 else "kept")
        for ratio in _asked(settings)
        for cosine in _nearest(truth["runs"], ratio)
    ]


def _below(share: float) -> ChoiceForecaster:
    def answer(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
        profiles = [np.array(counts_at(settings, ratio)) for ratio in _asked(settings)]
        return [Choice("lost" if n < share * counts.sum() else "kept") for counts in profiles for n in counts]

    return answer


FAMILY = Family(
    id="skill-collapse-tail",
    title="Classes lost: long tails",
    tasks=tasks,
    measure=measure,
    needs=("mnist", "fashion-mnist", "cifar-10"),
    packages=("torch",),
    question=ChoiceQuestion(
        "is this class lost",
        _true_lost,
        {"under 1 % of the examples": _below(0.01)},
        "under 1 % of the examples",
        {"never": _below(0.0)},
    ),
)
MEASUREMENT = Measurement(FAMILY.id, FAMILY.version, measure)
