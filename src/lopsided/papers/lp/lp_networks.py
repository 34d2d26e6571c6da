"""Do trained networks show minority collapse, and does the model with their measured energies predict it (Fig 2, 4)?

The measured cosine of minority classifiers is drawn over R together with five forecasts: the paper's, which plugs in
the energies of the same trained network, and four that could have been made before training. `network_forecasts` says
what each one uses. The survival law was fitted on perceptrons with BatchNorm on MNIST and Fashion-MNIST, so only the
convolutional networks test it. Those of the quick scale are the paper's at an eighth of the width, on fewer and smaller
pictures.
"""

import math
from collections.abc import Sequence

from lopsided.core.figure import Figure, Panel
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Power, Runs, Verdict, weigh
from lopsided.papers.lp.network_forecasts import ENERGIES, RECIPES, forecast_lines, recipe_errors
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_runs import network_claim
from lopsided.papers.shared.network_settings import (
    GARMENTS,
    LARGE,
    POWER_ADDED,
    RESNET,
    SLIM_ADDED,
    SLIM_GARMENTS,
    SLIM_RESNET,
    SLIM_VGG,
    SMALL,
    SPLITS,
    TINY,
    TINY_VGG,
    VGG,
    split_over,
    varied,
)
from lopsided.papers.shared.summary import chosen, crossings, curve, level, named, paired

COLLAPSED = 0.9  # of the mean minority cosine; scatter and noise keep real networks below 1
CLOSE = 0.1  # mean |forecast - measured| of a cosine
HALF = 0.5  # the level at which both curves' transitions are compared
FACTOR = 1.5


def curves(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of one network and split."""
    name = "{network} on {images}, ({majority_classes}, {minority_classes}), wd {weight_decay:g}"
    return named(rows, name, "ratio")


def judge(rows: Sequence[Row]) -> Verdict:
    """Collapse at the largest ratio, the error of the paper's forecast, and its transition point."""
    parts, numbers, sentences = [], {}, []
    for name, own in curves(rows).items():
        ratios = sorted({row.settings["ratio"] for row in own})
        least, most = chosen(own, ratio=ratios[0]), chosen(own, ratio=ratios[-1])
        end, rise = level(most, "minority_cosine"), paired(least, most, "minority_cosine")
        collapse = end.low > COLLAPSED and rise.low > 0
        power = Power(end.detects, 1 - COLLAPSED)
        parts.append(Part(f"{name}: collapse", collapse, end.high < COLLAPSED, power, end.mean - COLLAPSED))
        errors = {recipe: seed_mean(by.values()) for recipe, by in recipe_errors(own).items()}
        paper = errors[ENERGIES]
        parts.append(Part.below(f"{name}: cosines from measured energies", paper, CLOSE, claimed=CLOSE))
        measured = crossings(own, "minority_cosine", HALF)
        predicted = crossings(own, "energies_cosine", HALF)
        shifts = [_log_ratio(predicted[seed], measured[seed]) for seed in measured]
        shift = seed_mean([value for value in shifts if value is not None] or [math.nan])
        stated = f"{name}: transition from measured energies"
        parts.append(Part(stated, False) if None in shifts else Part.near(stated, shift, 0.0, math.log(FACTOR)))
        numbers[name] = {
            "cosine_at_largest_ratio": end,
            "rise": rise,
            "errors": errors,
            "half_at": measured,
            "half_predicted": predicted,
            "predicted_over_measured": math.exp(shift.mean) if math.isfinite(shift.mean) else None,
        }
        best = min(errors, key=lambda recipe: errors[recipe].mean)
        sentence = f"{name}: minority cosine {end.text()} at R = {ratios[-1]:g}; the model with measured energies errs "
        sentence += f"by {paper.text(2)}"
        if math.isfinite(shift.mean):
            sentence += f" and puts the transition at {math.exp(shift.mean):.2g} times its place"
        sentences.append(sentence + f"; best forecast: {best}, {errors[best].text(2)}")
    return weigh(parts, "; ".join(sentences), numbers)


def _log_ratio(predicted: float | None, measured: float | None) -> float | None:
    return None if predicted is None or measured is None else math.log(predicted / measured)


def plot(rows: Sequence[Row]) -> Figure:
    """Cosine over R, measured and forecast on the same axes."""
    panels = []
    for name, own in curves(rows).items():
        series = [curve(own, "ratio", "minority_cosine", "measured"), *forecast_lines(own, "ratio", RECIPES)]
        label = "average minority cosine"
        panels.append(Panel(name, "imbalance ratio R", label, series, x_log=True, y_range=(-0.25, 1.05)))
    caption = (
        "Solid: trained networks, 95 % intervals over seeds (paired over R). Dashed: forecasts; measured energies is "
        "the paper's recipe; the survival law was fitted on networks like the perceptrons here."
    )
    return Figure("Minority collapse, measured and forecast", panels, caption)


_RATIOS = (1, 5, 10, 20, 40, 80, 150, 300)
CLAIM = network_claim(
    id="lp-networks",
    rule="For each network and split, 95 % intervals over paired seeds: at the largest R the minority cosine is above "
    f"{COLLAPSED} and is higher than at the smallest; the model with measured energies has a mean error below {CLOSE} "
    f"over the ratios; its curve crosses {HALF} at an R within a factor of {FACTOR} of the measured one.",
    quick=Runs(
        [
            *varied(SMALL, ratio=_RATIOS),
            *(run for slim in (SLIM_GARMENTS, SLIM_VGG, SLIM_RESNET) for run in varied(slim, ratio=(1, 10, 200))),
        ],
        seeds=range(3),
    ),
    paper=Runs(
        [
            *varied(SMALL, ratio=_RATIOS),
            *split_over(LARGE, SPLITS, ratio=(1, 5, 10, 20, 40, 80, 160, 250, 500)),
            *varied({**LARGE, "network": "mlp-plain", "rate": 0.03}, ratio=(1, 10, 40, 160, 500)),
            *split_over(VGG, ((7, 3),), ratio=(1, 10, 40, 160, 500)),
            *split_over(RESNET, ((7, 3),), ratio=(1, 10, 40, 160, 500)),
            *split_over(GARMENTS, ((7, 3),), ratio=(1, 10, 40, 160, 500)),
        ],
        seeds=range(5),
    ),
    smoke=Runs([*varied(TINY, ratio=(1, 10, 40)), *varied(TINY_VGG, ratio=(1, 40))], seeds=range(2)),
    judge=judge,
    plot=plot,
    revised=f"{SLIM_ADDED} Then {POWER_ADDED}",
    needs=("mnist", "fashion-mnist", "cifar-10"),
    alternatives={"no dependence on R": constant("ratio")},
)
