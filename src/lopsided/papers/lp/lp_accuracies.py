"""Training and test accuracies over R and splits (Tables 3 and 4).

The tables show four things, each a part that can fail: training accuracy is 100 % up to R = 100; if it is lower, the
share of errors is at most the minority's share; test accuracy over all classes falls with R; and less is lost with more
majority classes.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lopsided.core.figure import Figure, Panel
from lopsided.core.statistics import SeedMean
from lopsided.engine.task import Numbers, Row
from lopsided.papers.claim import Part, Power, Runs, Verdict, weigh
from lopsided.papers.shared.network_runs import network_claim
from lopsided.papers.shared.network_settings import (
    GARMENTS,
    LARGE,
    POWER_ADDED,
    RESNET,
    SLIM_ADDED,
    SLIM_GARMENTS,
    SLIM_VGG,
    SMALL,
    SPLITS,
    TINY,
    VGG,
    split_over,
)
from lopsided.papers.shared.summary import NOTICEABLE, by_world, chosen, grouped, interval_line, level, paired

FITTED = 0.999
MODERATE = 100  # the ratio up to which the paper's networks fit every example


def _ratio_name(ratio: int | None) -> str:
    return "infinite" if ratio is None else f"{ratio:g}"


def _splits(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """By the number of majority classes, in the order of R."""
    return grouped(sorted(rows, key=lambda row: row.settings["ratio"] or math.inf), "majority_classes")


def _networks(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return by_world(rows, lambda row: "{network} on {images}".format(**row.settings))


def judge(rows: Sequence[Row]) -> Verdict:
    """The four parts for each network, over all splits."""
    parts: list[Part] = []
    numbers: dict[str, Any] = {}
    words = []
    for name, own in _networks(rows).items():
        found, sentence, table = _of_network(name, own)
        parts += found
        words.append(sentence)
        numbers[name] = table
    return weigh(parts, "; ".join(words), numbers)


def _of_network(name: str, rows: Sequence[Row]) -> tuple[list[Part], str, Numbers]:
    splits = _splits(rows)
    ratios = list(dict.fromkeys(row.settings["ratio"] for row in next(iter(splits.values()))))
    at = {(k, ratio): chosen(own, ratio=ratio) for k, own in splits.items() for ratio in ratios}
    finite = [row for row in rows if row.settings["ratio"] is not None]
    fitted = level([row for row in finite if row.settings["ratio"] <= MODERATE], "train_accuracy")
    worst = min(level(own, "train_accuracy").mean for (_, ratio), own in at.items() if ratio and ratio <= MODERATE)
    excess = max(1 - row.numbers["train_accuracy"] - row.numbers["minority_share"] for row in finite)
    falls = {
        f"K_A = {k}, R {_ratio_name(less)} to {_ratio_name(more)}": paired(at[k, less], at[k, more], "test_balanced")
        for k in splits
        for less, more in pairwise(ratios)
    }
    orders = {
        f"R {_ratio_name(ratio)}: K_A {less} to {more}": paired(at[less, ratio], at[more, ratio], "test_balanced")
        for less, more in pairwise(splits)
        for ratio in ratios
        if ratio != 1
    }
    parts = [
        Part(
            f"{name}: training accuracy above {FITTED:.1%} up to R = {MODERATE}", worst > FITTED, fitted.high < FITTED
        ),
        Part(f"{name}: training errors at most the minority's share", excess <= 0.001, excess > 0.01),
        _everywhere(f"{name}: test accuracy falls with R", falls.values(), -1),
        _everywhere(f"{name}: more majority classes, less lost", orders.values(), 1),
    ]
    table = {
        f"K_A = {k}, R = {_ratio_name(ratio)}": {
            kind: level(own, f"{kind}_accuracy" if kind == "train" else f"test_{kind}")
            for kind in ("train", "balanced", "natural", "minority")
        }
        for (k, ratio), own in at.items()
    }
    words = "; ".join(
        f"K_A = {k}: " + ", ".join(f"{100 * level(at[k, ratio], 'test_balanced').mean:.1f}" for ratio in ratios)
        for k in splits
    )
    sentence = (
        f"{name}: test accuracy (%, classes weighted equally) at R = {', '.join(_ratio_name(r) for r in ratios)}: "
        f"{words}; lowest training accuracy up to R = {MODERATE}: {worst:.2%}"
    )
    return parts, sentence, {"table": table, "falls": falls, "order": orders, "excess_training_error": excess}


def _everywhere(name: str, changes: Collection[SeedMean], sign: int) -> Part:
    """Every change has the stated sign, with an interval that excludes 0; the power is that of the least certain
    change, unless the intervals exclude that all are noticeable."""
    ends = [(sign * change.low, sign * change.high) for change in changes]
    possible = all(max(pair) >= NOTICEABLE for pair in ends)
    power = Power(max(change.detects for change in changes), NOTICEABLE) if possible else None
    smallest = min(sign * change.mean for change in changes)
    return Part(name, all(min(pair) > 0 for pair in ends), all(max(pair) < 0 for pair in ends), power, smallest)


def unmoved(rows: Sequence[Row]) -> list[Row]:
    """Test accuracies that do not depend on imbalance: those of R = 1 at every R."""

    def of(row: Row) -> tuple[str, int, int]:
        return row.settings["network"], row.settings["majority_classes"], row.seed

    first = {of(row): row for row in chosen(rows, ratio=1)}
    at = ((row, first[of(row)].numbers["test_balanced"]) for row in rows)
    return [replace(row, numbers={**row.numbers, "test_balanced": value}) for row, value in at]


def plot(rows: Sequence[Row]) -> Figure:
    """Accuracies over R for every network and split; R = infinity stands at the right."""
    panels = []
    far = 10 * max(row.settings["ratio"] for row in rows if row.settings["ratio"] is not None)
    label = f"imbalance ratio R ({far:g} stands for infinity)"
    for name, own in _networks(rows).items():
        for title, key, low_high in (
            ("training", "train_accuracy", (0.9, 1.005)),
            ("test, classes weighted equally", "test_balanced", (0.0, 1.02)),
            ("test, natural mix", "test_natural", (0.0, 1.02)),
            ("test, minority classes", "test_minority", (0.0, 1.02)),
        ):
            series = []
            for k, split in _splits(own).items():
                ratios = list(dict.fromkeys(row.settings["ratio"] for row in split))
                levels = [level(chosen(split, ratio=ratio), key) for ratio in ratios]
                places = [far if ratio is None else float(ratio) for ratio in ratios]
                series.append(interval_line(places, levels, f"K_A = {k}", limits=(0.0, 1.0), markers=True))
            panels.append(Panel(f"{name}: {title}", label, "accuracy", series, x_log=True, y_range=low_high))
    return Figure("Accuracies over the imbalance ratio", panels, "Bands: 95 % intervals over seeds.")


# Long enough for every example to be fitted at R = 100: a rare class needs step size times number of steps.
_QUICK = {**SMALL, "weight_decay": 5e-4, "rate": 0.2, "steps": 1500}
_PAPER = {**LARGE, "majority_size": 5000, "weight_decay": 5e-4, "steps": 6000}
_SLIM = {"majority_size": 50, "weight_decay": 5e-4, "rate": 0.05, "steps": 300}  # few enough to be fitted in 300 steps
CLAIM = network_claim(
    id="lp-accuracies",
    rule=f"For each network: training accuracy above {FITTED:.1%} for every split and R up to {MODERATE}; training "
    "errors never more than 0.1 points beyond the minority's share; test accuracy (classes weighted equally) falls "
    "with every step of R and rises with the number of majority classes at every R > 1, 95 % intervals paired by seed.",
    quick=Runs(
        [
            *split_over(_QUICK, SPLITS, ratio=(1, 10, 100)),
            *split_over({**SLIM_GARMENTS, **_SLIM}, SPLITS, ratio=(1, 10)),
            *split_over({**SLIM_VGG, **_SLIM}, SPLITS, ratio=(1, 10)),
        ],
        seeds=range(4),
    ),
    alternatives={"accuracy does not depend on R": unmoved},
    paper=Runs(
        [
            *split_over(_PAPER, SPLITS, ratio=(1, 10, 100, 1000, None)),
            *(
                run
                for base in (GARMENTS, VGG, RESNET)
                for run in split_over({**base, "weight_decay": 5e-4}, SPLITS, ratio=(1, 10, 100, None))
            ),
        ],
        seeds=range(4),
    ),
    smoke=Runs(split_over(TINY, SPLITS, ratio=(1, 10, None)), seeds=range(2)),
    judge=judge,
    plot=plot,
    revised="at first, the quick scale had 600 steps of 0.1, in which three examples per class are not learnt at R = "
    "100 (training accuracy 98.7 %). It then also had R = 300 and the split (5, 5). With that split, the claim holds "
    "partly: three seeds do not decide whether five majority classes lose less than three at R = 10 (85.1 and 84.5 %). "
    "It took more than a minute (73 s), so it was moved to the paper scale; it is back without R = infinity. A fifth "
    "part, that without minority examples the accuracy is K_A/K of the majority's, is an identity and is no longer "
    "judged; " + f"{SLIM_ADDED} Then {POWER_ADDED}",
    needs=("mnist", "fashion-mnist", "cifar-10"),
)
