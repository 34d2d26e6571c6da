"""bo-size-noise: with noise correlation alone, accuracy does not depend on the data set size (Fig 4b, Theorem 1.2b)."""

from collections.abc import Sequence
from dataclasses import replace

from lopsided.core.statistics import rise
from lopsided.engine.task import Row
from lopsided.papers.bo.size_runs import size_claim, size_lines
from lopsided.papers.claim import Part, Verdict, weigh

CONSTANT = 0.1  # a change of accuracy up to this, over a tenfold size or more, counts as constant order
SIGNIFICANT = 3.0
SHARE = 2 / 3  # of the lines, for `partly`


def judge(rows: Sequence[Row]) -> Verdict:
    """At every ratio above 1 the accuracies over all sizes stay within CONSTANT of each other."""
    changes = {}
    for (reading, ratio), cells in size_lines(rows, "ratio").items():
        if ratio > 1:  # at ratio 1 there is nothing to learn at any size
            difference, errors = rise(cells[0], cells[-1])
            width = max(cell.value for cell in cells) - min(cell.value for cell in cells)
            changes[f"{reading}, Γ = {ratio:g}"] = {"change": difference, "errors": errors, "width": width}
    constant = [name for name, entry in changes.items() if entry["width"] <= CONSTANT]
    moved = [name for name, entry in changes.items() if name not in constant and abs(entry["errors"]) > SIGNIFICANT]
    parts = [Part(f"constant: {name}", name in constant, name in moved) for name in changes]
    largest = max(changes.items(), key=lambda item: abs(item[1]["change"]), default=("none", {"change": 0.0}))
    found = (
        f"Constant within {CONSTANT:g} on {len(constant)} of {len(changes)} lines ({'; '.join(constant) or 'none'}); "
        f"the largest change is {largest[1]['change']:+.2f} ({largest[0]})."
    )
    return weigh(parts, found, {"lines": changes}, share=SHARE)


def with_the_size(rows: Sequence[Row]) -> list[Row]:
    """A loss that falls with the square root of the size, as explicit features give it."""
    least = min(row.settings["per_class"] for row in rows)
    return [
        replace(
            row,
            numbers={**row.numbers, "accuracy": 1 - 0.5 * (least / row.settings["per_class"]) ** 0.5},
        )
        for row in rows
    ]


CLAIM = size_claim(
    id="bo-size-noise",
    rule="At every ratio above 1 and in every reading, accuracies over all sizes (a factor of 10 or more) lie within "
    f"{CONSTANT:g}, line by line; a line that moves by more than that and by {SIGNIFICANT:g} errors is the opposite. "
    f"All lines: holds; {SHARE:.0%} of them: partly; contradicted if half of them move.",
    alternatives={"loss ~ n^(-1/2)": with_the_size},
    revised="the largest quick size was reduced from 120 to 100.",
    key="ratio",
    label="ratio Γ",
    fixed={"feature_norm": 1e-6},
    fixed_words="|u| = 1e-6",
    quick=(1.0, 10.0, 100.0, 800.0),
    paper=(1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 800.0),
    title="Accuracy over noise correlation ratio and data set size",
    caption="Fig 4b of the paper.",
    judge=judge,
)
