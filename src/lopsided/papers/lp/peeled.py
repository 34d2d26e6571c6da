"""Solve program (7) by `descents` from random starts (nonconvex, free features, without using convexity), and measure
the ends.

minimise (1/N) sum_k sum_i L(W h_ki, k)   subject to   mean_k |w_k|^2 <= E_W,   mean_k mean_i |h_ki|^2 <= E_H
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from lopsided.core.figure import Mark, Panel, Points
from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Row, Settings
from lopsided.papers.lp.descents import Sphere, descents
from lopsided.papers.shared.network_settings import SPLITS, split_over
from lopsided.papers.shared.summary import named

# A loss of the logits: (logits K x M, labels M) -> (loss of every column, gradient with respect to the logits).
ColumnLoss = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray]]

VANISHED = 1e-4  # of the longest classifier: descent leaves about 1e-8 where the minimiser has exactly zero


@dataclass(frozen=True)
class Peeled:
    """One instance of program (7): a label for every example, a weight in the loss and in the feature energy."""

    classes: int
    dimension: int
    weight_energy: float
    feature_energy: float
    labels: IntArray
    loss_weights: FloatArray
    energy_weights: FloatArray


@dataclass(frozen=True)
class PeeledFit:
    """Classifiers (rows), features (columns), the loss and the length of the gradient of its logarithm."""

    classifiers: FloatArray
    features: FloatArray
    loss: float
    gradient: float
    status: str

    @property
    def logits(self) -> FloatArray:
        """W H."""
        return self.classifiers @ self.features


def problem(
    counts: Sequence[float],
    *,
    weight_energy: float,
    feature_energy: float,
    dimension: int | None = None,
    examples: Sequence[int] | None = None,
) -> Peeled:
    """Classes of the given sizes. Each class has `examples` free features (by default one, its mean)."""
    sizes = np.asarray(counts, dtype=np.float64)
    copies = np.ones(len(sizes), dtype=np.int64) if examples is None else np.asarray(examples, dtype=np.int64)
    labels = np.repeat(np.arange(len(sizes)), copies)
    return Peeled(
        classes=len(sizes),
        dimension=dimension or len(sizes),
        weight_energy=weight_energy,
        feature_energy=feature_energy,
        labels=labels,
        loss_weights=(sizes / sizes.sum() / copies)[labels],
        energy_weights=(1.0 / (len(sizes) * copies))[labels],
    )


class Energies(TypedDict):
    """E_W and E_H, as `problem` and `theory` name them."""

    weight_energy: float
    feature_energy: float


def energies(settings: Settings) -> Energies:
    """Those of the settings."""
    return {"weight_energy": settings["weight_energy"], "feature_energy": settings["feature_energy"]}


def two_sizes(settings: Settings, ratio: float) -> Peeled:
    """Majority classes R times as large as minority ones, one feature for each class."""
    sizes = [ratio] * settings["majority_classes"] + [1.0] * settings["minority_classes"]
    return problem(sizes, **energies(settings))


def cross_entropy(logits: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """-log softmax of the own logit (8), relative to it, so that tiny losses keep their digits."""
    columns = np.arange(len(labels))
    relative = logits - logits[labels, columns]
    highest = relative.max(axis=0)
    shifted = np.exp(relative - highest)
    total = shifted.sum(axis=0)
    gradient = shifted / total
    own = gradient[labels, columns]
    shifted[labels, columns] = 0.0
    # log1p where the own logit leads (highest is 0 there)
    losses = np.where(highest > 0, highest + np.log(total), np.log1p(shifted.sum(axis=0)))
    gradient[labels, columns] = own - 1.0
    return losses, gradient


def descend(
    instance: Peeled, stream: np.random.Generator, *, starts: int = 1, loss: ColumnLoss = cross_entropy
) -> list[PeeledFit]:
    """Minimise from `starts` random starts; the fits in order of their loss, lowest first."""

    def log_loss(w: FloatArray, h: FloatArray) -> tuple[float, tuple[FloatArray, FloatArray]]:
        losses, slope = loss(w @ h, instance.labels)
        value = float(instance.loss_weights @ losses)
        slope = slope * (instance.loss_weights / value)
        return float(np.log(value)), (slope @ h.T, w.T @ slope)

    spheres = (
        Sphere((instance.classes, instance.dimension), instance.classes * instance.weight_energy),
        Sphere((instance.dimension, len(instance.labels)), instance.feature_energy, instance.energy_weights),
    )
    fits = []
    for end in descents(log_loss, spheres, stream, starts):
        w, h = end.blocks
        fits.append(PeeledFit(w, h, float(np.exp(log_loss(w, h)[0])), end.gradient, end.status))
    return sorted(fits, key=lambda fit: fit.loss)


def pair_cosines(vectors: FloatArray) -> FloatArray:
    """Cosines between all pairs of different rows; nan where a row is zero."""
    with np.errstate(invalid="ignore"):
        unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen: FloatArray = (unit @ unit.T)[np.triu_indices(len(vectors), 1)]
    return chosen


def mean_cosine(fit: PeeledFit, chosen: slice) -> float | None:
    """Average cosine between the chosen classifiers; None where they have vanished and there is no angle."""
    lengths = np.linalg.norm(fit.classifiers, axis=1)
    if lengths[chosen].max() < VANISHED * lengths.max():
        return None
    return float(pair_cosines(fit.classifiers[chosen]).mean())


def largest_distance(vectors: FloatArray) -> float:
    """Between any two rows."""
    return float(np.linalg.norm(vectors[:, None] - vectors[None], axis=2).max())


def class_means(fit: PeeledFit, labels: IntArray) -> FloatArray:
    """Mean feature of every class, as rows."""
    return np.array([fit.features[:, labels == label].mean(axis=1) for label in np.unique(labels)])


def frame_error(vectors: FloatArray) -> float:
    """Largest deviation of the rows from a simplex equiangular tight frame: angles and lengths, relative."""
    lengths = np.linalg.norm(vectors, axis=1)
    uneven = float(np.abs(lengths / lengths.mean() - 1.0).max())
    if lengths.min() == 0.0:
        return uneven  # at least 1: a vector is missing
    return max(uneven, float(np.abs(pair_cosines(vectors) + 1.0 / (len(vectors) - 1)).max()))


def deviation_panel(x_label: str, series: Sequence[Points], tolerance: float) -> Panel:
    """Distance of every end from the frame, next to the limit of the rule."""
    allowed = [Mark(tolerance, "the rule's tolerance", "y")]
    return Panel("Distance from the simplex frame", x_label, "largest deviation", series, allowed, y_log=True)


def curves_over_ratio(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """One for each split and feature energy."""
    return named(rows, "({majority_classes},{minority_classes}), E_H={feature_energy:g}", "ratio")


def ratio_settings(energies: Sequence[float], ratios: Sequence[float]) -> list[dict[str, Any]]:
    """The paper's three splits of ten classes, each at every feature energy and imbalance ratio."""
    return split_over({"weight_energy": 1.0}, SPLITS, feature_energy=energies, ratio=ratios)
