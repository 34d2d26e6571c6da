"""bo-removal: does removing examples with high influence scores cost more accuracy than low or random ones (Fig 7)?

Scores are those of eq (10) within each class of the training sample, and the same share is removed from every class, so
that classes stay balanced. Every network is trained for the same number of steps. Runs are paired by seed: sample,
initial weights and order are the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray
from lopsided.data.image_set import standardised
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_runs import image_sample, trained_network
from lopsided.papers.shared.network_settings import POWER_ADDED, SLIM_ADDED, varied
from lopsided.papers.shared.summary import NOTICEABLE, by_world, chosen, curve, level, paired

KINDS = ("high", "low", "random")
WORDS = {"high": "high scores removed", "low": "low scores removed", "random": "random examples removed"}


def measure(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Test accuracy after training on what is left."""
    sample, test = image_sample(settings, np.full(10, settings["per_class"]), seed)
    left = sample.take(_left(settings, sample.rows(), sample.labels, seed))
    _, inputs, test_inputs = standardised(sample, left, test)  # the whole sample's scale, so that only examples change
    trained = trained_network(settings, inputs, left.labels, 10, seed)
    right = trained.predict(test_inputs) == test.labels
    return {"accuracy": float(right.mean()), "left": left.size, "loss": trained.loss, "diverged": trained.diverged}


def _left(settings: Mapping[str, Any], rows: Any, labels: IntArray, seed: int) -> IntArray:
    """Indices of the remaining examples, in their old order."""
    from lopsided.measure.influence import influence_scores

    share, which = settings["removed"], settings["which"]
    gone = np.zeros(len(labels), dtype=bool)
    scores = None if which == "random" or share == 0 else influence_scores(rows, labels).scores
    for code in range(10):
        members = np.flatnonzero(labels == code)
        count = round(share * members.size)
        if scores is None:
            order = generator(seed, "removed", code).permutation(members)
        else:
            order = members[np.argsort(scores[members] if which == "low" else -scores[members], kind="stable")]
        gone[order[:count]] = True
    return np.flatnonzero(~gone)


def _name(row: Row) -> str:
    return f"{row.settings['network']} on {row.settings['images']}"


def judge(rows: Sequence[Row]) -> Verdict:
    """Low minus high and random minus high, paired, at every share removed."""
    parts: list[Part] = []
    numbers: dict[str, Any] = {}
    words = []
    for name, own in by_world(rows, _name).items():
        whole = level(chosen(own, removed=0.0), "accuracy")
        numbers[name] = {"nothing_removed": whole}
        words.append(f"{name}: {whole.percent()} with everything")
        for share in sorted({float(row.settings["removed"]) for row in own if row.settings["removed"] > 0}):
            kinds = {kind: chosen(own, removed=share, which=kind) for kind in KINDS}
            gaps = {kind: paired(kinds["high"], kinds[kind], "accuracy") for kind in ("low", "random")}
            parts += [
                Part.above(f"{name}, {share:.0%} removed: high costs more than {kind}", gap, claimed=NOTICEABLE)
                for kind, gap in gaps.items()
            ]
            numbers[name][f"{share:g}"] = {
                **{kind: level(kinds[kind], "accuracy") for kind in KINDS},
                "low_minus_high": gaps["low"],
                "random_minus_high": gaps["random"],
            }
            words.append(
                f"{share:.0%} removed: removing high scores costs {gaps['low'].percent()} more than low and "
                f"{gaps['random'].percent()} more than random ones"
            )
    return weigh(parts, "; ".join(words), numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Accuracy over the share removed."""
    panels = []
    for name, own in by_world(rows, _name).items():
        none = chosen(own, removed=0.0)
        lines: list[Line] = []
        for kind in KINDS:
            same = [Row({**row.settings, "which": kind}, row.seed, row.numbers) for row in none]
            lines.append(curve([*same, *chosen(own, which=kind)], "removed", "accuracy", WORDS[kind]))
        panels.append(Panel(name, "share of every class removed", "test accuracy", lines))
    return Figure("Removing examples by influence score", panels, "Bands: 95 % intervals over paired seeds.")


def _settings(base: Mapping[str, Any], shares: Sequence[float]) -> list[dict[str, Any]]:
    return [{**base, "removed": 0.0, "which": "random"}, *varied(base, removed=shares, which=KINDS)]


_SGD = {"batch": 64, "rate": 0.05, "weight_decay": 5e-4, "majority_classes": 5}
QUICK = {
    **_SGD,
    "images": "mnist",
    "network": "lenet-5",
    "rate": 0.02,
    "batch": 32,
    "per_class": 100,
    "steps": 250,
    "test_per_class": 100,
}
DIGITS = {**QUICK, "per_class": 1000, "steps": 4000, "test_per_class": 800}
# The paper's network at an eighth of its width, on pictures of half the side.
SLIM = {**_SGD, "images": "cifar-10", "shrink": 2, "network": "resnet-18", "width": 8, "per_class": 100} | {
    "batch": 32,
    "steps": 200,
    "test_per_class": 100,
}
PICTURES = {**_SGD, "images": "cifar-10", "network": "resnet-9", "width": 16, "per_class": 1000, "batch": 128} | {
    "steps": 1500,
    "test_per_class": 300,
}
CLAIM = Claim(
    id="bo-removal",
    rule="At every share removed, in every set: accuracy without the low minus without the high scores, and without "
    "random examples minus without the high scores, have paired 95 % intervals above 0; partly if at least half; "
    "contradicted if at least half are below 0.",
    quick=Runs([*_settings(QUICK, (0.2, 0.5)), *_settings(SLIM, (0.5,))], seeds=range(4)),
    paper=Runs(
        [
            *_settings(DIGITS, (0.1, 0.2, 0.3, 0.5)),
            *_settings(PICTURES, (0.1, 0.3, 0.5)),
            *_settings({**PICTURES, "network": "resnet-18"}, (0.1, 0.3, 0.5)),
        ],
        seeds=range(5),
    ),
    smoke=Runs(
        _settings(
            {**QUICK, "shrink": 2, "network": "mlp", "widths": [16, 8], "per_class": 8, "steps": 20, "batch": 16},
            (0.5,),
        ),
        seeds=range(2),
    ),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={"by class": "the same share of every class is removed; the number of steps on the rest is the same"},
    needs=("mnist", "cifar-10"),
    packages=("torch",),
    revised="the quick scale first had LeNet-5 on pictures of half the side with a step of 0.05; many of those "
    "networks had hardly left their start (training loss above 1), so now pictures are whole and the step is 0.02; "
    + f"{SLIM_ADDED} Then {POWER_ADDED}",
    quick_budget_seconds=60.0,
    alternatives={"every example has the same weight": constant("which")},
)
