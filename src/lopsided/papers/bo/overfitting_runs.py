"""What the claims of seed 002 share: a trained two-patch network per setting and seed, and means with errors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.data.noise_construction import NoiseConstruction
from lopsided.data.patches import PatchDistribution, PatchSample, draw_patches, patch_distribution
from lopsided.engine.task import Row, Settings
from lopsided.learners.patch_cnn import READINGS, PatchFit, Training, initial_weights, train

READING_WORDS = {
    "full batch": "20 full-batch steps of rate 0.05, as eq (4) is written; they do not fit the training set",
    "mini-batch": "20 passes over batches of 10 at rate 0.05",
    "scaled step": "20 full-batch steps of rate 0.05 m, which undoes the 1/m of eq (1)",
    "converged": "full-batch steps of rate m until the training loss is below 0.01, the end that Theorem 1 speaks of",
}


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


def patch_run(settings: Settings, seed: int, *, record: Sequence[int] | None = None) -> PatchRun:
    """Train on what the settings say.

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


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its standard error; binomial where there is one seed only."""

    value: float
    error: float
    count: int


def mean_of(values: Sequence[float], tests: int) -> Mean:
    """Mean of accuracies over seeds; the error is never below what `tests` examples a seed allow."""
    array = np.asarray(values, dtype=np.float64)
    center = float(array.mean())
    binomial = np.sqrt(max(center * (1 - center), 1.0 / tests) / (tests * array.size))
    spread = float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else 0.0
    return Mean(center, max(float(binomial), spread), array.size)


def grouped(rows: Sequence[Row], key: Callable[[Row], Any], value: str = "accuracy") -> dict[Any, Mean]:
    """Mean of `value` over the seeds of every setting, by `key`, in the order of the keys."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return {
        name: mean_of([float(row.numbers[value]) for row in found[name]], int(found[name][0].numbers["tests"]))
        for name in sorted(found)
    }


def rise(first: Mean, last: Mean) -> tuple[float, float]:
    """(difference, difference in standard errors)."""
    difference = last.value - first.value
    return difference, difference / float(np.hypot(first.error, last.error))


def paired_rise(rows: Sequence[Row], key: str, first: Any, last: Any, value: str) -> tuple[float, float]:
    """The same where a seed fixes the data of both settings: the mean difference within seeds, in its own errors."""
    ends = [{row.seed: float(row.numbers[value]) for row in rows if row.settings[key] == end} for end in (first, last)]
    seeds = sorted(ends[0].keys() & ends[1].keys())
    differences = np.array([ends[1][seed] - ends[0][seed] for seed in seeds])
    tests = int(rows[0].numbers["tests"])
    floor = mean_of(list(ends[0].values()), tests), mean_of(list(ends[1].values()), tests)
    binomial = np.sqrt(sum(max(mean.value * (1 - mean.value), 1.0 / tests) / (tests * len(seeds)) for mean in floor))
    spread = float(differences.std(ddof=1) / np.sqrt(len(seeds))) if len(seeds) > 1 else 0.0
    return float(differences.mean()), float(differences.mean() / max(float(binomial), spread))
