"""gi-features-mixture: do a network's features fit two Gaussians nearly as well as samples of that mixture would?

Three log-likelihoods are compared, in bits per dimension (Li et al. 2024, Section F): of the features under two groups
found by EM, of samples drawn from that mixture under two groups fitted to them, and of the features under one Gaussian.
The paper scores the data that it fitted, which favours many parameters; here one half of the pictures is fitted and the
other half scored, and the paper's reading is reported as well. Features are represented by their leading principal
components (at most one per 50 pictures), because ReLU units that are zero for most pictures have no density.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.figure import Bars, Figure, Panel
from lopsided.core.seeds import generator
from lopsided.core.statistics import SeedMean, seed_mean
from lopsided.core.validation import FloatArray
from lopsided.data.mixture import draw_features
from lopsided.data.mixture_estimate import bits_per_dimension, estimate_by_em
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.gi import group_pictures as pictures
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.network_settings import POWER_ADDED
from lopsided.papers.shared.summary import by_world

PER_DIRECTION = 50
LEAST_VARIANCE = 1e-3  # of the largest: below it a direction is rounding and dead units
GAIN, SHORTFALL = 0.55, 0.17  # of the paper's features, in bits per dimension
KINDS = ("two groups", "samples of two groups", "one Gaussian")


def measure(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Bits per dimension, scored on pictures that were not fitted, and on those that were."""
    trained, _, test, _, scaled = pictures.trained_on_groups(settings, seed)
    features = np.asarray(trained.features(scaled(test.planes())), dtype=np.float64)
    points = _leading(features[generator(seed, "halves").permutation(len(features))])
    half = len(points) // 2
    fitted, kept = points[:half], points[half:]
    numbers: dict[str, Any] = {"dimension": int(points.shape[1]), "held_out": {}, "fitted": {}}
    try:
        two, one = estimate_by_em(fitted, 2, seed=seed).mixture, estimate_by_em(fitted, 1, seed=seed).mixture
        drawn, _ = draw_features(two, len(points), generator(seed, "samples"))
        again = estimate_by_em(drawn[:half], 2, seed=seed).mixture
    except InputError as error:
        return numbers | {"declined": str(error)}
    for name, mixture, own, others in (
        (KINDS[0], two, fitted, kept),
        (KINDS[1], again, drawn[:half], drawn[half:]),
        (KINDS[2], one, fitted, kept),
    ):
        numbers["fitted"][name] = bits_per_dimension(own, mixture)
        numbers["held_out"][name] = bits_per_dimension(others, mixture)
    return numbers | {"declined": None}


def _leading(features: FloatArray) -> FloatArray:
    """Principal components with variance above zero, at most one per PER_DIRECTION pictures, the first with unit
    deviation."""
    centred = features - features.mean(axis=0)
    variances, turn = np.linalg.eigh(centred.T @ centred / len(centred))
    keep = min(int((variances > LEAST_VARIANCE * variances[-1]).sum()), max(1, len(features) // PER_DIRECTION))
    return np.asarray(centred @ turn[:, -keep:] / np.sqrt(variances[-1]))


def _name(row: Row) -> str:
    return f"{row.settings['network']} on {row.settings['images']}"


def _gain(row: Row, how: str) -> float:
    """Two groups over one Gaussian."""
    return float(row.numbers[how][KINDS[0]] - row.numbers[how][KINDS[2]])


def _shortfall(row: Row, how: str) -> float:
    """The mixture's own samples over the features."""
    return float(row.numbers[how][KINDS[1]] - row.numbers[how][KINDS[0]])


def judge(rows: Sequence[Row]) -> Verdict:
    """The gain over one Gaussian, and how far the features fall short of the mixture's own samples."""
    numbers: dict[str, Any] = {}
    parts, words = [], []
    for name, every in by_world(rows, _name).items():
        own = [row for row in every if row.numbers["declined"] is None]
        if len(own) < 2:
            reasons = [row.numbers["declined"] for row in every if row.numbers["declined"] is not None]
            numbers[name] = {"declined": reasons}
            words.append(f"{name}: too few runs with a fit" + (f" ({reasons[0].rstrip('.')})" if reasons else ""))
            parts.append(Part(f"{name}: fits two groups", False))
            continue
        gain, short = (seed_mean(value(row, "held_out") for row in own) for value in (_gain, _shortfall))
        slack = seed_mean(_gain(row, "held_out") / 2 - _shortfall(row, "held_out") for row in own)
        excess = seed_mean(_shortfall(row, "held_out") - _gain(row, "held_out") for row in own)
        numbers[name] = {
            "gain": gain,
            "shortfall": short,
            "as_the_paper_scores": {
                "gain": seed_mean(_gain(row, "fitted") for row in own),
                "shortfall": seed_mean(_shortfall(row, "fitted") for row in own),
            },
            "dimension": own[0].numbers["dimension"],
            "bits": {kind: seed_mean(row.numbers["held_out"][kind] for row in own) for kind in KINDS},
        }
        words.append(
            f"{name}: two groups gain {_bits(gain)} over one Gaussian and fall short of their own samples by "
            f"{_bits(short)} (on the fitted pictures, as the paper scores: "
            f"{numbers[name]['as_the_paper_scores']['gain'].mean:.2f} and "
            f"{numbers[name]['as_the_paper_scores']['shortfall'].mean:.2f})"
        )
        near = Part.above(f"{name}: nearly as well as its own samples", slack, claimed=GAIN / 2 - SHORTFALL)
        parts += [
            Part.above(f"{name}: better than one Gaussian", gain, claimed=GAIN),
            replace(near, opposite=excess.low > 0),
        ]
    return weigh(parts, "Bits per dimension on pictures not fitted: " + "; ".join(words), numbers)


def _bits(value: SeedMean) -> str:
    return f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]"


def plot(rows: Sequence[Row]) -> Figure:
    """The three scores in each world."""
    panels = []
    for name, every in by_world(rows, _name).items():
        own = [row for row in every if row.numbers["declined"] is None]
        levels = [seed_mean(row.numbers["held_out"][kind] for row in own) for kind in KINDS] if own else []
        bars = Bars(list(KINDS[: len(levels)]), [level.mean for level in levels], "pictures not fitted")
        panels.append(Panel(name, "", "log-likelihood (bits per dimension)", [bars]))
    return Figure(
        "Features as a mixture of two Gaussians",
        panels,
        "Means over seeds; higher is a better fit. The verdict has the intervals.",
    )


_MANY = {"majority_size": 800, "minority_size": 400, "test_per_group": 1000}
CLAIM = Claim(
    id="gi-features-mixture",
    rule="In every world, on pictures not fitted: two groups beat one Gaussian, and the shortfall against the "
    f"mixture's own samples is below half of that gain (in the paper {SHORTFALL} against {GAIN}), both by 95 % "
    "intervals over seeds; the opposite of the second is a shortfall beyond the whole gain. Partly if at least half of "
    "the parts hold.",
    quick=Runs([{**pictures.QUICK_PLANES, **_MANY}, {**pictures.QUICK_DIGITS, **_MANY}], seeds=range(16)),
    paper=Runs(
        pictures.AlsoFaces([pictures.PAPER_PLANES, pictures.RESNET_PLANES, pictures.PAPER_GARMENTS], [pictures.FACES]),
        seeds=range(5),
    ),
    smoke=Runs([{**pictures.TINY_DIGITS, "test_per_group": 150}], seeds=range(2)),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={
        "held out": "half of the test pictures is fitted, the other half scored; the paper scores what it fitted"
    },
    revised=f"the two conditions of each world are separate parts; {POWER_ADDED} Then 16 seeds replaced 4 and "
    "8, with which the verdict changed between seed sets.",
    quick_budget_seconds=40.0,
    **pictures.NEEDED,
    alternatives={
        "one Gaussian does as well": renumbered(
            lambda row: {"held_out": {**row.numbers["held_out"], KINDS[0]: row.numbers["held_out"].get(KINDS[2], 0.0)}}
        )
    },
)
