"""bo-size-feature: with features, accuracy rises with the size of the data set (Fig 4a, Theorem 1.2a)."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.core.statistics import rise
from lopsided.engine.task import Row, Settings
from lopsided.papers.bo.overfitting_runs import READING_WORDS, size_lines, size_panels, size_settings, trained_cell
from lopsided.papers.claim import Claim, Runs, Verdict, decided

SIGNIFICANT = 3.0  # standard errors
CEILING = 0.97  # a line that starts above this has no room to rise


def judge(rows: Sequence[Row]) -> Verdict:
    """Accuracy rises with the size at every feature strength that leaves room, in every reading."""
    lines: dict[str, dict[str, float]] = {}
    for (reading, norm), cells in size_lines(rows, "feature_norm").items():
        if cells[0].value < CEILING:
            difference, errors = rise(cells[0], cells[-1])
            lines[f"{reading}, |u| = {norm:g}"] = {"rise": difference, "errors": errors}
    with_feature = {name: line for name, line in lines.items() if not name.endswith("= 0.01")}
    up = [name for name, line in with_feature.items() if line["errors"] > SIGNIFICANT]
    down = [name for name, line in lines.items() if line["errors"] < -SIGNIFICANT]
    outcome = decided([name in up for name in with_feature], contradicted=bool(with_feature and down))
    largest = max((line["rise"] for line in lines.values()), default=0.0)
    found = (
        f"Accuracy rises significantly on {len(up)} of {len(with_feature)} lines with a feature, by up to "
        f"{largest:.2f}; falls on {len(down)}."
    )
    return Verdict(outcome, found, {"lines": lines})


def plot(rows: Sequence[Row]) -> Figure:
    """One heat map per reading."""
    panels = size_panels(rows, "feature_norm", "Γ = 1.2", "feature strength |u|")
    return Figure("Accuracy over feature strength and data set size", panels, "Fig 4a of the paper.")


def _settings(sizes: Sequence[int], norms: Sequence[float], dimension: int, width: int, tests: int) -> list[Settings]:
    return size_settings(sizes, "feature_norm", norms, dimension, width, tests, ratio=1.2)


CLAIM = Claim(
    id="bo-size-feature",
    rule=f"From the smallest to the largest size accuracy rises by more than {SIGNIFICANT:g} standard errors at every "
    f"feature strength above 0.01 whose smallest size is below {CEILING}, in every reading: holds; at some: "
    "partly; a significant fall anywhere: contradicted.",
    revised="the largest quick size went from 120 to 100.",
    plans={
        "quick": Runs(_settings((10, 40, 100), (0.01, 0.5, 1.0, 2.0), 300, 50, 200), seeds=(0, 1)),
        "paper": Runs(
            _settings((10, 25, 50, 100, 150, 200), (0.01, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0), 1000, 100, 400), seeds=(0,)
        ),
    },
    measure=trained_cell,
    judge=judge,
    plot=plot,
    readings={name: READING_WORDS[name] for name in ("mini-batch", "scaled step")},
    quick_budget_seconds=15,
)
