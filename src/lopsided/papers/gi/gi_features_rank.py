"""gi-features-rank: do a few singular values of the features keep most of the accuracy (Table II)?

The centred features of the test pictures are reconstructed from their k largest singular values and passed to the
trained last layer. With two classes, one direction contains the answer, so this is to be expected; ten classes, which
need nine directions, are reported as well but do not count.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Line, Panel
from lopsided.core.statistics import SeedMean, seed_mean
from lopsided.data.image_set import standardised
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.gi import group_pictures as pictures
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.network_runs import image_sample, trained_network
from lopsided.papers.shared.network_settings import POWER_ADDED
from lopsided.papers.shared.summary import by_world

KEPT = (1, 2, 3, 5, 10, 25)
FEW = 5  # Table II's first column
MOST_LOST = 0.045  # "the performance gap is smaller than 4.5 %"
TEN = "ten classes"


def measure(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Test accuracy from the k leading singular values, and the spectrum of the features' covariance."""
    if settings.get("reading") == TEN:
        features, labels, head, bias = _ten_classes(settings, seed)
    else:
        trained, _, test, _, scaled = pictures.trained_on_groups(settings, seed)
        features, labels = np.asarray(trained.features(scaled(test.planes())), dtype=np.float64), test.labels
        head, bias = trained.classifier, trained.bias
    mean = features.mean(axis=0)
    left, values, right = np.linalg.svd(features - mean, full_matrices=False)

    def accuracy(kept: int) -> float:
        rebuilt = mean + (left[:, :kept] * values[:kept]) @ right[:kept]
        return float(((rebuilt @ head.T + bias).argmax(axis=1) == labels).mean())

    ranks = [kept for kept in KEPT if kept < len(values)]
    energy = np.square(values) / np.square(values).sum()
    return {
        "ranks": ranks,
        "accuracies": [accuracy(kept) for kept in ranks],
        "all": accuracy(len(values)),
        "width": int(features.shape[1]),
        "energy": [float(energy[:kept].sum()) for kept in ranks],
        "tau": float(values[0] / values[min(FEW, len(values)) - 1]),
    }


def _ten_classes(settings: Mapping[str, Any], seed: int) -> tuple[Any, Any, Any, Any]:
    """A network for all ten classes of the set."""
    sample, test = image_sample(settings, np.full(10, settings["per_class"]), seed)
    inputs, test_inputs = standardised(sample, test)
    trained = trained_network(settings, inputs, sample.labels, 10, seed)
    features = np.asarray(trained.features(test_inputs), dtype=np.float64)
    return features, test.labels, trained.classifier, trained.bias


def _name(row: Row) -> str:
    return f"{row.settings['network']} on {row.settings['images']}, {row.settings.get('reading', 'two classes')}"


def _few(row: Row) -> float:
    """Accuracy from FEW singular values."""
    return float(row.numbers["accuracies"][row.numbers["ranks"].index(FEW)])


def _levels(rows: Sequence[Row]) -> list[SeedMean]:
    """Accuracy at every number of singular values."""
    return [seed_mean(values) for values in zip(*(row.numbers["accuracies"] for row in rows), strict=True)]


def judge(rows: Sequence[Row]) -> Verdict:
    """What five singular values lose, in every world with two classes."""
    numbers: dict[str, Any] = {}
    parts, words = [], []
    for name, own in by_world(rows, _name).items():
        loss = seed_mean(row.numbers["all"] - _few(row) for row in own)
        whole = seed_mean(row.numbers["all"] for row in own)
        numbers[name] = {
            "all": whole,
            "lost_with_five": loss,
            "ranks": own[0].numbers["ranks"],
            "accuracies": _levels(own),
            "energy_of_five": seed_mean(row.numbers["energy"][row.numbers["ranks"].index(FEW)] for row in own),
        }
        words.append(f"{name}: {whole.percent()} from all {own[0].numbers['width']}, {FEW} lose {loss.percent()}")
        if TEN not in name:
            parts.append(Part.below(f"{name}: {FEW} are enough", loss, MOST_LOST, claimed=MOST_LOST))
    return weigh(parts, "; ".join(words), numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Accuracy over the number of singular values, with that of all."""
    panels = []
    for name, own in by_world(rows, _name).items():
        ranks = own[0].numbers["ranks"]
        levels = _levels(own)
        whole = float(np.mean([row.numbers["all"] for row in own]))
        bounded = len(own) > 1
        measured = Line(
            ranks,
            [found.mean for found in levels],
            "rebuilt",
            [found.low for found in levels] if bounded else None,
            [found.high for found in levels] if bounded else None,
            markers=True,
        )
        every = Line(ranks, [whole] * len(ranks), f"all {own[0].numbers['width']}", dashed=True)
        panels.append(Panel(name, "singular values kept", "test accuracy", [measured, every], x_log=True))
    return Figure("Features rebuilt from few singular values", panels, "Bands: 95 % intervals over seeds.")


def _ten(base: Mapping[str, Any], per_class: int, images: str) -> dict[str, Any]:
    own = {key: value for key, value in base.items() if key not in ("classes", "minority", "majority_size")}
    return {**own, "images": images, "per_class": per_class, "majority_classes": 5, "reading": TEN}


_EVEN = {"majority_size": 400, "minority_size": 400}
CLAIM = Claim(
    id="gi-features-rank",
    rule="Holds if, in every world with two classes, the test accuracy from the five largest singular values is less "
    "than 4.5 points below that from all, by the whole 95 % interval over seeds; partly if in at least half; "
    "contradicted if it is more in at least half. Ten classes are reported as well.",
    quick=Runs(
        [
            {**pictures.QUICK_PLANES, **_EVEN},
            {**pictures.QUICK_DIGITS, **_EVEN},
            _ten(pictures.QUICK_DIGITS, 100, "mnist"),
        ],
        seeds=range(3),
    ),
    paper=Runs(
        pictures.AlsoFaces(
            [
                pictures.PAPER_PLANES,
                pictures.RESNET_PLANES,
                pictures.PAPER_GARMENTS,
                _ten(pictures.PAPER_GARMENTS, 1000, "fashion-mnist"),
            ],
            [pictures.FACES],
        ),
        seeds=range(5),
    ),
    smoke=Runs([pictures.TINY_DIGITS, _ten(pictures.TINY_DIGITS, 6, "mnist")], seeds=range(2)),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={TEN: "all ten classes of the set with one network"},
    revised=POWER_ADDED,
    quick_budget_seconds=30.0,
    **pictures.NEEDED,
    alternatives={
        "every singular value has the same weight": renumbered(
            lambda row: {
                "accuracies": [row.numbers["all"] * rank / row.numbers["width"] for rank in row.numbers["ranks"]]
            }
        )
    },
)
