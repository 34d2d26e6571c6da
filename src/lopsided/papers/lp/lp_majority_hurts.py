"""With the minority's training data fixed, does more majority data lower the minority's test accuracy (Fig 5)?

The test restricted to minority logits (`minority_inner`) says whether the classes are still told apart among themselves
or only taken for majority classes: a threshold could mend the second, not the first.
"""

from collections.abc import Sequence

from lopsided.core.figure import Figure, Panel
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Runs, Source, Verdict
from lopsided.papers.shared.network_runs import network_numbers
from lopsided.papers.shared.network_settings import LARGE, SMALL, SPLITS, TINY, split_over
from lopsided.papers.shared.network_summary import chosen, curve, level, paired, percent
from lopsided.papers.shared.structured_summary import Part, weigh

EQUAL_STEPS, EQUAL_EPOCHS = "equal steps", "equal epochs"
READINGS = {
    EQUAL_STEPS: "as many steps with little majority data as with much, so that only the data differ",
    EQUAL_EPOCHS: "as many epochs, as the paper trains: with little majority data fewer steps",
}


def _settings(base: dict[str, object], minority: int, ratios: Sequence[int], reading: str) -> list[dict[str, object]]:
    return [
        {**split, "minority_size": minority, "majority_size": minority * ratio, "growth": ratio, "reading": reading}
        for split in split_over(base, SPLITS)
        for ratio in ratios
    ]


def _curves(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.settings["majority_classes"], row.settings["growth"], row.seed)):
        own = row.settings
        name = f"({own['majority_classes']}, {own['minority_classes']}) on {own['images']}, {own['reading']}"
        found.setdefault(name, []).append(row)
    return found


def judge(rows: Sequence[Row]) -> Verdict:
    """Minority test accuracy at the largest majority minus that at equal sizes, paired."""
    parts, numbers, words = [], {}, []
    for name, own in _curves(rows).items():
        ratios = sorted({row.settings["growth"] for row in own})
        first, last = chosen(own, growth=ratios[0]), chosen(own, growth=ratios[-1])
        change = paired(first, last, "test_minority")
        parts.append(Part(name, change.high < 0, change.low > 0))
        inner = paired(first, last, "test_minority_inner")
        numbers[name] = {
            "minority_at_equal_sizes": level(first, "test_minority"),
            "minority_at_largest": level(last, "test_minority"),
            "change": change,
            "change_among_minority_classes": inner,
            "balanced": [level(part, "test_balanced") for part in (first, last)],
            "natural_mix": [level(part, "test_natural") for part in (first, last)],
        }
        words.append(
            f"{name}: from {percent(level(first, 'test_minority'))} at R = {ratios[0]} to "
            f"{percent(level(last, 'test_minority'))} at R = {ratios[-1]}, among minority classes alone by "
            f"{percent(inner)}, balanced {100 * level(first, 'test_balanced').mean:.0f} to "
            f"{100 * level(last, 'test_balanced').mean:.0f} %, natural mix "
            f"{100 * level(first, 'test_natural').mean:.0f} to {100 * level(last, 'test_natural').mean:.0f} %"
        )
    return weigh(parts, "Minority test accuracy " + "; ".join(words), numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Accuracies over R at fixed minority data."""
    panels = []
    for name, own in _curves(rows).items():
        series = [
            curve(own, "growth", "test_minority", "minority", limits=(0.0, 1.0)),
            curve(own, "growth", "test_minority_inner", "minority, among minority classes", limits=(0.0, 1.0)),
            curve(own, "growth", "test_balanced", "all classes alike", dashed=True, limits=(0.0, 1.0)),
            curve(own, "growth", "test_natural", "natural mix", dashed=True, limits=(0.0, 1.0)),
        ]
        size = own[0].settings["minority_size"]
        label = f"R: minority classes have {size} examples, majority classes R times as many"
        panels.append(Panel(name, label, "test accuracy", series, x_log=True, y_range=(0.0, 1.0)))
    return Figure("More majority data, the same minority data", panels, "Bands: 95 % intervals over paired seeds.")


CLAIM = Claim(
    id="lp-majority-hurts",
    statement="With fixed minority data, much more majority data (R = 1000 against R = 1) lowers the test accuracy on "
    "the minority classes.",
    source=Source("fang2021layerpeeled", "Fig 5"),
    rule="For every split, the minority test accuracy at the largest R minus that at R = 1, paired by seed, has a 95 % "
    "interval below 0.",
    plans={
        "quick": Runs(_settings(SMALL, 6, (1, 10, 100), EQUAL_STEPS), seeds=range(4)),
        "paper": Runs(
            [
                *_settings({**LARGE, "weight_decay": 5e-4}, 6, (1, 10, 100, 1000), EQUAL_STEPS),
                *(
                    {key: value for key, value in setting.items() if key != "steps"} | {"epochs": 60}
                    for setting in _settings({**LARGE, "weight_decay": 5e-4}, 6, (1, 1000), EQUAL_EPOCHS)
                ),
            ],
            seeds=range(5),
        ),
    },
    smoke=Runs(_settings(TINY, 4, (1, 10), EQUAL_STEPS), seeds=range(2)),
    measure=network_numbers,
    judge=judge,
    plot=plot,
    revised="the quick scale had three seeds at first; the verdict was the same.",
    paper_says="The test performance on the minority classes deteriorates when R = 1000, although the minority data "
    "are the same.",
    readings=READINGS,
    needs=("mnist",),
    paper_needs=("fashion-mnist",),
    packages=("torch",),
    quick_budget_seconds=60.0,
)
