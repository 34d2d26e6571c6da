"""The runs of Li and Liang (2018): clustered data, wide network, SGD, and what Section 7 reports.

Settings are plain values so that they can be stored; every one has the value of Section 7 as its default. The training
set, the test set, the network and the batches have separate random streams under a seed, so that two settings that
differ in one value share the rest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data import clusters
from lopsided.data.clusters import ClusterMixture, ClusterSample, ClusterSpec, random_mixture, sample_mixture
from lopsided.learners.wide_descent import WideDescent, full_batches, wide_run
from lopsided.learners.wide_relu import accuracy, cross_entropy, network_outputs, random_network
from lopsided.measure.coupling import pattern_change
from lopsided.measure.separability import components_needed, separability
from lopsided.measure.weight_change import Travelled, relative_distance, spectrum

SHOWN_SINGULAR_VALUES = 80  # k l = 70 at seven components a class


@dataclass(frozen=True)
class WideRun:
    """One run; `record` names the steps between measurements, `stop_at` an accuracy that ends it."""

    width: int = 1000
    classes: int = 10
    components: int = 2
    dimension: int = 1000
    spread: float = 1.0
    centre_spread: float = 5.0
    shape: clusters.Shape = "gaussian"
    train: int = 1000
    test: int = 1000
    steps: int = 400
    batch: int = 16
    rate_times_width: float = 10.0
    record: int = 10
    stop_at: float | None = None
    reading: str = "unit, A3"
    precision: Literal["float32", "float64"] = "float32"


PAIRS = WideRun().classes * WideRun().components  # k l = 20


@dataclass
class Curves:
    """What Section 7 plots against the step."""

    steps: list[int] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    pattern_change: list[float] = field(default_factory=list)
    distance: list[float] = field(default_factory=list)

    def record(self, states: WideDescent, labels: IntArray, distance: float) -> None:
        """Measure the probe points, whose labels are given, after the last step."""
        initial = states.probe_initial_preactivations
        now = states.probe_preactivations() if states.step else initial
        outputs = network_outputs(now, states.network.top)
        self.steps.append(states.step)
        self.accuracy.append(accuracy(outputs, labels))
        self.loss.append(cross_entropy(outputs, labels))
        self.pattern_change.append(pattern_change(initial, now).pairs)
        self.distance.append(distance)


def run_settings(settings: Mapping[str, Any]) -> WideRun:
    """Convert stored settings to a run; unknown keys belong to the claim and are ignored."""
    known = {entry.name for entry in fields(WideRun)}
    return replace(WideRun(), **{key: value for key, value in settings.items() if key in known})


def draw(run: WideRun, seed: int) -> tuple[ClusterSample, ClusterSample]:
    """Training and test sample of one random mixture."""
    normalisation, covariance, _ = _reading(run.reading)
    shared = {name: getattr(run, name) for name in ("classes", "components", "dimension", "shape", "spread")}
    spec = ClusterSpec(**shared, centre_spread=run.centre_spread, normalisation=normalisation, covariance=covariance)
    mixture = random_mixture(spec, generator(seed, "mixture"))
    return (
        sample_mixture(mixture, run.train, generator(seed, "train")),
        sample_mixture(mixture, run.test, generator(seed, "test")),
    )


def descent(run: WideRun, train: ClusterSample, seed: int, probe: FloatArray) -> WideDescent:
    """SGD of Section 7 on `train`, watching the points of `probe`."""
    how = {name: getattr(run, name) for name in ("classes", "width", "steps", "batch", "rate_times_width")}
    how |= {"initialisation": _reading(run.reading)[2], "dtype": run.precision}
    return wide_run(train.points, train.labels, **how, seed=seed, probe=probe)


def point_mixture(settings: Mapping[str, Any], seed: int) -> ClusterMixture:
    """Random unit points, each a component of its own: the data of case S."""
    shape = {name: settings[name] for name in ("classes", "components", "dimension")}
    return random_mixture(ClusterSpec(shape="point", **shape), generator(seed, "mixture"))


def case_s(mixture: ClusterMixture, settings: Mapping[str, Any], seed: int) -> tuple[WideDescent, ClusterSample]:
    """Gradient descent on the components' points, weighted by their probabilities and watched; and those points."""
    corners, width = clusters.component_points(mixture), settings["width"]
    stream = generator(seed, "network", width)
    network = random_network(width, corners.points.shape[1], mixture.class_count, stream)
    states = WideDescent(
        network,
        corners.points,
        corners.labels,
        full_batches(len(corners.points), settings["steps"]),
        settings["rate_times_width"] / width,
        example_weights=mixture.probabilities,
        probe=corners.points,
    )
    return states, corners


def records(run: WideRun, states: WideDescent, labels: IntArray) -> Iterator[Curves]:
    """Step through the run and measure at the start and every `record` steps; yields the curves so far."""
    curves, travelled = Curves(), Travelled(states.network.hidden)
    curves.record(states, labels, 0.0)
    yield curves
    for state in states:
        travelled.follow(state.batch_displacement, state.batch_update, state.batch_gram)
        if state.step % run.record == 0 or state.step == run.steps:
            curves.record(state, labels, travelled.relative)
            yield curves
            if run.stop_at is not None and curves.accuracy[-1] >= run.stop_at:
                return


def measure_run(
    settings: Mapping[str, Any],
    seed: int,
    *,
    spectra: bool = True,
    watch: Callable[[Curves, WideDescent], None] | None = None,
) -> Mapping[str, Any]:
    """The four panels of Fig 1 for one network: curves on the test set, and the spectra at the end; `watch` is called
    at every record."""
    run = run_settings(settings)
    train, test = draw(run, seed)
    states = descent(run, train, seed, test.points)
    for curves in records(run, states, test.labels):
        if watch is not None:
            watch(curves, states)
    return {**vars(curves), **(end_spectra(states) if spectra else {})}


def measure_reach(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """The first record with test accuracy at least `stop_at` (every step unless `record` says otherwise)."""
    level = run_settings(settings).stop_at
    if level is None:
        raise InputError("an accuracy to reach", None, "set stop_at")
    numbers = measure_run({"record": 1, **settings}, seed, spectra=False)
    place = first_reaching(numbers, level)
    found = {"step": "steps", "distance": "distance", "pattern_change": "pattern_change"}
    reached = {name: None if place is None else numbers[key][place] for name, key in found.items()}
    return {"reached": place is not None, **reached}


def as_curves(records: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """The records of a run, number by number."""
    return {name: [record[name] for record in records] for name in records[0]}


def end_spectra(states: WideDescent) -> dict[str, Any]:
    """Singular values of the update and of the weights, their ranks, and the distance neuron by neuron."""
    initial, weights = states.network.hidden, states.weights()
    update, whole = spectrum(weights - initial), spectrum(weights)
    per_neuron = relative_distance(initial, weights).per_neuron
    return {
        "update_values": update.values[:SHOWN_SINGULAR_VALUES].tolist(),
        "weight_values": whole.values[:SHOWN_SINGULAR_VALUES].tolist(),
        "update_gap_at": update.gap_at,
        "update_gap": update.gap,
        "update_entropy_rank": update.entropy_rank,
        "weight_entropy_rank": whole.entropy_rank,
        "neuron_distance_quantiles": np.quantile(per_neuron, [0.05, 0.5, 0.95]).tolist(),
    }


def separability_numbers(sample: ClusterSample) -> dict[str, Any]:
    """delta, lambda and the verdict on (A1) for given components, and the number of components needed."""
    found = separability(sample.points, sample.labels, sample.components)
    needed = components_needed(sample.points, sample.labels)
    return {
        "delta": found.delta,
        "ratio": found.ratio[0],
        "needed_ratio": found.needed_ratio,
        "verdict": found.verdict,
        "exact": found.exact,
        "components_lower": needed.lower,
        "components_upper": needed.upper,
    }


def first_reaching(numbers: Mapping[str, Any], level: float) -> int | None:
    """Position of the first record whose accuracy is at least `level`."""
    return next((place for place, value in enumerate(numbers["accuracy"]) if value >= level), None)


def _reading(name: str) -> tuple[clusters.Normalisation, clusters.CovarianceReading, str]:
    readings: dict[str, tuple[clusters.Normalisation, clusters.CovarianceReading, str]] = {
        "unit, A3": ("unit", "section 7", "A3"),
        "raw": ("raw", "section 7", "A3"),
        "appendix D": ("unit", "appendix D", "A3"),
        "variance 1/sqrt(m)": ("unit", "section 7", "section 7"),
    }
    if name not in readings:
        raise InputError(f"a reading among {'; '.join(readings)}", repr(name), "name one of those")
    return readings[name]
