"""Which pairs of classes a network fails to distinguish: an empirical law, pair by pair, on top of the equilibrium.

Networks lose classes in pairs: two similar rare classes come to share one classifier, then three, then all rare ones.
With f_lo <= f_hi the frequencies of two classes, s their similarity, D hidden layers, eta = step/(1 - momentum),
batches of b (at most N), B the share of the inputs' variance that lies between classes (it does not matter to
convolutional networks), loss the training loss of a pilot where there is one, and F the forgetting
(`training_settings`), two classes of one frequency f* are as likely merged as not:

    f* = c wd (eta/b)^x D^y (D/2)^(t ln(100 eta/b)) (K/10)^z (4 B)^w (loss / 0.1)^l
    P(merged) = Phi((ln f* - alpha ln f_lo - (1 - alpha) ln f_hi + gamma s) / sigma)
    cosine = (1 - P) (equilibrium cosine (1 - m e^-F) + kappa s) + P (1 - u e^-2F - v min(1, f/f*))

f is the geometric mean of the pair. In the equilibrium, the strength omega_k of a class is reduced by its chance of
being lost. The similarity s of a pair is the cosine of their centred class means of the raw inputs + 1/(K-1) or, after
a pilot run, the amount by which the cosine of their classifiers exceeded the equilibrium there. A pilot also shifts ln
f*, by the mean of the shifts that explain its cosines, with a normal prior.

Nothing here is a theorem. `lopsided bench fits` fits the constants to the development half of the families
collapse-ratio and collapse-tail (`bench/laws/merging_fit.py` says how) and prints their errors; they are scored on the
other half. `outside` lists the settings of a forecast that are beyond those of the tasks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from lopsided.core.counts import ClassCounts, CountsLike, class_counts
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_count
from lopsided.theory.network_equilibrium import (
    Equilibrium,
    batchnorm_equilibrium,
    cosines_of_strengths,
    plain_equilibrium,
)
from lopsided.theory.survival_law import SurvivalForecast
from lopsided.theory.training_settings import TrainingSettings

THRESHOLD = ("constant", "noise", "depth", "depth_noise", "classes", "convolution", "separation", "loss")  # of ln f*
RECIPE, PILOT_RECIPE = "merging law", "merging law with pilot"
_SHIFTS = np.linspace(-2.0, 2.0, 41)  # of ln f*, the candidates for the shift that explains a pilot
NORMAL_90 = 1.6448536269514722  # half of a 90 % interval of the normal distribution, in deviations
_PRIOR = 0.35  # deviation of the shift of ln f* before a pilot is seen
_LEAST_FORGETTING = 0.4
_LEAST_LOSS = 3e-3  # smaller ones differ by rounding and chance


@dataclass(frozen=True)
class Coefficients:
    """The constants of the law for one kind of network and one kind of similarity, in the order of the docstring."""

    constant: float  # ln c
    noise: float  # x
    depth: float  # y
    depth_noise: float  # t
    classes: float  # z, of K / 10
    convolution: float  # added to ln f* for a convolutional network
    separation: float  # w
    loss: float  # of the pilot's training loss over 0.1
    spread: float  # sigma
    lower: float  # alpha
    similar: float  # gamma
    carried: float  # kappa
    weakened: float  # share of omega that a lost class loses
    start: float  # m
    start_merged: float  # u
    noise_merged: float  # v
    offset: float  # added to the cosine of a pair that is distinguished
    # Errors on the development half, by rules that are described with the fit: the deviation of ln f*; in addition, the
    # widths within which 90 % of the cosines of pairs, and 90 % of their means over pairs, lie; and the weight of the
    # mean squared error of a pilot over its pairs.
    threshold_error: float
    pair_error: float
    mean_error: float
    pilot_weight: float


BATCH_NORM = Coefficients(
    constant=0.03, noise=0.3, depth=0.57, depth_noise=0.3, classes=-0.17, convolution=0.36, separation=-0.29,
    loss=0, spread=0.29, lower=0.15, similar=0.83, carried=0.15, weakened=0.99, start=0.06, start_merged=0.96,
    noise_merged=0.22, offset=-0.005, threshold_error=0.57, pair_error=0.16, mean_error=0.08, pilot_weight=0,
)  # fmt: skip
BATCH_NORM_PILOT = Coefficients(
    constant=0.01, noise=0.3, depth=0.71, depth_noise=0.21, classes=-0.23, convolution=0.27, separation=-0.23,
    loss=0.02, spread=0.29, lower=0.18, similar=0.91, carried=0.69, weakened=0.94, start=0.06,
    start_merged=0.99, noise_merged=0.23, offset=-0.004, threshold_error=0.38, pair_error=0.13, mean_error=0.09,
    pilot_weight=830,
)  # fmt: skip
PLAIN = Coefficients(
    constant=-0.07, noise=0.09, depth=0.43, depth_noise=0.36, classes=-0.17, convolution=0, separation=-0.43,
    loss=0, spread=0.25, lower=0.15, similar=0.03, carried=0.4, weakened=1, start=0.12, start_merged=1.02,
    noise_merged=0.87, offset=0.004, threshold_error=0.77, pair_error=0.29, mean_error=0.28, pilot_weight=0,
)  # fmt: skip
PLAIN_PILOT = Coefficients(
    constant=0.03, noise=0.1, depth=0.63, depth_noise=0.24, classes=-0.22, convolution=0, separation=-0.27,
    loss=0.01, spread=0.32, lower=0.15, similar=0.28, carried=0.76, weakened=0.91, start=0.07,
    start_merged=1.05, noise_merged=0.83, offset=-0.002, threshold_error=0.77, pair_error=0.27, mean_error=0.17,
    pilot_weight=540,
)  # fmt: skip


@dataclass(frozen=True)
class InputFacts:
    """Root mean square length of the inputs, and the share of their variance that lies within classes."""

    norm: float = 4.0
    scatter: float = 0.75


@dataclass(frozen=True)
class PilotRun:
    """A finished run with the same settings: class counts, cosines of its classifiers (centred rows), training loss."""

    counts: CountsLike
    cosines: FloatArray
    loss: float | None = None


@dataclass(frozen=True)
class MergingLaw:
    """The law for one network and its classes, for any class counts."""

    training: TrainingSettings
    law: Coefficients
    facts: InputFacts
    loss: float | None  # of the pilot
    alike: FloatArray
    shift: float  # of ln f*, from pilots
    recipe: str
    beyond: tuple[str, ...]

    def forecast(self, counts: CountsLike) -> SurvivalForecast:
        """f*, survival of classes and cosines of all pairs, with 90 % intervals."""
        found = class_counts(counts)
        if found.classes != self.alike.shape[0]:
            raise InputError(f"counts of {self.alike.shape[0]} classes", found.classes)
        logs, rest = log_frequencies(found), equilibrium(found, self.training, self.facts)
        fixed, terms = threshold_terms(found, self.training, self.facts, self.loss)
        level = log_threshold(fixed, terms, self.law) + self.shift
        reach = NORMAL_90 * self.law.threshold_error
        levels = level + np.array([-reach, 0.0, reach])
        low, middle, high = pair_cosines(logs, rest.strengths, levels, self.training.forgetting, self.law, self.alike)
        threshold, factor = math.exp(level), math.exp(reach)
        least, most = np.minimum(low, middle), np.maximum(high, middle)
        return SurvivalForecast(
            recipe=self.recipe,
            counts=found,
            threshold_frequency=threshold,
            survival=ndtr((logs - level) / self.law.spread),
            cosines=middle,
            equilibrium=rest,
            outside=self.beyond,
            threshold_interval=(threshold / factor, threshold * factor),
            cosine_intervals=_widened(least, most, self.law.pair_error),
            mean_intervals=_widened(least, most, self.law.mean_error),
        )


def _widened(low: FloatArray, high: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    return np.clip(low - width, -1.0, 1.0), np.clip(high + width, -1.0, 1.0)


def merging_law(
    training: TrainingSettings,
    classes: int,
    *,
    similarity: FloatArray | None = None,
    pilots: Sequence[PilotRun] = (),
    inputs: InputFacts | None = None,
) -> MergingLaw:
    """The law for a network with `classes` classes.

    similarity: K x K cosines of centred class means of the inputs; without it, all pairs are equally similar. pilots:
    finished runs with the same classes; the first gives the similarity of pairs, and all of them shift f*. inputs:
    length and scatter of the inputs, which matter only without BatchNorm.
    """
    size, facts = check_count(classes, "the classes", at_least=2), inputs if inputs is not None else InputFacts()
    law, beyond = coefficients(training, bool(pilots)), _outside(size, training, inputs)
    if not pilots:
        alike = alike_in_data(similarity, size)
        return MergingLaw(training, law, facts, None, alike, 0.0, RECIPE, beyond)
    alike = _alike_in_pilot(pilots[0], size, training, law, facts)
    shift = _shift(pilots, training, law, alike, facts)
    return MergingLaw(training, law, facts, pilots[0].loss, alike, shift, PILOT_RECIPE, beyond)


def merging_forecast(counts: CountsLike, training: TrainingSettings) -> SurvivalForecast:
    """The forecast from counts and settings alone."""
    found = class_counts(counts)
    return merging_law(training, found.classes).forecast(found)


def log_frequencies(counts: ClassCounts) -> FloatArray:
    """ln f_k."""
    found: FloatArray = np.log(np.asarray(counts.counts, dtype=np.float64) / counts.total)
    return found


def coefficients(training: TrainingSettings, pilot: bool) -> Coefficients:
    """The constants for a kind of network, without and with a pilot."""
    if training.batch_norm:
        return BATCH_NORM_PILOT if pilot else BATCH_NORM
    return PLAIN_PILOT if pilot else PLAIN


def threshold_terms(
    counts: ClassCounts, training: TrainingSettings, facts: InputFacts, loss: float | None
) -> tuple[float, FloatArray]:
    """ln f* = ln wd + terms . (`THRESHOLD` of the coefficients): ln wd and the terms."""
    noise = math.log(training.effective_step / min(float(training.batch_size), counts.total))
    depth, between = training.hidden_layers, max(1.0 - facts.scatter, 1e-3)
    terms = [
        1.0,
        noise,
        math.log(depth),
        math.log(depth / 2) * (noise + math.log(100)),
        math.log(counts.classes / 10),
        1.0 if training.convolutional else 0.0,
        0.0 if training.convolutional else math.log(4.0 * between),
        0.0 if loss is None else math.log(max(loss, _LEAST_LOSS) / 0.1),
    ]
    return math.log(training.weight_decay), np.array(terms)


def log_threshold(fixed: Any, terms: FloatArray, law: Coefficients) -> Any:
    """ln f* from `threshold_terms`; leading axes are kept."""
    return fixed + terms @ np.array([getattr(law, name) for name in THRESHOLD])


def equilibrium(counts: ClassCounts, training: TrainingSettings, facts: InputFacts) -> Equilibrium:
    """The equilibrium of that kind of network."""
    if training.batch_norm:
        return batchnorm_equilibrium(counts, training.weight_decay, training.batch_size)
    return plain_equilibrium(counts, training.weight_decay, training.hidden_layers + 1, facts.norm)


def pair_cosines(
    logs: FloatArray, strengths: FloatArray, level: Any, forgetting: Any, law: Coefficients, alike: FloatArray
) -> FloatArray:
    """The expected cosines (..., K, K) at ln f* = level (...): from ln f_k and omega_k (..., K) and s (..., K, K)."""
    level, forgotten = np.asarray(level), np.exp(-np.asarray(forgetting))[..., None, None]
    lost = ndtr((level[..., None] - logs) / law.spread)
    level = level[..., None, None]
    lower, upper = (pick(logs[..., :, None], logs[..., None, :]) for pick in (np.minimum, np.maximum))
    merged = ndtr((level - law.lower * lower - (1.0 - law.lower) * upper + law.similar * alike) / law.spread)
    # a millionth of the strength of a class keeps the angles defined where all are lost
    apart = cosines_of_strengths(strengths * (1.0 - law.weakened * lost) + 1e-9)
    apart = apart * (1.0 - law.start * forgotten) + law.carried * alike + law.offset
    close = np.minimum(1.0, np.exp(0.5 * (lower + upper) - level))
    together = 1.0 - law.start_merged * forgotten**2 - law.noise_merged * close
    cosines: FloatArray = np.clip((1.0 - merged) * apart + merged * np.maximum(together, 0.2), -1.0, 1.0)
    places = np.arange(logs.shape[-1])
    cosines[..., places, places] = 1.0
    return cosines


def alike_in_data(similarity: FloatArray | None, classes: int) -> FloatArray:
    """s of all pairs from the cosines of their centred class means."""
    if similarity is None:
        return np.zeros((classes, classes))
    given = np.asarray(similarity, dtype=np.float64)
    if given.shape != (classes, classes) or not np.isfinite(given).all():
        raise InputError(f"{classes} x {classes} finite similarities", f"shape {given.shape}")
    return given + 1.0 / (classes - 1)


def _alike_in_pilot(
    pilot: PilotRun, classes: int, training: TrainingSettings, law: Coefficients, facts: InputFacts
) -> FloatArray:
    """Observed cosines minus the equilibrium's, times the chance that the pair is distinguished in the pilot."""
    found, seen = class_counts(pilot.counts), np.asarray(pilot.cosines, dtype=np.float64)
    if found.classes != classes or seen.shape != (classes, classes) or not np.isfinite(seen).all():
        expected = f"a pilot with the {classes} classes of the forecast and its {classes} x {classes} cosines"
        got = f"{found.classes} classes, cosines of shape {seen.shape}"
        raise InputError(expected, got, "give counts and cosines of the same run")
    fixed, terms = threshold_terms(found, training, facts, pilot.loss)
    strengths = equilibrium(found, training, facts).strengths
    return alike_in_run(log_frequencies(found), strengths, log_threshold(fixed, terms, law), law, seen)


def alike_in_run(
    logs: FloatArray, strengths: FloatArray, level: Any, law: Coefficients, seen: FloatArray
) -> FloatArray:
    """s (..., K, K) of the cosines `seen` in a run at ln f* = level (...)."""
    middle = 0.5 * (logs[..., :, None] + logs[..., None, :])
    apart = ndtr((middle - np.asarray(level)[..., None, None]) / law.spread)
    return np.asarray((seen - cosines_of_strengths(strengths + 1e-9)) * apart, dtype=np.float64)


def _shift(
    pilots: Sequence[PilotRun], training: TrainingSettings, law: Coefficients, alike: FloatArray, facts: InputFacts
) -> float:
    """The mean shift of ln f* given the pilots' cosines."""
    misses = np.zeros(_SHIFTS.size)
    for pilot in pilots:
        found, seen = class_counts(pilot.counts), np.asarray(pilot.cosines, dtype=np.float64)
        fixed, terms = threshold_terms(found, training, facts, pilots[0].loss)
        strengths, level = equilibrium(found, training, facts).strengths, log_threshold(fixed, terms, law)
        misses += shift_misses(log_frequencies(found), strengths, level, training.forgetting, law, alike, seen)
    return float(mean_shift(misses, law))


def shift_misses(
    logs: FloatArray,
    strengths: FloatArray,
    level: Any,
    forgetting: Any,
    law: Coefficients,
    alike: FloatArray,
    seen: FloatArray,
) -> FloatArray:
    """Mean squared errors over the pairs of a run (...) for every shift of ln f* (last axis)."""
    levels = np.asarray(level) + _SHIFTS.reshape(-1, *[1] * np.ndim(level))
    first, second = np.triu_indices(logs.shape[-1], 1)
    misses = pair_cosines(logs, strengths, levels, forgetting, law, alike) - seen
    return np.moveaxis(np.mean(misses[..., first, second] ** 2, axis=-1), 0, -1)


def mean_shift(misses: FloatArray, law: Coefficients) -> Any:
    """The mean over shifts (last axis) given the errors.

    Prior: normal with deviation `_PRIOR`. Likelihood: exp(-weight/2 x the mean squared error over pairs), by pilot; the
    weight is fitted, because the errors of pairs are not independent.
    """
    weights = -0.5 * (_SHIFTS / _PRIOR) ** 2 - 0.5 * law.pilot_weight * misses
    odds = np.exp(weights - weights.max(axis=-1, keepdims=True))
    return odds @ _SHIFTS / odds.sum(axis=-1)


def _outside(classes: int, training: TrainingSettings, inputs: InputFacts | None) -> tuple[str, ...]:
    """The settings that are beyond the tasks on which the law was fitted and scored."""
    decay = (3e-3, 3e-2) if training.batch_norm else (4e-3, 2e-2)
    asked = {
        "batch size": (training.batch_size, 32, 128),
        "step / (1 - momentum)": (training.effective_step, 0.1, 2.0),
        "weight decay": (training.weight_decay, *decay),
        "hidden layers": (training.hidden_layers, 1, 3 if training.batch_norm else 2),
        "classes": (classes, 3, 10),
    }
    # the limits themselves were drawn, so a rounding error beyond them is not outside
    beyond = [
        f"{name} {value:g} (tested on {low:g} to {high:g})"
        for name, (value, low, high) in asked.items()
        if not low * (1 - 1e-9) <= value <= high * (1 + 1e-9)
    ]
    if training.forgetting < _LEAST_FORGETTING:
        beyond.append(f"a training that stops early (forgetting {training.forgetting:.2g}, tested from 0.4)")
    if training.optimiser != "sgd":
        beyond.append(f"{training.optimiser} (tested on SGD)")
    if not training.batch_norm and inputs is None:
        beyond.append("inputs whose length and scatter are not known")
    return tuple(beyond)
