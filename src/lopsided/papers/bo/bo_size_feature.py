"""bo-size-feature: with features, accuracy rises with the size of the data set (Fig 4a, Theorem 1.2a)."""

from collections.abc import Sequence
from typing import Any

from lopsided.core.figure import Figure, Heatmap, Panel
from lopsided.engine.task import Row, Settings
from lopsided.papers.bo.overfitting_runs import READING_WORDS, grouped, patch_run, rise, run_numbers
from lopsided.papers.claim import Claim, Outcome, Runs, Source, Verdict

SIGNIFICANT = 3.0  # standard errors
CEILING = 0.97  # a line that starts above this has no room to rise


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Test accuracy of one cell."""
    return run_numbers(patch_run(settings, seed))


def judge(rows: Sequence[Row]) -> Verdict:
    """Accuracy rises with the size at every feature strength that leaves room, in every reading."""
    lines: dict[str, dict[str, float]] = {}
    for reading in sorted({str(row.settings["reading"]) for row in rows}):
        table = grouped(
            [row for row in rows if row.settings["reading"] == reading],
            lambda row: (float(row.settings["feature_norm"]), int(row.settings["per_class"])),
        )
        for norm in sorted({key[0] for key in table}):
            cells = [table[key] for key in sorted(table) if key[0] == norm]
            if cells[0].value < CEILING:
                difference, errors = rise(cells[0], cells[-1])
                lines[f"{reading}, |u| = {norm:g}"] = {"rise": difference, "errors": errors}
    with_feature = {name: line for name, line in lines.items() if not name.endswith("= 0.01")}
    up = [name for name, line in with_feature.items() if line["errors"] > SIGNIFICANT]
    down = [name for name, line in lines.items() if line["errors"] < -SIGNIFICANT]
    if not with_feature:
        outcome = Outcome.FAILS
    elif down:
        outcome = Outcome.CONTRADICTED
    else:
        outcome = Outcome.HOLDS if len(up) == len(with_feature) else Outcome.PARTLY if up else Outcome.FAILS
    largest = max((line["rise"] for line in lines.values()), default=0.0)
    found = (
        f"Accuracy rises significantly on {len(up)} of {len(with_feature)} lines with a feature, by up to "
        f"{largest:.2f}; falls on {len(down)}."
    )
    return Verdict(outcome, found, {"lines": lines})


def plot(rows: Sequence[Row]) -> Figure:
    """One heat map per reading."""
    panels = []
    for reading in sorted({str(row.settings["reading"]) for row in rows}):
        table = grouped(
            [row for row in rows if row.settings["reading"] == reading],
            lambda row: (int(row.settings["per_class"]), float(row.settings["feature_norm"])),
        )
        sizes, norms = sorted({key[0] for key in table}), sorted({key[1] for key in table})
        values = [[table[size, norm].value for norm in norms] for size in sizes]
        heat = Heatmap(norms, sizes, values, "test accuracy", low=0.0, high=1.0)
        panels.append(Panel(f"Γ = 1.2, {reading}", "feature strength |u|", "examples per class", [heat]))
    return Figure("Accuracy over feature strength and data set size", panels, "Fig 4a of the paper.")


def _settings(sizes: Sequence[int], norms: Sequence[float], dimension: int, width: int, tests: int) -> list[Settings]:
    base = {"classes": 5, "dimension": dimension, "width": width, "tests": tests, "ratio": 1.2}
    return [
        {**base, "per_class": size, "feature_norm": norm, "reading": reading}
        for reading in ("mini-batch", "scaled step")
        for size in sizes
        for norm in norms
    ]


CLAIM = Claim(
    id="bo-size-feature",
    statement="With features and hardly any noise correlation, test accuracy rises with the data set size.",
    source=Source("xu2025benign", "Fig 4a, Theorem 1.2(a)"),
    rule=(
        f"From the smallest to the largest size accuracy rises by more than {SIGNIFICANT:g} standard errors at "
        f"every feature strength above "
        f"0.01 whose smallest size is below {CEILING}, in every reading: holds; at some: partly; a significant fall "
        f"anywhere: contradicted."
    ),
    revised=("the largest quick size went from 120 to 100."),
    plans={
        "quick": Runs(_settings((10, 40, 100), (0.01, 0.5, 1.0, 2.0), 300, 50, 200), seeds=(0, 1)),
        "paper": Runs(
            _settings((10, 25, 50, 100, 150, 200), (0.01, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0), 1000, 100, 400), seeds=(0,)
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="For classification by explicit features accuracy increases with the data set size.",
    readings={name: READING_WORDS[name] for name in ("mini-batch", "scaled step")},
    quick_budget_seconds=15,
)
