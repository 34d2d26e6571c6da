"""Will a wide network of this width stay near its initialisation, and how far will it go?

The data are random mixtures of clusters as in Section 7 of Li and Liang (2018); widths, steps and rates are random. A
forecaster sees a pilot: a network of one eighth of the width trained on the same data, at one eighth of the cost.
"Stays near" means a relative distance |W - W0|_F / |W0|_F below 0.1 at the end. By the paper's scaling, the distance
falls as 1/sqrt(m).
"""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from lopsided.engine.task import Numbers, Settings
from lopsided.skill.family import Amount, Choice, Family, Question, constant, drawn_tasks
from lopsided.skill.scoring import Z90

TASKS = 40
NEAR = 0.1
PILOT_SHARE = 8
# 90 % of the distances should lie within this factor. Chosen by hand: the scored coverage depends on it.
WITHIN = 1.25
TIE = 0.05  # relative: closer to the border than this is a tie


@drawn_tasks("skill-width", TASKS)
def tasks(random: np.random.Generator, _: int) -> Settings:
    """Settings of one task."""
    return {
        "width": int(2 ** random.uniform(7.5, 12.0)),
        "components": int(random.integers(1, 5)),
        "dimension": int(random.choice([50, 200, 500])),
        "spread": float(round(random.uniform(0.5, 2.0), 2)),
        "train": int(random.choice([300, 1000])),
        "steps": int(random.choice([100, 300, 800])),
        "rate_times_width": float(random.choice([3.0, 10.0, 30.0])),
        "batch": 16,
    }


def _end(settings: Settings, width: int, seed: int) -> float:
    """|W - W0|_F / |W0|_F after the run at that width."""
    from lopsided.core.seeds import generator
    from lopsided.data.clusters import ClusterSpec, random_mixture, sample_mixture
    from lopsided.learners.wide_descent import wide_run
    from lopsided.measure.weight_change import Travelled

    spec = ClusterSpec(**{name: settings[name] for name in ("components", "dimension", "spread")})
    mixture = random_mixture(spec, generator(seed, "mixture"))
    train = sample_mixture(mixture, settings["train"], generator(seed, "train"))
    chosen = {name: settings[name] for name in ("steps", "batch", "rate_times_width")}
    states = wide_run(train.points, train.labels, classes=spec.classes, width=width, seed=seed, **chosen)
    travelled = Travelled(states.network.hidden)
    for state in states:
        travelled.follow(state.batch_displacement, state.batch_update, state.batch_gram)
    return travelled.relative


def measure(settings: Settings, seed: int) -> Numbers:
    """The distance at full width (two seeds) and at an eighth of it (another)."""
    world = settings["index"]
    pilot_width = max(8, settings["width"] // PILOT_SHARE)
    values = [_end(settings, settings["width"], 1000 * world + 2 * seed + k) for k in (1, 2)]
    pilot = _end(settings, pilot_width, 1000 * world + 2 * seed + 1)
    return {"seen": {"pilot_width": pilot_width, "pilot_distance": pilot}, "truth": {"distances": values}}


def _side(distance: float, tie: float) -> Choice:
    if abs(math.log(distance / NEAR)) <= tie:
        return Choice(None)
    return Choice("near" if distance < NEAR else "far")


def _true_side(settings: Settings, truth: Mapping[str, Any]) -> list[Choice]:
    sides = {_side(value, TIE).answer for value in truth["distances"]}
    return [Choice(sides.pop() if len(sides) == 1 else None)]


def _scaled(settings: Settings, seen: Mapping[str, Any]) -> float:
    return float(seen["pilot_distance"] * math.sqrt(seen["pilot_width"] / settings["width"]))


def _by_pilot(settings: Settings, seen: Mapping[str, Any]) -> list[Choice]:
    distance = _scaled(settings, seen)
    sure = NormalDist().cdf(abs(math.log(distance / NEAR)) * Z90 / math.log(WITHIN))
    return [Choice(_side(distance, 0.0).answer, confidence=sure)]


def _true_distance(settings: Settings, truth: Mapping[str, Any]) -> list[Amount]:
    values = truth["distances"]
    return [Amount(sum(values) / len(values))]


def _distance(settings: Settings, seen: Mapping[str, Any]) -> list[Amount]:
    value = _scaled(settings, seen)
    return [Amount(value, value / WITHIN, value * WITHIN)]


FAMILY = Family(
    id="skill-width",
    title="Wide networks: near or far",
    tasks=tasks,
    measure=measure,
    question=Question(
        "does it stay near its initialisation",
        _true_side,
        # Theorem 4.1 needs m of order (k l / delta)^20, far above every width here, so it never applies.
        {"pilot, scaled by 1/sqrt(width)": _by_pilot, "Theorem 4.1's width": constant(Choice("far"))},
        "pilot, scaled by 1/sqrt(width)",
        {"always near": constant(Choice("near")), "always far": constant(Choice("far"))},
        unshipped=("pilot, scaled by 1/sqrt(width)", "Theorem 4.1's width"),
    ),
    numbers=(
        Question(
            "relative distance",
            _true_distance,
            {"pilot, scaled by 1/sqrt(width)": _distance},
            "pilot, scaled by 1/sqrt(width)",
            {"the pilot's own distance": lambda settings, seen: [Amount(float(seen["pilot_distance"]))]},
            miss="ratio",
            unshipped=("pilot, scaled by 1/sqrt(width)",),
        ),
    ),
)
