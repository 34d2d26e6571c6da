"""Fig 3 and (A1): XOR clusters are separable with two components per class, not with one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lopsided.core.figure import Figure, Line, Mark, Panel, Points
from lopsided.core.seeds import generator
from lopsided.core.statistics import seed_mean
from lopsided.data.clusters import ClusterSpec, random_mixture, sample_mixture, xor_mixture
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.summary import chosen, column, grouped
from lopsided.worlds.wide_runs import separability_numbers

SHOWN = 400  # examples of the XOR picture
DISTANCE, DIAMETER = 1.9, 0.1  # "distance at least 19/10", "diameter 1/10"


def measure(settings: Settings, seed: int) -> Numbers:
    """delta, lambda and the verdict on (A1), and the number of components needed."""
    if settings["data"] == "xor":
        mixture = xor_mixture()
    else:
        mixture = random_mixture(ClusterSpec(spread=settings["spread"]), generator(seed, "mixture"))
    sample = sample_mixture(mixture, settings["examples"], generator(seed, "sample"))
    if settings["components"] == 1:
        sample = replace(sample, components=sample.labels)
    shown = slice(SHOWN if settings["data"] == "xor" else 0)
    return {**separability_numbers(sample), "points": sample.points[shown], "labels": sample.labels[shown]}


def judge(rows: Sequence[Row]) -> Verdict:
    """Verdicts on XOR in both views; the data of Section 7 are reported as well."""
    two, one = ([row.numbers for row in chosen(rows, data="xor", components=count)] for count in (2, 1))
    delta = seed_mean(n["delta"] for n in two)
    for_two, for_one = (seed_mean(n["ratio"] for n in found) for found in (two, one))
    within = all(
        numbers["delta"] >= DISTANCE and numbers["ratio"] * numbers["delta"] <= DIAMETER and numbers["exact"]
        for numbers in two
    )
    least = {(numbers["components_lower"], numbers["components_upper"]) for numbers in two}
    parts = [
        Part("XOR with l = 2 satisfies (A1)", _all(two, "holds") and within, _all(two, "fails")),
        Part("XOR with l = 1 does not", _all(one, "fails"), _all(one, "holds")),
        Part("two is the smallest l that does", least == {(2, 2)}, all(lower > 2 for lower, _ in least)),
    ]
    gaussian = grouped(chosen(rows, data="section 7"), "spread")
    passing = [value for value, group in gaussian.items() if _all([row.numbers for row in group], "holds")]
    ratios = {value: seed_mean(column(group, "ratio")) for value, group in gaussian.items()}
    found = (
        f"XOR: delta = {delta.mean:.3g}, lambda = {for_two.mean:.3g} against 1/16 with l = 2, {for_one.mean:.3g} "
        "against 1/8 with l = 1. Data of Section 7 (l = 2): lambda "
        + ", ".join(f"{ratio.mean:.3g} at sigma = {value:g}" for value, ratio in ratios.items())
        + f"; (A1) holds for sigma in {{{', '.join(f'{value:g}' for value in passing)}}}"
    )
    numbers = {
        "xor_delta": delta,
        "xor_ratio": {"l = 2": for_two, "l = 1": for_one},
        "section_7_ratio": {str(value): ratio for value, ratio in ratios.items()},
        "section_7_passes_at": passing,
    }
    return weigh(parts, found, numbers)


def _all(group: Sequence[Numbers], verdict: str) -> bool:
    return all(numbers["verdict"] == verdict for numbers in group)


def plot(rows: Sequence[Row]) -> Figure:
    """The XOR sample of Fig 3, and lambda of the data of Section 7 against the limit."""
    xor = chosen(rows, data="xor", components=2)[0].numbers
    points, labels = np.array(xor["points"]), np.array(xor["labels"])
    classes = [
        Points(points[labels == code, 0].tolist(), points[labels == code, 1].tolist(), name)
        for code, name in ((0, "class +"), (1, "class −"))
    ]
    balls = Panel(f"XOR: δ = {xor['delta']:.3g}, λ = {xor['ratio']:.3g} with l = 2", "x₁", "x₂", classes)
    groups = grouped(chosen(rows, data="section 7"), "spread")
    ratios = [seed_mean(column(group, "ratio")).mean for group in groups.values()]
    measured = [Line(list(groups), ratios, "measured", markers=True)]
    limit = [Mark(next(iter(groups.values()))[0].numbers["needed_ratio"], "1/(8 l)", axis="y")]
    title, y_label = "Data of Section 7, l = 2", "λ = largest diameter / δ"
    gaussian = Panel(title, "σ within components", y_label, measured, limit, x_log=True, y_log=True)
    caption = "A sample sees δ from above and diameters from below."
    return Figure("Separability (A1), measured", [balls, gaussian], caption)


def _plan(examples: int, spreads: Sequence[float], seeds: int) -> Runs:
    return Runs(
        [
            *({"data": "xor", "components": count, "examples": examples} for count in (1, 2)),
            *({"data": "section 7", "components": 2, "spread": value, "examples": examples} for value in spreads),
        ],
        seeds=range(seeds),
    )


CLAIM = Claim(
    id="sd-separability",
    rule=f"Over all pairs of every sample: with l = 2 delta >= {DISTANCE}, diameters <= {DIAMETER} and lambda <= 1/16; "
    "with l = 1 lambda > 1/8; the smallest number of components that satisfies (A1), bracketed from both sides, is 2.",
    quick=_plan(800, (0.125, 0.25, 0.5, 1.0), 3),
    paper=_plan(2000, (0.125, 0.25, 0.35, 0.5, 0.7, 1.0), 5),
    measure=measure,
    judge=judge,
    plot=plot,
    quick_budget_seconds=10.0,
    alternatives={
        "one component does": renumbered(lambda row: {"verdict": "holds", "components_lower": 1, "components_upper": 1})
    },
)
