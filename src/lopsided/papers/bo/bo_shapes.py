"""bo-shapes: classes of real images differ in shape (Fig 1, right).

The paper shows a t-SNE map of MNIST, whose blobs need not have the shapes of the classes. Here shape is measured in
pixel space: the cosine tr(S_i S_j) / (|S_i|_F |S_j|_F) between covariances of two classes is compared with that between
two random halves of one class. Only directions count, not sizes. The map is drawn next to it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Heatmap, Panel, Points
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.data.images import load_images
from lopsided.engine.task import Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.summary import of_one_seed

APART = 0.9  # share of pairs of classes whose cosine lies below that of the halves of either class


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Cosines between halves of all classes, and a map of some images in two dimensions."""
    images = load_images(str(settings["images"])).first(int(settings["per_class"]))
    rows, labels = images.rows(), images.labels
    random = generator(seed, "halves")
    halves = []
    for k in range(len(images.class_names)):
        members = random.permutation(np.flatnonzero(labels == k))
        halves.append([np.cov(rows[part].T) for part in np.array_split(members, 2)])
    K = len(halves)
    cosines = np.zeros((K, K))
    for i in range(K):
        for j in range(K):
            # Always half against other half, so that both kinds of pair carry the same sampling noise.
            cosines[i, j] = (_cosine(halves[i][0], halves[j][1]) + _cosine(halves[i][1], halves[j][0])) / 2
    chosen = random.permutation(labels.size)[: int(settings["mapped"])]
    return {
        "names": list(images.class_names),
        "cosines": cosines.tolist(),
        "map": _map(rows[chosen], seed).tolist(),
        "labels": labels[chosen].tolist(),
    }


def _cosine(first: FloatArray, second: FloatArray) -> float:
    return float(np.sum(first * second) / np.sqrt(np.sum(first * first) * np.sum(second * second)))


def _map(rows: FloatArray, seed: int) -> FloatArray:
    from sklearn.manifold import TSNE

    found = TSNE(init="pca", perplexity=20.0, max_iter=400, random_state=seed, n_jobs=1).fit_transform(rows)
    rounded: FloatArray = np.asarray(found, dtype=np.float64).round(3)
    return rounded


def judge(rows: Sequence[Row]) -> Verdict:
    """Covariances of two classes are less similar in direction than those of two halves of one class."""
    sets: dict[str, dict[str, float]] = {}
    for name in sorted({str(row.settings["images"]) for row in rows}):
        shares, within, between = [], [], []
        for row in rows:
            if row.settings["images"] == name:
                cosines = np.array(row.numbers["cosines"], dtype=np.float64)
                own = np.diag(cosines)
                off = ~np.eye(own.size, dtype=bool)
                shares.append(float((cosines < np.minimum(own[:, None], own[None, :]))[off].mean()))
                within.append(float(own.mean()))
                between.append(float(cosines[off].mean()))
        sets[name] = {
            "share": float(np.mean(shares)),
            "within": float(np.mean(within)),
            "between": float(np.mean(between)),
            "spread": float(np.std(between)),
        }
    good = [name for name, entry in sets.items() if entry["share"] >= APART]
    against = [name for name, entry in sets.items() if entry["between"] > entry["within"]]
    outcome = decided([name in good for name in sets], opposite=bool(against))
    found = "; ".join(
        f"{name}: cosine {entry['within']:.2f} within a class, {entry['between']:.2f} between classes, apart in "
        f"{entry['share']:.0%} of the pairs"
        for name, entry in sets.items()
    )
    return Verdict(outcome, found + ".", {"sets": sets})


def plot(rows: Sequence[Row]) -> Figure:
    """The map and the cosines of every image set."""
    panels = []
    for row in of_one_seed(rows):
        names, title = list(row.numbers["names"]), str(row.settings["images"])
        points, labels = np.array(row.numbers["map"], dtype=np.float64), np.array(row.numbers["labels"])
        series = [
            Points(points[labels == k, 0].tolist(), points[labels == k, 1].tolist(), name)
            for k, name in enumerate(names)
        ]
        panels.append(Panel(f"{title}: t-SNE", "", "", series))
        cosines = Heatmap(names, names, row.numbers["cosines"], "cosine")
        panels.append(Panel(f"{title}: alignment of covariances", "class", "class", [cosines]))
    return Figure("Classes differ in shape", panels, "Diagonal: two halves of one class.")


def _settings(per_class: int, mapped: int) -> list[Settings]:
    return [{"images": name, "per_class": per_class, "mapped": mapped} for name in ("mnist", "fashion-mnist", "digits")]


CLAIM = Claim(
    id="bo-shapes",
    rule=f"In every image set, for at least {APART:.0%} of the pairs of classes the cosine of their covariances is "
    "below that of two halves of either class: holds; in at least half of the sets: partly; larger between classes "
    "than within on average: contradicted.",
    quick=Runs(_settings(120, 250)),
    paper=Runs(_settings(2000, 2000), seeds=(0, 1)),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={"covariances": "shape is the direction of the covariance in pixels, not the outline of a blob in a map"},
    needs=("mnist", "fashion-mnist"),
    alternatives={
        "one shape for all classes": renumbered(lambda row: {"cosines": np.full_like(row.numbers["cosines"], 0.8)})
    },
)
