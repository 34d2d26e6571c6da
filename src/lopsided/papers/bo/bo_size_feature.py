"""bo-size-feature: with features, accuracy rises with the size of the data set (Fig 4a, Theorem 1.2a)."""

from collections.abc import Sequence

from lopsided.core.statistics import rise
from lopsided.engine.task import Row
from lopsided.papers.bo.size_runs import size_claim, size_lines
from lopsided.papers.claim import Verdict, decided
from lopsided.papers.shared.alternatives import constant

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


CLAIM = size_claim(
    id="bo-size-feature",
    rule=f"From the smallest to the largest size accuracy rises by more than {SIGNIFICANT:g} standard errors at every "
    f"feature strength above 0.01 whose smallest size is below {CEILING}, in every reading: holds; at some: "
    "partly; a significant fall anywhere: contradicted.",
    revised="the largest quick size was reduced from 120 to 100.",
    key="feature_norm",
    label="feature strength |u|",
    fixed={"ratio": 1.2},
    fixed_words="Γ = 1.2",
    quick=(0.01, 0.5, 1.0, 2.0),
    paper=(0.01, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0),
    title="Accuracy over feature strength and data set size",
    caption="Fig 4a of the paper.",
    judge=judge,
    alternatives={"no dependence on the size": constant("per_class")},
)
