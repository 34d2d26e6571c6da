"""bo-majority-hurts: a class's accuracy on long-tailed data falls as the other classes grow (Section 3)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.statistics import paired_rise
from lopsided.engine.task import Row, Settings
from lopsided.measure.patch_network import long_tail_levels
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.summary import chosen, per_seed
from lopsided.worlds.patch_runs import READING_WORDS, accuracy_means, patch_run, patch_settings, readings_of

SIGNIFICANT = 3.0


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Accuracy of the class whose size is fixed: on all its test examples, and on the half with the longer tail L."""
    run = patch_run(settings, seed)
    own = run.test.labels == 0
    right = run.right()
    levels = long_tail_levels(run.fit.weights, run.test.noise, run.test.labels, run.distribution.matrices)
    long = own & (levels >= np.median(levels[own]))
    return {
        "accuracy": float(right[own].mean()),
        "tail_accuracy": float(right[long].mean()),
        "others_accuracy": float(right[~own].mean()),
        "tests": int(own.sum()),
        "train_loss": float(run.fit.trajectory.loss[-1]),
        "status": run.fit.status,
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """From equal to the largest sizes the fixed class's accuracy falls, seed by seed, in every reading."""
    lines: dict[str, dict[str, float]] = {}
    for reading, own in readings_of(rows).items():
        for value in ("accuracy", "tail_accuracy"):
            table = accuracy_means(own, lambda row: int(row.settings["others"]), value)
            sizes = list(table)
            few, many = (per_seed(chosen(own, others=size), value) for size in (sizes[0], sizes[-1]))
            difference, errors = paired_rise(few, many, int(own[0].numbers["tests"]))
            first, last = table[sizes[0]].value, table[sizes[-1]].value
            lines[f"{reading}, {value}"] = {"first": first, "last": last, "change": difference, "errors": errors}
    falls = [name for name, line in lines.items() if line["errors"] < -SIGNIFICANT]
    rises = [name for name, line in lines.items() if line["errors"] > SIGNIFICANT]
    outcome = decided([name in falls for name in lines], contradicted=bool(rises))
    found = "; ".join(
        f"{name.replace('_', ' ')} {line['first']:.2f} -> {line['last']:.2f}" for name, line in lines.items()
    )
    return Verdict(outcome, f"As the others grow: {found}.", {"lines": lines})


def plot(rows: Sequence[Row]) -> Figure:
    """Accuracies against the size of the other classes."""
    panels = []
    for reading, own in readings_of(rows).items():
        lines = []
        for value, name in (
            ("accuracy", "fixed class"),
            ("tail_accuracy", "its longer tail"),
            ("others_accuracy", "growing classes"),
        ):
            table = accuracy_means(own, lambda row: int(row.settings["others"]), value)
            y = [mean.value for mean in table.values()]
            low = [mean.value - 2 * mean.error for mean in table.values()]
            high = [mean.value + 2 * mean.error for mean in table.values()]
            lines.append(Line(list(table), y, name, low, high, markers=True))
        panels.append(
            Panel(reading, "size of every other class", "test accuracy", lines, x_log=True, y_range=(0, 1.02))
        )
    size = rows[0].settings["per_class"]
    return Figure(
        "More majority data, less minority accuracy", panels, f"The fixed class has {size} examples; bands: two errors."
    )


def _settings(per_class: int, growth: Sequence[int], dimension: int, width: int, tests: int) -> list[Settings]:
    shared = {"ratio": 30.0, "feature_norm": 1e-6}
    return [
        patch_settings(reading, 5, per_class, dimension, width, tests, **shared, others=per_class * factor)
        for reading in ("mini-batch", "converged")
        for factor in growth
    ]


CLAIM = Claim(
    id="bo-majority-hurts",
    rule="From equal sizes to the largest growth, accuracy of the fixed class and of the longer half of its tail falls "
    f"by more than {SIGNIFICANT:g} errors in every reading: holds; in at least half: partly; a significant rise: "
    "contradicted.",
    revised="paired test, growth, seeds and paper size; the verdict was partly before and after. Then 24 seeds "
    "replaced 4 and 12, with which the verdict changed between seed sets.",
    quick=Runs(_settings(20, (1, 2, 4), 200, 30, 300), seeds=range(24)),
    paper=Runs(_settings(50, (1, 2, 4, 8), 1000, 100, 400), seeds=(0, 1)),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={name: READING_WORDS[name] for name in ("mini-batch", "converged")},
    alternatives={"no dependence on the other sizes": constant("others")},
)
