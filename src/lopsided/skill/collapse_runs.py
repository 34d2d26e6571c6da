"""What the collapse families measure: one small network at several ratios of class sizes, with three seeds.

Two seeds give the truth; a forecaster may see the third. This module makes no forecasts and imports no law, so a
changed recipe or constant is scored on the networks that were trained before (`engine.code`).

With n the largest size, classes in their order of size and a ratio R:

    two sizes   the first `majority` classes have n examples, the others n / R
    long tail   n_k = n R^(-k/(K-1)), or n (k+1)^(-ln R / ln K) where `profile` is "power"
"""

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.small_networks import class_similarity, repeated, short_steps, trained

RATIOS, TAIL_RATIOS = (5, 10, 20, 40, 80, 150, 300), (30, 100, 300)
PILOT, LATE_PILOT = 10, 40  # the ratios of pilot runs; questions are not about them
TAIL_PILOT = (8.0, 160.0)  # ratios of the largest and the smallest minority class in the pilot of all sizes


def asked(settings: Settings) -> list[int]:
    """Ratios that are possible with the set: the smallest class keeps at least one example."""
    ratios = RATIOS if "majority" in settings else TAIL_RATIOS
    return [ratio for ratio in ratios if ratio <= settings["largest"]]


def exact_counts(settings: Settings, ratio: float) -> FloatArray:
    """Class sizes, not rounded, so that a threshold can lie between two whole sizes."""
    classes, rank = len(settings["classes"]), np.arange(len(settings["classes"]))
    if "majority" in settings:
        fall = (rank >= settings["majority"]).astype(np.float64)
    elif settings["profile"] == "geometric":
        fall = rank / (classes - 1)
    else:
        fall = np.log(rank + 1) / np.log(classes)
    sizes: FloatArray = settings["largest"] / ratio**fall
    return sizes


def counts_at(settings: Settings, ratio: float) -> list[int]:
    """Class sizes; every class has at least one example."""
    return _whole(exact_counts(settings, ratio))


def tail_pilot_counts(settings: Settings) -> list[int]:
    """Minority classes of all sizes, in equal steps of log size: one run that shows which sizes are lost."""
    large, majority = settings["largest"], settings["majority"]
    return [large] * majority + _whole(large / np.geomspace(*TAIL_PILOT, len(settings["classes"]) - majority))


def _whole(sizes: FloatArray) -> list[int]:
    return [max(1, round(float(size))) for size in sizes]


def measure(settings: Settings, seed: int) -> Numbers:
    """The last layer at every ratio; seen are every ratio, both pilots, 2 % of the steps and, with two sizes, a pilot
    with a tail."""
    ratios = asked(settings)
    shown = dict.fromkeys((PILOT, LATE_PILOT, *ratios))
    seen = {
        "runs": {str(ratio): trained(settings, counts_at(settings, ratio), seed) for ratio in shown},
        "short": trained(settings, counts_at(settings, PILOT), seed, steps=short_steps(settings)),
        "data": class_similarity(settings, counts_at(settings, PILOT), seed),
    }
    if "majority" in settings:
        seen["tail"] = trained(settings, tail_pilot_counts(settings), seed)
    runs = {str(ratio): repeated(settings, counts_at(settings, ratio), seed) for ratio in ratios}
    return {"seen": seen, "truth": {"runs": runs}}
