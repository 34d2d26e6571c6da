"""With the minority's training data fixed, does more majority data lower the minority's test accuracy (Fig 5)?

The test restricted to minority logits (`minority_inner`) shows whether the network still distinguishes the minority
classes and only mistakes them for majority classes, which a threshold could correct.
"""

from collections.abc import Sequence

from lopsided.core.figure import Figure, Panel
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_runs import network_claim
from lopsided.papers.shared.network_settings import (
    LARGE,
    POWER_ADDED,
    RESNET,
    SLIM_ADDED,
    SLIM_RESNET,
    SLIM_VGG,
    SMALL,
    SPLITS,
    TINY,
    VGG,
    split_over,
)
from lopsided.papers.shared.summary import NOTICEABLE, chosen, curve, level, named, paired

EQUAL_STEPS, EQUAL_EPOCHS = "equal steps", "equal epochs"
READINGS = {
    EQUAL_STEPS: "as many steps with little majority data as with much, so that only the data differ",
    EQUAL_EPOCHS: "as many epochs, as the paper trains: with little majority data fewer steps",
}


def _settings(
    base: dict[str, object],
    minority: int,
    ratios: Sequence[int],
    reading: str,
    splits: Sequence[tuple[int, int]] = SPLITS,
) -> list[dict[str, object]]:
    return [
        {**split, "minority_size": minority, "majority_size": minority * ratio, "growth": ratio, "reading": reading}
        for split in split_over(base, splits)
        for ratio in ratios
    ]


def _curves(rows: Sequence[Row]) -> dict[str, list[Row]]:
    name = "({majority_classes}, {minority_classes}) {network} on {images}, {reading}"
    return named(rows, name, "majority_classes", "growth")


def judge(rows: Sequence[Row]) -> Verdict:
    """Minority test accuracy at the largest majority minus that at equal sizes, paired."""
    parts, numbers, words = [], {}, []
    for name, own in _curves(rows).items():
        ratios = sorted({row.settings["growth"] for row in own})
        first, last = chosen(own, growth=ratios[0]), chosen(own, growth=ratios[-1])
        change = paired(first, last, "test_minority")
        parts.append(Part.below(name, change, claimed=NOTICEABLE))
        inner = paired(first, last, "test_minority_inner")
        minority, balanced, natural = (
            [level(end, f"test_{key}") for end in (first, last)] for key in ("minority", "balanced", "natural")
        )
        numbers[name] = {
            "minority_at_equal_sizes": minority[0],
            "minority_at_largest": minority[1],
            "change": change,
            "change_among_minority_classes": inner,
            "balanced": balanced,
            "natural_mix": natural,
        }
        words.append(
            f"{name}: from {minority[0].percent()} at R = {ratios[0]} to {minority[1].percent()} at R = {ratios[-1]}, "
            f"among minority classes alone by {inner.percent()}, balanced {100 * balanced[0].mean:.0f} to "
            f"{100 * balanced[1].mean:.0f} %, natural mix {100 * natural[0].mean:.0f} to {100 * natural[1].mean:.0f} %"
        )
    return weigh(parts, "Minority test accuracy " + "; ".join(words), numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Accuracies over R at fixed minority data."""
    panels = []
    for name, own in _curves(rows).items():
        series = [
            curve(own, "growth", "test_minority", "minority", limits=(0.0, 1.0)),
            curve(own, "growth", "test_minority_inner", "minority, among minority classes", limits=(0.0, 1.0)),
            curve(own, "growth", "test_balanced", "all classes, balanced", dashed=True, limits=(0.0, 1.0)),
            curve(own, "growth", "test_natural", "natural mix", dashed=True, limits=(0.0, 1.0)),
        ]
        size = own[0].settings["minority_size"]
        label = f"R: minority classes have {size} examples, majority classes R times as many"
        panels.append(Panel(name, label, "test accuracy", series, x_log=True, y_range=(0.0, 1.0)))
    return Figure("More majority data, the same minority data", panels, "Bands: 95 % intervals over paired seeds.")


_DECAY = {"weight_decay": 5e-4}  # the paper's
CLAIM = network_claim(
    id="lp-majority-hurts",
    rule="For every split, the minority test accuracy at the largest R minus that at R = 1, paired by seed, has a 95 % "
    "interval below 0.",
    quick=Runs(
        [
            *_settings(SMALL, 6, (1, 10, 100), EQUAL_STEPS),
            *_settings({**SLIM_VGG, "steps": 200, **_DECAY}, 5, (1, 40), EQUAL_STEPS),
            *_settings({**SLIM_RESNET, **_DECAY}, 5, (1, 40), EQUAL_STEPS, ((5, 5),)),
        ],
        seeds=range(4),
    ),
    paper=Runs(
        [
            *_settings({**LARGE, **_DECAY}, 6, (1, 10, 100, 1000), EQUAL_STEPS),
            *_settings({**VGG, **_DECAY}, 5, (1, 1000), EQUAL_STEPS),
            *_settings({**RESNET, **_DECAY}, 5, (1, 1000), EQUAL_STEPS),
            *(
                {key: value for key, value in setting.items() if key != "steps"} | {"epochs": 60}
                for setting in _settings({**LARGE, **_DECAY}, 6, (1, 1000), EQUAL_EPOCHS)
            ),
        ],
        seeds=range(5),
    ),
    smoke=Runs(_settings(TINY, 4, (1, 10), EQUAL_STEPS), seeds=range(2)),
    judge=judge,
    plot=plot,
    revised="the quick scale had three seeds at first; the verdict was the same; " + f"{SLIM_ADDED} Then {POWER_ADDED}",
    readings=READINGS,
    alternatives={"no dependence on R": constant("growth", "majority_size")},
    needs=("mnist", "cifar-10"),
    paper_needs=("fashion-mnist",),
)
