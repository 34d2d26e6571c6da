"""Which classes a network trained by SGD keeps: an empirical law on top of the BatchNorm equilibrium.

Because of gradient noise, real networks lose classes at several times larger frequencies than their equilibrium
(`network_equilibrium`) predicts. With D hidden layers, eta = lr / (1 - momentum) and batches of b (at most N):

    f* = 1.12 wd (eta/b)^0.281 D^0.746                   recipe "survival"
    f* = 0.966 wd (eta/b)^0.273 D^0.718 loss^-0.052      recipe "survival with pilot": final loss of one run at R = 10
    P(a class of frequency f survives) = Phi(ln(f/f*) / 0.67)

Lost classes have omega = 0; the cosine of two lost classes is 1 - min(1/2, 10 eta/b) min(1, f/f*). Cosines are averaged
over which classes survive, independently of each other. The exponents are not theory: `bench/laws/survival_fit.py` fits
them, and the 0.67, to the development tasks of the skill family on two class sizes whose network has BatchNorm and a
threshold; `outside` lists the settings of a forecast beyond theirs. The loss of a pilot explains next to nothing there.
The 1/2 and the 10 of the cosine of lost classes were chosen by hand. The merging law (`merging_law`) forecasts better.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from lopsided.core.counts import ClassCounts, CountsLike, class_counts
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_count, check_in_range, check_positive
from lopsided.theory.network_equilibrium import Equilibrium, batchnorm_equilibrium

# ln c, the exponents of eta/b, D and the pilot's loss, and the deviation of ln f50 from the law
COEFFICIENTS = {"constant": 0.116, "noise": 0.281, "depth": 0.746, "spread": 0.673}
PILOT_COEFFICIENTS = {"constant": -0.0341, "noise": 0.273, "depth": 0.718, "loss": -0.052, "spread": 0.682}
# the settings of the tasks
FITTED = {
    "batch size": (32, 128),
    "step": (0.03, 0.3),
    "weight decay": (0.0033, 0.028),
    "hidden layers": (1, 3),
    "classes": (3, 10),
}
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


@dataclass(frozen=True)
class SurvivalForecast:
    """The frequency f* at which a class survives with a chance of 1/2, the chance of every class, and the expected
    cosines.

    `merging_law` returns this as well, with intervals.
    """

    recipe: str
    counts: ClassCounts
    threshold_frequency: float
    survival: FloatArray
    cosines: FloatArray
    equilibrium: Equilibrium
    outside: tuple[str, ...]
    threshold_interval: tuple[float, float] | None = None  # of the frequency, nine times in ten
    cosine_intervals: tuple[FloatArray, FloatArray] | None = None  # of every pair, nine times in ten
    mean_intervals: tuple[FloatArray, FloatArray] | None = None  # their means over pairs hold the mean cosine

    @property
    def count_needed(self) -> float:
        """f* N: with this many examples, a class survives with a chance of 1/2."""
        return self.threshold_frequency * self.counts.total

    @property
    def at_risk(self) -> list[int]:
        """Classes with a chance above 1/2 of being lost."""
        return [int(k) for k in np.flatnonzero(self.survival < 0.5)]

    @property
    def ratio_threshold(self) -> float | None:
        """R* = (1/f* - K_B) / K_A for two class sizes; None otherwise, or if that is below 1."""
        sizes, repeats = np.unique(self.counts.counts, return_counts=True)
        if sizes.size != 2:
            return None
        ratio = (1.0 / self.threshold_frequency - int(repeats[0])) / int(repeats[1])
        return float(ratio) if ratio >= 1 else None

    def mean_cosine(self, classes: IntArray | list[int]) -> float | None:
        """Expected cosine averaged over the pairs of the classes named; None for fewer than two."""
        chosen = np.asarray(classes, dtype=np.int64)
        if chosen.size < 2:
            return None
        block = self.cosines[np.ix_(chosen, chosen)]
        return float((block.sum() - np.trace(block)) / (chosen.size * (chosen.size - 1)))

    @property
    def minority_cosine(self) -> float | None:
        """Expected cosine between the smallest classes."""
        return self.mean_cosine([int(k) for k in np.flatnonzero(self.counts.counts == self.counts.counts.min())])


def survival_forecast(
    counts: CountsLike,
    *,
    weight_decay: float,
    step: float,
    batch_size: int,
    momentum: float = 0.0,
    hidden_layers: int = 2,
    pilot_loss: float | None = None,
) -> SurvivalForecast:
    """f* = c wd (eta/b)^x D^y, or times loss^z with the final training loss of a pilot run."""
    found = class_counts(counts)
    decay, rate = check_positive(weight_decay, "the weight decay"), check_positive(step, "the learning rate")
    depth, size = check_count(hidden_layers, "the hidden layers"), check_count(batch_size, "the batch size")
    inertia = check_in_range(momentum, "the momentum", 0.0, 1.0)
    if inertia == 1.0:
        raise InputError("a momentum below 1", momentum, "give the optimiser's momentum, such as 0.9")
    noise = rate / (1.0 - inertia) / min(float(size), found.total)
    if pilot_loss is None:
        recipe, law, loss = "survival", COEFFICIENTS, 1.0
    else:
        recipe, law = "survival with pilot", PILOT_COEFFICIENTS
        loss = check_positive(pilot_loss, "the pilot's training loss")
    threshold = decay * math.exp(law["constant"]) * noise ** law["noise"] * depth ** law["depth"]
    threshold *= loss ** law.get("loss", 0.0)
    frequencies = found.counts / found.total
    survival = ndtr(np.log(frequencies / threshold) / law["spread"])
    rest = batchnorm_equilibrium(found, decay, size)
    cosines = _expected_cosines(rest.strengths, survival, noise, np.minimum(1.0, frequencies / threshold))
    asked = {"batch size": size, "step": rate, "weight decay": decay, "hidden layers": depth, "classes": found.classes}
    outside = [
        f"{name} {value:g} (fitted on {FITTED[name][0]:g} to {FITTED[name][1]:g})"
        for name, value in asked.items()
        if not FITTED[name][0] <= value <= FITTED[name][1]
    ]
    if np.unique(found.counts).size > 2:
        outside.append("more than two class sizes")
    return SurvivalForecast(recipe, found, threshold, survival, cosines, rest, tuple(outside))


def _expected_cosines(strengths: FloatArray, survival: FloatArray, noise: float, closeness: FloatArray) -> FloatArray:
    """E cos(w_j, w_k) over independent survival.

    Given whether j and k survive, the cosine depends on the other classes only through the sum of their omegas, which
    is integrated as a normal variable with its own mean and variance, truncated at 0.
    """
    classes = strengths.shape[0]
    mean, variance = survival * strengths, survival * (1.0 - survival) * strengths**2
    rest_mean = mean.sum() - mean[:, None] - mean[None, :]
    rest_spread = np.sqrt(np.maximum(variance.sum() - variance[:, None] - variance[None, :], 0.0))
    lost_pair = 1.0 - min(0.5, 10.0 * noise) * 0.5 * (closeness[:, None] + closeness[None, :])
    expected = np.zeros((classes, classes))
    for first in (True, False):
        for second in (True, False):
            odds = np.outer(survival if first else 1.0 - survival, survival if second else 1.0 - survival)
            if not first and not second:
                expected += odds * lost_pair
                continue
            own = strengths[:, None] * first
            other = strengths[None, :] * second
            for node, weight in zip(_NODES, _NODE_WEIGHTS / _NODE_WEIGHTS.sum(), strict=True):
                shared = (np.maximum(rest_mean + node * rest_spread, 0.0) + own + other) / classes**2
                product = shared - (own + other) / classes
                lengths = np.sqrt((shared + own * (1.0 - 2.0 / classes)) * (shared + other * (1.0 - 2.0 / classes)))
                with np.errstate(invalid="ignore", divide="ignore"):
                    cosine = np.where(lengths > 0, product / lengths, 1.0)
                expected += odds * weight * np.clip(cosine, -1.0, 1.0)
    np.fill_diagonal(expected, 1.0)
    return expected
