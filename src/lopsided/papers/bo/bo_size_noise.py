"""bo-size-noise: with noise correlation alone, accuracy does not depend on the data set size (Fig 4b, Theorem 1.2b)."""

from collections.abc import Sequence
from typing import Any

from lopsided.core.figure import Figure, Heatmap, Panel
from lopsided.engine.task import Row, Settings
from lopsided.papers.bo.overfitting_runs import READING_WORDS, Mean, grouped, patch_run, rise, run_numbers
from lopsided.papers.claim import Claim, Outcome, Runs, Source, Verdict

CONSTANT = 0.1  # a change of accuracy up to this, over a tenfold size or more, counts as constant order
SIGNIFICANT = 3.0


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Test accuracy of one cell."""
    return run_numbers(patch_run(settings, seed))


def _lines(rows: Sequence[Row]) -> dict[tuple[str, float], list[Mean]]:
    lines = {}
    for reading in sorted({str(row.settings["reading"]) for row in rows}):
        table = grouped(
            [row for row in rows if row.settings["reading"] == reading],
            lambda row: (float(row.settings["ratio"]), int(row.settings["per_class"])),
        )
        for ratio in sorted({key[0] for key in table}):
            lines[reading, ratio] = [table[key] for key in sorted(table) if key[0] == ratio]
    return lines


def judge(rows: Sequence[Row]) -> Verdict:
    """At every ratio above 1 the accuracies over all sizes stay within CONSTANT of each other."""
    changes = {}
    for (reading, ratio), cells in _lines(rows).items():
        if ratio > 1:  # at ratio 1 there is nothing to learn at any size
            difference, errors = rise(cells[0], cells[-1])
            width = max(cell.value for cell in cells) - min(cell.value for cell in cells)
            changes[f"{reading}, Γ = {ratio:g}"] = {"change": difference, "errors": errors, "width": width}
    constant = [name for name, entry in changes.items() if entry["width"] <= CONSTANT]
    moved = [name for name, entry in changes.items() if name not in constant and abs(entry["errors"]) > SIGNIFICANT]
    if len(constant) == len(changes) and changes:
        outcome = Outcome.HOLDS
    elif constant:
        outcome = Outcome.PARTLY
    else:
        outcome = Outcome.CONTRADICTED if len(moved) == len(changes) else Outcome.FAILS
    largest = max(changes.items(), key=lambda item: abs(item[1]["change"]), default=("none", {"change": 0.0}))
    found = (
        f"Constant within {CONSTANT:g} on {len(constant)} of {len(changes)} lines ({'; '.join(constant) or 'none'}); "
        f"the largest change is {largest[1]['change']:+.2f} ({largest[0]})."
    )
    return Verdict(outcome, found, {"lines": changes})


def plot(rows: Sequence[Row]) -> Figure:
    """One heat map per reading."""
    lines = _lines(rows)
    sizes = sorted({int(row.settings["per_class"]) for row in rows})
    panels = []
    for reading in sorted({key[0] for key in lines}):
        ratios = sorted({ratio for name, ratio in lines if name == reading})
        values = [[lines[reading, ratio][place].value for ratio in ratios] for place in range(len(sizes))]
        heat = Heatmap(ratios, sizes, values, "test accuracy", low=0.0, high=1.0)
        panels.append(Panel(f"|u| = 1e-6, {reading}", "ratio Γ", "examples per class", [heat]))
    return Figure("Accuracy over noise correlation ratio and data set size", panels, "Fig 4b of the paper.")


def _settings(sizes: Sequence[int], ratios: Sequence[float], dimension: int, width: int, tests: int) -> list[Settings]:
    base = {"classes": 5, "dimension": dimension, "width": width, "tests": tests, "feature_norm": 1e-6}
    return [
        {**base, "per_class": size, "ratio": ratio, "reading": reading}
        for reading in ("mini-batch", "scaled step")
        for size in sizes
        for ratio in ratios
    ]


CLAIM = Claim(
    id="bo-size-noise",
    statement="With noise correlation alone, test accuracy stays of constant order as the data set grows.",
    source=Source("xu2025benign", "Fig 4b, Theorem 1.2(b)"),
    rule=(
        f"At every ratio above 1 and in every reading, accuracies over all sizes (a factor of 10 or more) lie "
        f"within {CONSTANT:g}: holds; "
        f"on some lines: partly, naming them; on none, with changes of more than {SIGNIFICANT:g} errors on all: "
        f"contradicted."
    ),
    revised=("the largest quick size went from 120 to 100."),
    plans={
        "quick": Runs(_settings((10, 40, 100), (1.0, 10.0, 100.0, 800.0), 300, 50, 200), seeds=(0, 1)),
        "paper": Runs(
            _settings((10, 25, 50, 100, 150, 200), (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 800.0), 1000, 100, 400),
            seeds=(0,),
        ),
    },
    measure=measure,
    judge=judge,
    plot=plot,
    paper_says="For classification by implicit covariance features accuracy remains in a constant order with the size.",
    readings={name: READING_WORDS[name] for name in ("mini-batch", "scaled step")},
    quick_budget_seconds=15,
)
