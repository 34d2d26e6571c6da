"""A two-patch network of Xu and Chen 2025, trained by its settings: its accuracies with their errors, and the constants
of Theorem 1 fitted on half of the measured cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from lopsided.core.figure import Heatmap
from lopsided.core.seeds import generator
from lopsided.core.statistics import Uncertain, accuracy_mean
from lopsided.core.validation import FloatArray
from lopsided.data.noise_construction import NoiseConstruction
from lopsided.data.patches import PatchDistribution, PatchSample, draw_patches, patch_distribution
from lopsided.learners.patch_cnn import READINGS, PatchFit, Training, initial_weights, train
from lopsided.theory.overfitting_bounds import Cell, FitQuality, Terms, TheoremConstants, check_constants, fit_constants
from lopsided.theory.patch_bayes import one_direction_accuracy

BENIGN, HARMFUL = 0.1, 0.4  # zero-one losses; chance is 0.667 with three classes

READING_WORDS = {
    "full batch": "20 full-batch steps of rate 0.05, as eq (4) is written; they do not fit the training set",
    "mini-batch": "20 passes over batches of 10 at rate 0.05",
    "scaled step": "20 full-batch steps of rate 0.05 m, which undoes the 1/m of eq (1)",
    "converged": "full-batch steps of rate m until the training loss is below 0.01, the end that Theorem 1 speaks of",
}


class PatchRow(Protocol):
    """A stored run: the settings of `patch_run` and the numbers that were measured."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What was set."""

    @property
    def numbers(self) -> Mapping[str, Any]:
        """What was measured."""


AnyRow = TypeVar("AnyRow", bound=PatchRow)


@dataclass(frozen=True)
class PatchRun:
    """A distribution, a training and a test sample, and the network trained on the first."""

    distribution: PatchDistribution
    construction: NoiseConstruction
    sample: PatchSample
    test: PatchSample
    fit: PatchFit

    def right(self) -> FloatArray:
        """1 where a test example is classified correctly, else 0."""
        outputs = self.fit.outputs(self.test.features, self.test.noise, self.test.labels)
        right: FloatArray = (outputs.argmax(axis=1) == self.test.labels).astype(np.float64)
        return right

    def class_accuracy(self) -> FloatArray:
        """Test accuracy per class."""
        K = self.distribution.classes
        accuracy: FloatArray = np.bincount(self.test.labels, self.right(), K) / np.bincount(self.test.labels, None, K)
        return accuracy


def patch_run(settings: Mapping[str, Any], seed: int, *, record: Sequence[int] | None = None) -> PatchRun:
    """Train by the settings.

    Keys: classes, per_class, dimension, feature_norm, ratio, width, reading, tests (per class); optional: family,
    base, others (the size of every class but the first, with the noise of the equal sizes kept), deviation, training
    (overrides).
    """
    K = int(settings["classes"])
    sizes = [int(settings["per_class"])] * K
    distribution, built = patch_distribution(
        sizes,
        int(settings["dimension"]),
        feature_norms=float(settings["feature_norm"]),
        ratios=float(settings["ratio"]),
        base=float(settings.get("base", 0.5)),
        family=str(settings.get("family", "gaussian")),
        seed=seed,
    )
    drawn = [sizes[0], *[int(settings.get("others", sizes[0]))] * (K - 1)]
    sample = draw_patches(distribution, seed, "train", sizes=drawn)
    test = draw_patches(distribution, seed, "test", sizes=[int(settings["tests"])] * K)
    training = READINGS[str(settings["reading"])]
    if "training" in settings:
        training = Training(**{**vars(training), **settings["training"]})
    weights = initial_weights(
        generator(seed, "weights"),
        K,
        int(settings["width"]),
        distribution.dimension,
        deviation=settings.get("deviation"),
    )
    fit = train(
        weights, sample.features, sample.noise, sample.labels, training, generator(seed, "batches"), record=record
    )
    return PatchRun(distribution, built, sample, test, fit)


def run_numbers(run: PatchRun) -> dict[str, Any]:
    """The numbers that most claims store."""
    accuracy = run.class_accuracy()
    return {
        "accuracy": float(accuracy.mean()),
        "class_accuracy": accuracy.tolist(),
        "train_loss": float(run.fit.trajectory.loss[-1]),
        "train_accuracy": float(run.fit.trajectory.accuracy[-1]),
        "tests": int(run.test.labels.size),
        "ratio_error": run.construction.largest_error,
        "status": run.fit.status,
    }


def trained_cell(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Test accuracy of one cell."""
    return run_numbers(patch_run(settings, seed))


def measured_cell(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Test accuracy of one cell, and the accuracy of the Bayes rule on Gaussian noise patches alone."""
    run = patch_run(settings, seed)
    eigenvalue = float(run.distribution.matrices[0].singular_values()[0].max())
    bayes = one_direction_accuracy(run.distribution.classes, max(eigenvalue, 0.5)).value
    return {**run_numbers(run), "bayes": bayes}


def patch_settings(
    reading: str, classes: int, per_class: int, dimension: int, width: int, tests: int, **more: Any
) -> dict[str, Any]:
    """What every cell of a claim has."""
    sizes = {"classes": classes, "per_class": per_class, "dimension": dimension, "width": width, "tests": tests}
    return {**sizes, "reading": reading, **more}


def readings_of(rows: Sequence[AnyRow]) -> dict[str, list[AnyRow]]:
    """Rows by the reading of their settings, in alphabetical order."""
    names = sorted({str(row.settings["reading"]) for row in rows})
    return {name: [row for row in rows if row.settings["reading"] == name] for name in names}


def accuracy_means(
    rows: Sequence[AnyRow], key: Callable[[AnyRow], Any], value: str = "accuracy"
) -> dict[Any, Uncertain]:
    """Mean of `value` over the seeds of every setting, by `key`, in the order of the keys."""
    found: dict[Any, list[AnyRow]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return {
        name: accuracy_mean([float(row.numbers[value]) for row in found[name]], int(found[name][0].numbers["tests"]))
        for name in sorted(found)
    }


def accuracy_map(table: Mapping[tuple[float, float], Uncertain]) -> Heatmap:
    """Accuracies over two settings, the second of the key across; a cell that was not measured is empty."""
    down, across = (sorted({key[place] for key in table}) for place in (0, 1))
    values = [[table[y, x].value if (y, x) in table else None for x in across] for y in down]
    return Heatmap(across, down, values, "test accuracy", low=0.0, high=1.0)


def phase_cell(row: PatchRow) -> Cell:
    """A row of bo-phase as a measured problem of Theorem 1."""
    loss = 1.0 - np.array(row.numbers["class_accuracy"], dtype=np.float64)
    # Two classes: the one pair that a class is in.
    signal, ratio = (np.array(row.numbers[key], dtype=np.float64)[:, None] for key in ("signals", "ratios"))
    full = np.ones((loss.size, loss.size))
    tail = np.array(row.numbers["tail_loss"], dtype=np.float64) if "tail_loss" in row.numbers else None
    return Cell(Terms(signal * full, ratio * full), loss, int(row.numbers["tests_per_class"]), tail)


def fit_halves(rows: Sequence[PatchRow]) -> tuple[TheoremConstants, FitQuality, list[Cell]]:
    """Constants from one half of the cells, how they did on the other half, and that half."""
    fit, held = ([phase_cell(row) for row in rows if row.settings["half"] == half] for half in (0, 1))
    constants = fit_constants(fit, benign=BENIGN, harmful=HARMFUL)
    return constants, check_constants(held, constants, benign=BENIGN), held
