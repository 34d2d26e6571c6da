"""The fit of the merging law: from the measured development tasks to the constants of `theory.merging_law`.

    lopsided bench fits                      the constants with their errors
    python -m bench.fits FILE [STORE]        writes the file of measured tasks that the fit reads, from a store

One set of constants for each kind of network (with and without BatchNorm), without and with a pilot. Over tasks t,
ratios r and pairs p of classes, c the measured and c^ the forecast cosine,

    minimise  sum_t mean_r [mean_p (c - c^)^2 + (mean_p (c - c^))^2] / sigma^2  +  sum_i ((theta_i - mu_i) / tau_i)^2

The second term is a ridge towards simple values (`PRIOR`; for networks without BatchNorm, of which there are few,
towards those with it). Pairs are all pairs of a long tail and the minority's pairs of two sizes, which is what the
families ask about. A pilot is a run at ratio 10 or at ratio 40, in turn. Three errors follow from the fit:

    threshold_error   what nine of ten shifts of ln f* stay within that fit a task best, in deviations of a normal law:
                      tasks of two sizes whose mean cosine passes 1/2, since others say little about f*
    pair_error        what nine of ten cosines of a long tail lie beyond the interval that this alone gives, at most
    mean_error        the same of the minority's mean cosine, two sizes

They are taken out of sample: each task by the constants without it, one Gauss-Newton step from the optimum. The same
steps give the errors of the constants (the jackknife over tasks), and the cross-validation by which sigma was chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from bench.laws.merging_data import matrix
from scipy.optimize import least_squares

from lopsided.core.counts import class_counts
from lopsided.core.validation import FloatArray, IntArray
from lopsided.skill.collapse_recipes import LOST, training_of
from lopsided.skill.collapse_runs import LATE_PILOT, PILOT, asked, counts_at
from lopsided.theory.merging_law import (
    NORMAL_90,
    Coefficients,
    InputFacts,
    alike_in_data,
    alike_in_run,
    equilibrium,
    log_frequencies,
    log_threshold,
    mean_shift,
    merging_law,
    pair_cosines,
    shift_misses,
    threshold_terms,
)

SIGMA = 0.2  # of 0.05, 0.1, 0.2 and 0.3 the best without each task in turn, in all four sets or nearly so
MOVES = np.linspace(-2.0, 2.0, 161)  # of ln f*, in which the shift of a task is looked for
# mu and tau of the ridge, and the range that is searched
Prior = tuple[float, float, float, float]
PRIOR: dict[str, Prior] = {
    "constant": (0.0, 1.0, -3, 3),
    "noise": (0.3, 0.3, -1, 1),
    "depth": (0.5, 0.5, -2, 2),
    "depth_noise": (0.0, 0.3, -2, 2),
    "classes": (0.0, 0.5, -2, 2),
    "convolution": (0.0, 0.5, -2, 2),
    "separation": (0.0, 0.5, -2, 2),
    "loss": (0.0, 0.2, -1, 1),
    "spread": (0.3, 0.1, 0.05, 1),
    "lower": (0.25, 0.25, 0, 1),
    "similar": (1.0, 1.0, -1, 3),
    "carried": (0.3, 1.0, -1, 2),
    "weakened": (1.0, 0.3, 0, 1),
    "start": (0.0, 0.3, -2, 2),
    "start_merged": (1.0, 0.3, -1, 3),
    "noise_merged": (0.3, 0.3, -1, 2),
    "offset": (0.0, 0.02, -0.5, 0.5),
    "log_weight": (np.log(1000.0), 1.0, 0, 9),  # ten independent pairs with a noise of 0.1
}
PILOT_PRIOR = PRIOR | {"carried": (1.0, 0.3, -1, 2)}  # what a pilot's cosines exceed carries over in full
# name in `theory.merging_law` -> with BatchNorm, with a pilot
SETS = {
    "BATCH_NORM": (True, False),
    "BATCH_NORM_PILOT": (True, True),
    "PLAIN": (False, False),
    "PLAIN_PILOT": (False, True),
}
NO_ERRORS = {"threshold_error": 0.0, "pair_error": 0.0, "mean_error": 0.0}


@dataclass(frozen=True)
class RunStack:
    """M runs with K classes each, as the law takes them."""

    logs: FloatArray  # M x K
    strengths: FloatArray
    fixed: FloatArray  # M, see `threshold_terms`
    terms: FloatArray
    forgetting: FloatArray
    cosines: FloatArray  # M x K x K

    def of(self, chosen: Any) -> "RunStack":
        """Some of them."""
        return RunStack(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def level(self, law: Coefficients) -> FloatArray:
        """ln f* of every run."""
        found: FloatArray = log_threshold(self.fixed, self.terms, law)
        return found


@dataclass(frozen=True)
class Batch:
    """Tasks with one number of classes: runs to forecast, what a forecaster sees of each, and what counts."""

    runs: RunStack
    task: IntArray  # M: the task of a run
    likeness: FloatArray  # M x K x K, without a pilot
    pilots: RunStack | None
    pilot: IntArray  # M: the place among `pilots`
    counted: FloatArray  # M x pairs: 1 / how many, or 0
    weight: FloatArray  # M: 1 / runs of the task
    tail: FloatArray  # M: 1 for a long tail, 0 for two sizes

    def of(self, task: int) -> "Batch":
        """The runs of one task."""
        own = self.task == task
        kept = {name: getattr(self, name)[own] for name in ("task", "likeness", "counted", "weight", "tail")}
        pilots, pilot = self.pilots, self.pilot[own]
        if pilots is not None:
            chosen, pilot = np.unique(pilot, return_inverse=True)
            pilots = pilots.of(chosen)
        return replace(self, runs=self.runs.of(own), pilots=pilots, pilot=pilot, **kept)

    def forecast(self, law: Coefficients, moves: Any = 0.0) -> FloatArray:
        """Cosines of pairs (..., M x pairs) at ln f* + every one of the moves (...)."""
        runs, alike, level = self.runs, self.likeness, self.runs.level(law)
        if self.pilots is not None:
            seen = self.pilots
            there = seen.level(law)
            found = alike_in_run(seen.logs, seen.strengths, there, law, seen.cosines)
            misses = shift_misses(seen.logs, seen.strengths, there, seen.forgetting, law, found, seen.cosines)
            alike, level = found[self.pilot], level + mean_shift(misses, law)[self.pilot]
        level = level + np.asarray(moves)[..., None]
        return _pairs(pair_cosines(runs.logs, runs.strengths, level, runs.forgetting, law, alike))


def _pairs(cosines: FloatArray) -> FloatArray:
    first, second = np.triu_indices(cosines.shape[-1], 1)
    return cosines[..., first, second]


def batches(tasks: Sequence[Mapping[str, Any]], batch_norm: bool, pilot: bool) -> list[Batch]:
    """The tasks of one kind of network that lie within what the law claims, by number of classes."""
    chosen: dict[int, list[int]] = {}
    for place, task in enumerate(tasks):
        training = training_of(task["settings"])
        inside = not merging_law(training, len(task["settings"]["classes"]), inputs=_facts(task)).beyond
        if inside and training.batch_norm == batch_norm:
            chosen.setdefault(len(task["settings"]["classes"]), []).append(place)
    return [_batch(tasks, places, classes, pilot) for classes, places in sorted(chosen.items())]


def _facts(task: Mapping[str, Any]) -> InputFacts:
    return InputFacts(task["norm"], task["scatter"])


def _batch(tasks: Sequence[Mapping[str, Any]], places: Sequence[int], classes: int, pilot: bool) -> Batch:
    runs, pilots, facts = [], [], []
    for place in places:
        task = tasks[place]
        settings, likeness = task["settings"], alike_in_data(matrix(task["likeness"], classes), classes)
        two, counted = "majority" in settings, np.ones((classes, classes))
        if two:
            counted[: settings["majority"]] = counted[:, : settings["majority"]] = 0.0
        ratios = [ratio for ratio in asked(settings) if not (two and ratio in (PILOT, LATE_PILOT))]
        for seen in (PILOT, LATE_PILOT) if pilot else (None,):
            loss = None if seen is None else task["pilots"][str(seen)]["loss"]
            if seen is not None:
                pilots.append(_run(task, seen, loss, task["pilots"][str(seen)]["cosines"]))
            for ratio in ratios:
                runs.append(_run(task, ratio, loss, task["truth"][str(ratio)]))
                pairs = _pairs(counted)
                weight = 1.0 / (len(ratios) * (2 if pilot else 1))
                facts.append((place, likeness, len(pilots) - 1, pairs / pairs.sum(), weight, 0.0 if two else 1.0))
    task_of, alike, pilot_of, shares, weights, tails = (np.array(column) for column in zip(*facts, strict=True))
    seen_runs = _stacked(pilots) if pilot else None
    return Batch(_stacked(runs), task_of, alike, seen_runs, pilot_of, shares, weights, tails)


def _run(task: Mapping[str, Any], ratio: int, loss: float | None, packed: Sequence[int]) -> tuple[Any, ...]:
    settings, facts = task["settings"], _facts(task)
    training, counts = training_of(settings), class_counts(counts_at(settings, ratio))
    fixed, terms = threshold_terms(counts, training, facts, loss)
    strengths = equilibrium(counts, training, facts).strengths
    return log_frequencies(counts), strengths, fixed, terms, training.forgetting, matrix(packed, counts.classes)


def _stacked(runs: Sequence[tuple[Any, ...]]) -> RunStack:
    return RunStack(*(np.array(column) for column in zip(*runs, strict=True)))


def names_of(batch_norm: bool, pilot: bool) -> list[str]:
    """The constants that a set has: convolution needs BatchNorm here, loss and weight a pilot."""
    without = {"convolution": batch_norm, "loss": pilot, "log_weight": pilot}
    return [name for name in PRIOR if without.get(name, True)]


def law_of(names: Sequence[str], values: FloatArray) -> Coefficients:
    """The set, with all errors 0 and what it has not at 0."""
    given = dict.fromkeys(PRIOR, 0.0) | {name: float(value) for name, value in zip(names, values, strict=True)}
    weight = float(np.exp(given.pop("log_weight"))) if "log_weight" in names else 0.0
    given.pop("log_weight", None)
    return Coefficients(**given, **NO_ERRORS, pilot_weight=weight)


def residuals(batch: Batch, law: Coefficients, moves: Any = 0.0) -> FloatArray:
    """Of every run: its pairs and their mean, (..., M x (pairs + 1))."""
    misses = batch.forecast(law, moves) - _pairs(batch.runs.cosines)
    means = (misses * batch.counted).sum(axis=-1)[..., None]
    both = np.concatenate([misses * np.sqrt(batch.counted), means], axis=-1)
    found: FloatArray = both * np.sqrt(batch.weight)[:, None]
    return found


@dataclass(frozen=True)
class Fit:
    """Constants by name, their errors, and the constants without each task; `law` as it is committed."""

    names: list[str]
    values: FloatArray
    errors: FloatArray
    without: dict[int, FloatArray]
    law: Coefficients
    cost: float

    @property
    def by_name(self) -> dict[str, float]:
        """The constants as they were fitted."""
        return {name: float(value) for name, value in zip(self.names, self.values, strict=True)}

    @property
    def errors_by_name(self) -> dict[str, float]:
        """By the names of the coefficients; that of the pilot's weight is a share of it."""
        named = zip(self.names, self.errors, strict=True)
        return {"pilot_weight" if name == "log_weight" else name: float(error) for name, error in named}


def fit(
    found: Sequence[Batch],
    names: Sequence[str],
    prior: Mapping[str, Prior],
    *,
    start: FloatArray | None = None,
    sigma: float = SIGMA,
) -> Fit:
    """Least squares with a ridge, from its centre or from `start`.

    Without a task: one Gauss-Newton step from the optimum, so that leaving out each task in turn costs one fit.
    """
    middle, widths, low, high = (np.array(column) for column in zip(*(prior[name] for name in names), strict=True))

    def misses(values: FloatArray) -> FloatArray:
        law = law_of(names, values)
        parts = [residuals(batch, law).ravel() / sigma for batch in found]
        return np.concatenate([*parts, (values - middle) / widths])

    begin = np.clip(middle if start is None else start, low + 1e-6, high - 1e-6)
    solved = least_squares(misses, begin, bounds=(low, high), x_scale=widths, xtol=1e-7, ftol=1e-10, gtol=1e-10)
    tasks = np.concatenate([np.repeat(batch.task, batch.counted.shape[1] + 1) for batch in found])
    whole, without = solved.jac.T @ solved.jac, {}
    for task in np.unique(tasks):
        own, miss = solved.jac[: tasks.size][tasks == task], solved.fun[: tasks.size][tasks == task]
        step = np.linalg.solve(whole - own.T @ own, own.T @ miss)
        without[int(task)] = np.clip(solved.x + step, low, high)
    left = np.array(list(without.values()))
    errors = np.sqrt((len(left) - 1) / len(left) * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    return Fit(list(names), solved.x, errors, without, law_of(names, solved.x), float(solved.cost))


def errors_of(found: Sequence[Batch], fitted: Fit) -> dict[str, float]:
    """threshold_error, pair_error and mean_error, every task by the constants without it."""
    parts = [
        (batch.of(task), law_of(fitted.names, fitted.without[int(task)]))
        for batch in found
        for task in np.unique(batch.task)
    ]
    shifts = []
    for own, law in parts:
        means = (_pairs(own.runs.cosines) * own.counted).sum(axis=1)
        if not own.tail.any() and means.min() < LOST < means.max():
            costs = np.sum(residuals(own, law, MOVES) ** 2, axis=(-2, -1))
            shifts.append(abs(float(MOVES[np.argmin(costs)])))
    threshold = float(np.quantile(shifts, 0.9)) / NORMAL_90
    beyond: dict[bool, list[FloatArray]] = {True: [], False: []}
    for own, law in parts:
        low, middle, high = own.forecast(law, NORMAL_90 * threshold * np.array([-1.0, 0.0, 1.0]))
        low, high, true = np.minimum(low, middle), np.maximum(high, middle), _pairs(own.runs.cosines)
        if not own.tail.any():
            low, high, true = ((values * own.counted).sum(axis=1) for values in (low, high, true))
        beyond[bool(own.tail.any())].append(np.maximum(low - true, true - high).ravel())
    pair, mean = (
        max(float(np.quantile(np.concatenate(beyond[tail]), 0.9)), 0.0) if beyond[tail] else 0.0
        for tail in (True, False)
    )
    return {"threshold_error": threshold, "pair_error": pair, "mean_error": mean}


def fit_all(tasks: Sequence[Mapping[str, Any]]) -> dict[str, Fit]:
    """The four sets by their names in `theory.merging_law`; networks without BatchNorm are drawn to those with it."""
    made: dict[str, Fit] = {}
    for name, (batch_norm, pilot) in SETS.items():
        names, found = names_of(batch_norm, pilot), batches(tasks, batch_norm, pilot)
        prior = dict(PILOT_PRIOR if pilot else PRIOR)
        if not batch_norm:
            like = made[name.replace("PLAIN", "BATCH_NORM")].by_name
            prior |= {one: (value, *prior[one][1:]) for one, value in like.items() if one != "log_weight"}
        starts: list[FloatArray | None] = [None]
        if not batch_norm and pilot:
            # of these few tasks there are several minima, where the other sets have one: begin at theirs as well
            plain = {one: prior[one][0] for one in names} | made["PLAIN"].by_name
            starts.append(np.array([plain[one] for one in names]))
        fitted = min((fit(found, names, prior, start=start) for start in starts), key=lambda one: one.cost)
        made[name] = replace(fitted, law=rounded(replace(fitted.law, **errors_of(found, fitted))))
    return made


def rounded(law: Coefficients) -> Coefficients:
    """As committed: two decimals, three of the offset, two digits of the weight."""
    digits = {"offset": 3}
    values = {name: round(value, digits.get(name, 2)) + 0.0 for name, value in asdict(law).items()}
    return Coefficients(**values | {"pilot_weight": float(f"{law.pilot_weight:.2g}")})
