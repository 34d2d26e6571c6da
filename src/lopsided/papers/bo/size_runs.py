"""Code shared by bo-size-feature and bo-size-noise: accuracies over the size of the data set and one setting."""

from collections.abc import Mapping, Sequence
from typing import Any

from lopsided.core.figure import Figure, Panel
from lopsided.core.statistics import Uncertain
from lopsided.engine.task import Row, Settings
from lopsided.papers.claim import Claim, Runs
from lopsided.worlds.patch_runs import (
    READING_WORDS,
    accuracy_map,
    accuracy_means,
    patch_settings,
    readings_of,
    trained_cell,
)


def size_lines(rows: Sequence[Row], key: str) -> dict[tuple[str, float], list[Uncertain]]:
    """Accuracies over all sizes, from the smallest, by reading and value of the setting."""
    lines: dict[tuple[str, float], list[Uncertain]] = {}
    for reading, chosen in readings_of(rows).items():
        table = accuracy_means(chosen, lambda row: (float(row.settings[key]), int(row.settings["per_class"])))
        for (value, _), cell in table.items():
            lines.setdefault((reading, value), []).append(cell)
    return lines


def size_claim(
    key: str,
    label: str,
    fixed: Mapping[str, float],
    fixed_words: str,
    quick: Sequence[float],
    paper: Sequence[float],
    *,
    title: str,
    caption: str,
    **stated: Any,
) -> Claim:
    """A claim on accuracies over the size of the data set and one setting, in two readings; `stated` is what the claim
    says of itself."""

    def plan(sizes: Sequence[int], values: Sequence[float], dimension: int, width: int, tests: int) -> list[Settings]:
        return [
            {**patch_settings(reading, 5, size, dimension, width, tests), **fixed, key: value}
            for reading in ("mini-batch", "scaled step")
            for size in sizes
            for value in values
        ]

    def plot(rows: Sequence[Row]) -> Figure:
        panels = []
        for reading, own in readings_of(rows).items():
            table = accuracy_means(own, lambda row: (int(row.settings["per_class"]), float(row.settings[key])))
            panels.append(Panel(f"{fixed_words}, {reading}", label, "examples per class", [accuracy_map(table)]))
        return Figure(title, panels, caption)

    return Claim(
        quick=Runs(plan((10, 40, 100), quick, 300, 50, 200), seeds=(0, 1)),
        paper=Runs(plan((10, 25, 50, 100, 150, 200), paper, 1000, 100, 400), seeds=(0,)),
        measure=trained_cell,
        plot=plot,
        readings={name: READING_WORDS[name] for name in ("mini-batch", "scaled step")},
        **stated,
    )
