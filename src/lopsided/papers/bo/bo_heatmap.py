"""bo-heatmap: test accuracy over feature strength and noise correlation ratio, Gaussian and uniform noise (Fig 3)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Panel
from lopsided.core.statistics import Uncertain, rise
from lopsided.engine.task import Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.shared.alternatives import constant
from lopsided.worlds import patch_runs as cells

SIGNIFICANT = 3.0  # standard errors
NEAR = 0.03  # "near-optimal": this close to the Bayes rule on the noise patch
MAIN = "mini-batch"  # the reading whose verdict counts: it fits the training set and keeps the paper's rate and epochs


def _table(rows: Sequence[Row], reading: str, family: str) -> dict[tuple[float, float], Uncertain]:
    chosen = [row for row in rows if row.settings["reading"] == reading and row.settings["family"] == family]
    return cells.accuracy_means(chosen, lambda row: (float(row.settings["ratio"]), float(row.settings["feature_norm"])))


def _trend(cells: Sequence[Uncertain]) -> dict[str, float]:
    """Rise from the first to the last cell of a line, and the share of steps that fall significantly."""
    difference, errors = rise(cells[0], cells[-1])
    steps = [rise(before, after) for before, after in pairwise(cells)]
    return {"rise": difference, "errors": errors, "falls": float(np.mean([step[1] < -SIGNIFICANT for step in steps]))}


def judge(rows: Sequence[Row]) -> Verdict:
    """Accuracy rises along the ratio at the weakest feature, and along the feature at ratio 1, for both noise laws."""
    parts: dict[str, bool] = {}
    against = 0
    numbers: dict[str, Any] = {}
    for family in sorted({str(row.settings["family"]) for row in rows}):
        table = _table(rows, MAIN, family)
        ratios, norms = sorted({key[0] for key in table}), sorted({key[1] for key in table})
        along_ratio = _trend([table[ratio, norms[0]] for ratio in ratios])
        along_norm = _trend([table[ratios[0], norm] for norm in norms])
        inner = [_trend([table[ratio, norm] for norm in norms])["falls"] for ratio in ratios]
        for name, trend in (("ratio", along_ratio), ("feature", along_norm)):
            parts[f"{family}: rises with the {name}"] = trend["errors"] > SIGNIFICANT and trend["falls"] == 0
            against += trend["errors"] < -SIGNIFICANT
        top = table[ratios[-1], norms[0]]
        if family == "gaussian":  # for other laws the quadratic rule need not be the best
            bayes = max(float(row.numbers["bayes"]) for row in rows if float(row.settings["ratio"]) == ratios[-1])
            parts["gaussian: near-optimal without features"] = top.value >= bayes - NEAR
            numbers["bayes"] = bayes
        numbers[family] = {
            "along_ratio": along_ratio,
            "along_feature": along_norm,
            "falling_steps_along_feature_at_any_ratio": float(np.mean(inner)),
            "top": top.value,
        }
    found = "; ".join(
        f"{family}: +{entry['along_ratio']['rise']:.2f} along the ratio to {entry['top']:.3f} without features, "
        f"+{entry['along_feature']['rise']:.2f} along the feature"
        for family, entry in numbers.items()
        if family != "bayes"
    )
    for reading in cells.readings_of(rows):
        table = _table(rows, reading, "gaussian") if reading != MAIN else {}
        if table:
            values = [cell.value for cell in table.values()]
            numbers[reading] = {"lowest": min(values), "highest": max(values)}
    return Verdict(
        decided(list(parts.values()), contradicted=against > 0),
        f"{found} ({MAIN} reading; Bayes rule on Gaussian noise {numbers['bayes']:.3f}).",
        {"parts": parts, **numbers},
    )


def plot(rows: Sequence[Row]) -> Figure:
    """One heat map per noise law and reading."""
    panels = []
    for reading in sorted(cells.readings_of(rows), key=lambda name: name != MAIN):
        for family in sorted({str(row.settings["family"]) for row in rows}):
            table = _table(rows, reading, family)
            if table:
                title = f"{family.capitalize()} noise, {reading}"
                panels.append(Panel(title, "feature strength |u|", "ratio Γ", [cells.accuracy_map(table)]))
    return Figure("Accuracy over feature strength and noise correlation ratio", panels, "Fig 3 of the paper.")


def _settings(size: int, per_class: int, dimension: int, width: int, tests: int) -> list[Settings]:
    base = cells.patch_settings(MAIN, 5, per_class, dimension, width, tests)
    norms = np.concatenate([[0.001], np.linspace(0, 3.8, size)[1:]])
    ratios = np.concatenate([[1.0], np.geomspace(2 if size > 6 else 10, 1400, size - 1)])
    grid: list[dict[str, Any]] = [
        {**base, "feature_norm": round(float(norm), 4), "ratio": round(float(ratio), 4), "family": family}
        for family in ("gaussian", "uniform")
        for ratio in ratios
        for norm in norms
    ]
    corners = [
        {**entry, "reading": "full batch"}
        for entry in grid
        if entry["family"] == "gaussian" and (size > 6 or entry["feature_norm"] == 0.001)
    ]
    return [*grid, *corners]


CLAIM = Claim(
    id="bo-heatmap",
    rule=f"For both noise laws: from the first to the last cell accuracy rises by more than {SIGNIFICANT:g} standard "
    "errors along the ratio at the weakest feature and along the feature at ratio 1, and no step on these two lines "
    f"falls by {SIGNIFICANT:g} errors. Without features and at the largest ratio, the accuracy with Gaussian noise is "
    f"within {NEAR} of the Bayes rule. All: holds; at least half: partly; a significant fall from first to last: "
    "contradicted.",
    revised="the comparison with the Bayes accuracy was added.",
    quick=Runs(_settings(4, 40, 300, 50, 200), seeds=(0, 1)),
    paper=Runs(_settings(12, 100, 1000, 100, 400), seeds=(0,)),
    measure=cells.measured_cell,
    alternatives={"no dependence on the ratio": constant("ratio")},
    judge=judge,
    plot=plot,
    readings={name: cells.READING_WORDS[name] for name in ("mini-batch", "full batch")},
)
