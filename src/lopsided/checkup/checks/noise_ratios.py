"""Can the atypical examples of a class be learned, or does the noise of other classes drown them?

    Gamma_kj = n_k tr(S_k^2) / (n_j tr(S_k S_j)),    signal_kj = n_k^2 |u_k|^4 / (n_j tr(S_k S_j))

(Xu and Chen 2025, Theorem 1), with S_k the covariance of class k. Their two classes have means u and -u; for K classes
|u_k|^2 is (K-1)/(2K) times the squared distance to the nearest other mean (equal to theirs for K = 2, and to the
length of the centred mean for a simplex), less the noise of means of n_k examples. So a class that lies in the middle
of others does not look weak. The theorem's constants are not given; those used here were fitted on the paper's own
synthetic problem (claim bo-phase, quick scale: `bench/laws/overfitting_fit.py`), so a region is an indication, never
"failing".
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from lopsided.checkup.checks.finding import Check, Checked, Finding, Level, shortened
from lopsided.checkup.checks.parts import all_of
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.feature_space import mapped_blocks
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Mark, Panel, Points
from lopsided.core.partition import Partition
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_moments import ClassMoments
from lopsided.measure.noise_matrix import NoiseMatrix, noise_matrix_of_blocks
from lopsided.theory.overfitting_bounds import Region, Terms, TheoremConstants, regions

CONSTANTS = TheoremConstants(C1=2.24, C2=25.5, C3=1.85, C3_signal=0.0426, c1=0.239, c2=0.0229, c3=0.4)
LEAST = 3  # examples of a class for a covariance that means anything
MOST_NAMED = 5
MOST_CLASSES = 200


def run(evidence: Evidence, random: np.random.Generator) -> Checked:
    """Ratios of all pairs of classes in the feature space, and the region of every class."""
    classes, space = evidence.labelled, evidence.space
    assert space.moments is not None
    usable = np.flatnonzero(space.moments.counts >= LEAST)
    if usable.size < 2:
        raise InputError(f"two classes of at least {LEAST} examples", usable.size, "add examples")
    # the smallest first; of equal ones those whose means lie first in one direction. Names must decide neither which
    # classes are looked at nor which draws each of them gets
    place_of_means = space.moments.means[usable] @ generator(0, "order of classes").standard_normal(space.map.width)
    usable = usable[np.lexsort((place_of_means, space.moments.counts[usable]))][:MOST_CLASSES]
    moments = ClassMoments(space.moments.counts[usable], space.moments.means[usable], space.moments.scatters[usable])
    place = np.full(len(classes.names), -1)
    place[usable] = np.arange(usable.size)
    codes = place[classes.codes[evidence.training]]

    def blocks() -> Iterator[tuple[FloatArray, IntArray]]:
        for rows, own in mapped_blocks(evidence, space.map):
            kept = place[own] >= 0
            yield rows[kept], place[own][kept]

    names = tuple(classes.names[code] for code in usable)
    about, level = (codes[codes >= 0], names, space.map.width), min(1 - 0.05 / usable.size, 0.995)
    drawn: dict[str, Any] = {"resamples": 400, "interval_examples": 200, "random": random}
    if evidence.drawn_from is not None:  # the fourth moments that shrinkage asks for are not known of all rows
        drawn["estimator"] = "sample"
    noise = noise_matrix_of_blocks(blocks, *about, level=level, moments=moments, **drawn)
    terms = _terms(noise, moments)
    found = regions(terms, CONSTANTS)
    own = Partition(classes.name, np.zeros(0, dtype=np.int64), names)
    findings = _findings(own, noise, terms, found, of=len(classes.names))
    weakest, signal = terms.weakest_ratio(), terms.weakest_signal()
    measures = {
        "estimator": noise.estimator,
        "note": noise.note,
        "measured_in": space.map.words,
        "classes": {
            name: {"weakest_ratio": float(weakest[k]), "weakest_signal": float(signal[k]), "region": found[k].value}
            for k, name in sorted(enumerate(names), key=lambda one: usable[one[0]])
        },
    }
    return Checked(shortened(findings, MOST_NAMED, "classes"), measures, [_figure(names, terms)])


def _terms(noise: NoiseMatrix, moments: ClassMoments) -> Terms:
    counts = moments.counts.astype(np.float64)
    trace = np.einsum("kii->k", moments.scatters) / (counts - 1)
    lengths = np.square(moments.means).sum(axis=1)
    distances = lengths[:, None] + lengths[None, :] - 2 * moments.means @ moments.means.T
    noise_of_means = trace / counts
    distances -= noise_of_means[:, None] + noise_of_means[None, :]
    np.fill_diagonal(distances, np.inf)
    classes = len(counts)
    squared = np.maximum(distances.min(axis=1), 0.0) * (classes - 1) / (2 * classes)
    with np.errstate(divide="ignore", invalid="ignore"):
        signal = (counts**2 * squared**2)[:, None] / (counts[None, :] * noise.products)
    return Terms(np.nan_to_num(signal, nan=0.0), noise.ratios)


def _findings(part: Partition, noise: NoiseMatrix, terms: Terms, found: list[Region], *, of: int) -> list[Finding]:
    everything = all_of(of, "classes") if of == len(part.names) else f"{len(part.names):,} of {of:,} classes"
    weakest, signal = terms.weakest_ratio(), terms.weakest_signal()
    bad = [k for k, region in enumerate(found) if region is Region.HARMFUL]
    if len(bad) == len(part.names):
        k = int(np.argmax(signal))
        words = f"The features do not separate the classes: the largest signal is {signal[k]:.2g}, of {part.names[k]}, "
        words += "and no class has noise of its own, so memorised examples will not help a network to generalise."
        remedy = "Check that the labels belong to these rows; then try other features, such as a model's last layer."
        return [Finding(Level.AT_RISK, everything, float(signal[k]), None, words, remedy)]
    findings = []
    for k in sorted(bad, key=lambda k: signal[k]):
        against, ends = _weakest_pair(noise, k)
        words = f"Class {part.names[k]} is likely to overfit: its own features (signal {signal[k]:.2g}) and "
        words += f"its noise (ratio {weakest[k]:.2g} against {part.names[against]}) are both weak beside the other "
        remedy = "Collect or oversample this class, or augment its examples with noise of its own covariance."
        ratio = float(weakest[k])
        findings.append(Finding(Level.AT_RISK, f"class {part.names[k]}", ratio, ends, words + "classes.", remedy))
    if findings:
        return findings
    k = int(np.argmin(weakest))
    against, ends = _weakest_pair(noise, k)
    words = f"No class is likely to overfit harmfully; the smallest noise ratio is {weakest[k]:.2g}, of "
    words += f"{part.names[k]} against {part.names[against]}."
    return [Finding(Level.HEALTHY, everything, float(weakest[k]), ends, words)]


def _weakest_pair(noise: NoiseMatrix, k: int) -> tuple[int, tuple[float, float] | None]:
    """The class against which the ratio of class k is smallest, and the ends of that ratio."""
    j = int(np.argmin(np.where(np.arange(len(noise.ratios)) == k, np.inf, noise.ratios[k])))
    if noise.ratios_low is None or noise.ratios_high is None:
        return j, None
    return j, (float(noise.ratios_low[k, j]), float(noise.ratios_high[k, j]))


def _figure(names: tuple[str, ...], terms: Terms) -> Figure:
    signal, ratio = np.maximum(terms.weakest_signal(), 1e-6).tolist(), terms.weakest_ratio().tolist()
    points = Points(signal, ratio, "class", names=list(names))
    marks = [Mark(CONSTANTS.C1, "benign by features"), Mark(CONSTANTS.C2, "benign by noise", "y")]
    axes = "Regions of Theorem 1", "weakest signal", "weakest noise ratio"
    panel = Panel(*axes, [points], marks, x_log=True, y_log=True)
    return Figure("Overfitting region of every class", [panel], "Harmful: far left and low. Undecided in between.")


CHECK = Check(
    "noise_ratios",
    "Is any class likely to overfit?",
    f"At risk when the weakest signal is at most {CONSTANTS.C3_signal:g} and the weakest noise ratio at most "
    f"{CONSTANTS.C3:g} (fitted constants, so never failing). Intervals by the linearised bootstrap.",
    "Xu and Chen 2025 (benign overfitting), Theorem 1.2-1.3 and Fig 2",
    frozenset({"labels", "features"}),
    run,
)
