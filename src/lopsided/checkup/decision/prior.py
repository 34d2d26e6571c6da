"""What remedies gained elsewhere: a prior of their gains by metric, kind of learner, imbalance and size.

How much there is to gain differs between tables far more than which remedy gains most: on some plain training is right
already. So the gains g of the arms over plain training, on the data of one user, are s N(B x, Omega) + N(0, floor^2 I)
before anything is measured, with x = (1, log10 of the imbalance ratio less 1, log10 of the smallest class less 1.3,
log10 of half the number of classes). The scale s of the table has a log-normal distribution, here on a grid. Where
plain training is nearly perfect there is little to gain: log s has the mean power (log(room + offset) - centre), where
room is how far plain training is from the best value in a trial. A plan does not know the room, and with more than two
classes most of it may be confusion that no remedy for imbalance reaches: these have a prior of their own, with power 0.
What is measured tells about s, too, and with it how far to trust the order of remedies that was found elsewhere.

`bench/decisions.py --fit` estimates B and Omega on the development half of KEEL's imbalanced suite, for linear models
and for trees, and writes `prior.json`; a test fits again and compares. Other learners get the mean of the two kinds,
with their difference as further uncertainty. An arm that the file does not know, such as a classifier of the user's, is
treated as a typical one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.learners.named_learner import last_step

_DRAWS = 4000
UNKNOWN = 1.5  # the variance of an arm that the prior does not know, in means of those it knows


@dataclass(frozen=True)
class GainPosterior:
    """What is known of the gains after a measurement: a mixture of normal distributions, one for each scale."""

    chances: FloatArray  # of the scales
    means: FloatArray  # scales x arms
    covariances: FloatArray  # scales x arms x arms

    @classmethod
    def normal(cls, mean: FloatArray, covariance: FloatArray) -> "GainPosterior":
        """A single normal distribution."""
        return cls(np.ones(1), mean[None], covariance[None])

    @property
    def mean(self) -> FloatArray:
        """The expected gains."""
        return np.asarray(self.chances @ self.means)

    @property
    def covariance(self) -> FloatArray:
        """Within the scales and between them."""
        apart = self.means - self.mean
        return np.asarray(np.tensordot(self.chances, self.covariances, 1) + (self.chances * apart.T) @ apart)

    def interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Bounds of every gain between which it lies with the chance `level`."""
        low, high = np.quantile(self.draws(0, _DRAWS), [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def draws(self, seed: int, number: int) -> FloatArray:
        """Gains at random, number x arms; the scales have their shares of the draws."""
        random = generator(seed, "chances").standard_normal((number, self.means.shape[1]))
        scale = np.searchsorted(np.cumsum(self.chances), (np.arange(number) + 0.5) / number)
        scale = np.minimum(scale, self.chances.size - 1)  # cumulated chances can round to less than 1
        values, vectors = np.linalg.eigh(self.covariances)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return np.asarray(self.means[scale] + np.einsum("nab,nb->na", roots[scale], random))


@dataclass(frozen=True)
class GainPrior:
    """Gains of `arms` over plain training: `mean` and `covariance` times a scale and its square, of which `scales` has
    those possible and `chances` how likely they are. `example` is what one example more or less of the smallest class
    changes the metric by. `weak` where nothing is known and the measurement stands alone."""

    arms: tuple[str, ...]
    mean: FloatArray
    covariance: FloatArray
    scales: tuple[float, ...] = (1.0,)
    chances: tuple[float, ...] = (1.0,)
    floor: float = 0.0
    example: float = 0.0
    weak: bool = False

    def posterior(self, gains: FloatArray, errors: FloatArray) -> GainPosterior:
        """What is known of the gains after measuring them with the covariance `errors`."""
        if self.weak:
            return GainPosterior.normal(gains, errors)
        scales, one = np.array(self.scales), np.eye(len(self.arms))
        before = scales[:, None, None] ** 2 * self.covariance + self.floor**2 * one
        means = scales[:, None] * self.mean
        weight = np.swapaxes(np.linalg.solve(before + errors, before), 1, 2)
        after = means + np.einsum("kab,kb->ka", weight, gains - means)
        left = before - weight @ before
        likely = np.log(self.chances) + log_normal(gains - means, before + errors)
        chances = np.exp(likely - likely.max())
        return GainPosterior(chances / chances.sum(), after, (left + np.swapaxes(left, 1, 2)) / 2.0)

    def trial_errors(self, errors: FloatArray) -> FloatArray:
        """Errors of a trial's gains as estimates of what the arms gain when trained on all data.

        The errors that a trial states are right on average, but too small where few answers happened to change: one
        example of the smallest class more or less, in plain training and in each arm, is always possible. A further
        deviation of each arm stays with any number of examples: the model that is used is another one.
        """
        if self.weak:
            return errors
        return errors + self._at_least(_stored()["trial"])

    def pilot_errors(self, stored: Mapping[str, Any] | None) -> FloatArray:
        """Covariance of what a pilot's forecasts are off by: a deviation that all share and one of each arm (that of a
        typical one where it has none), and an example more or less, as in a trial."""
        common, known = (0.05, {}) if stored is None else (stored["common"], stored["own"])
        typical = float(np.mean(list(known.values()))) if known else 0.05
        own = np.array([known.get(arm, typical) for arm in self.arms])
        return common**2 + self._at_least(own)

    def _at_least(self, own: float | FloatArray) -> FloatArray:
        """An example of plain training, which all arms share, one of each arm, and deviations of each arm."""
        return np.asarray(self.example**2 + (self.example**2 + np.square(own)) * np.eye(len(self.arms)))


def log_normal(apart: FloatArray, covariance: FloatArray) -> FloatArray:
    """Log density of normal distributions, each (last axis) `apart` from its mean."""
    root = np.linalg.cholesky(covariance)
    scaled = np.linalg.solve(root, apart[..., None])[..., 0]
    logs = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    return np.asarray(-0.5 * np.square(scaled).sum(axis=-1) - logs - 0.5 * apart.shape[-1] * np.log(2 * np.pi))


def one_example(metric: str, counts: IntArray) -> float:
    """What one example of the smallest class changes a metric by: an average over classes, over all rows, or the share
    of that class."""
    present = counts[counts > 0]
    if metric in ("overall", "brier", "log-loss"):
        return float(1.0 / present.sum())
    return float(1.0 / (present.min() * (present.size if metric == "balanced" else 1)))


def learner_kind(learner: Any) -> str:
    """linear, trees or other: of a pipeline, its last step's."""
    if isinstance(learner, str):
        return {"logistic": "linear", "boosting": "trees"}.get(learner, "other")
    last = last_step(learner)
    words = f"{type(last).__module__}.{type(last).__name__}".lower()
    if any(word in words for word in ("linear_model", "discriminant", "linearsvc")):
        return "linear"
    return "trees" if any(word in words for word in ("forest", "boost", "tree", "lightgbm", "lgbm")) else "other"


def context(counts: IntArray) -> FloatArray:
    """x of a data set with these class counts."""
    present = counts[counts > 0]
    ratio, least = present.max() / present.min(), float(present.min())
    return np.array([1.0, np.log10(ratio) - 1.0, np.log10(least) - 1.3, np.log10(present.size / 2.0)])


def gain_prior(arms: Sequence[str], metric: str, kind: str, counts: IntArray, room: float | None = None) -> GainPrior:
    """The prior for these arms in a metric, by its word, on data with these class counts; `room` as in `MeasuredGains`,
    None where nothing was measured."""
    room = room if np.count_nonzero(counts) == 2 else None
    of_metric = _stored()["plans" if room is None else "metrics"].get(metric)
    number = len(arms)
    if of_metric is None or not arms:
        return GainPrior(tuple(arms), np.zeros(number), np.zeros((number, number)), weak=True)
    kinds = [kind] if kind in of_metric else list(of_metric)
    found = [_of_kind(of_metric[known], arms, context(counts)) for known in kinds]
    means, covariances = np.array([mean for mean, _ in found]), np.array([covariance for _, covariance in found])
    centre = means.mean(axis=0)
    apart = means - centre
    covariance = covariances.mean(axis=0) + apart.T @ apart / len(found)
    typical = float(np.mean([of_metric[known]["room"] for known in kinds]))
    return scaled_prior(arms, centre, covariance, metric, counts, scales(typical, room))


def scales(typical: float, room: float | None) -> tuple[float, ...]:
    """The scales of a table that a trial found this room on; `typical` is the mean of log(room + offset) elsewhere."""
    stored = _stored()
    mean = 0.0 if room is None else stored["power"] * (np.log(room + stored["offset"]) - typical)
    return tuple(np.exp(mean + stored["spread"] * np.array(stored["steps"])))


def scaled_prior(
    arms: Sequence[str],
    mean: FloatArray,
    covariance: FloatArray,
    metric: str,
    counts: IntArray,
    scales: tuple[float, ...],
) -> GainPrior:
    """The prior with these moments at scale 1, and with the chances and the floor of the file."""
    stored = _stored()
    chances, example = tuple(stored["chances"]), one_example(metric, counts)
    return GainPrior(tuple(arms), mean, covariance, scales, chances, stored["floor"], example)


def pilot_deviations(metric: str, kind: str) -> Mapping[str, Any] | None:
    """What a pilot's forecasts were off by, as stored; None where that was not measured."""
    found: Mapping[str, Any] | None = _stored()["pilot"].get(metric, {}).get(kind if kind == "linear" else "trees")
    return found


def after_forecasts(prior: GainPrior, forecasts: Mapping[str, float], errors: FloatArray) -> GainPosterior:
    """What the prior and a pilot's forecasts, off by `errors`, together say of each arm."""
    # What has no forecast was measured with no precision at all.
    unknown = np.diag([0.0 if arm in forecasts else 1e6 for arm in prior.arms])
    return prior.posterior(np.array([forecasts.get(arm, 0.0) for arm in prior.arms]), unknown + errors)


def plan_score(kind: str) -> str:
    """How good the first remedy of a plan was on tables that the prior was not fitted on, in a sentence."""
    found = _stored()["score"].get(kind)
    if found is None:
        return ""
    return (
        f"On {found['sets']} held-out tables, the first remedy of such a plan was {found['plan']:.1f} points of "
        f"balanced accuracy behind the best one in hindsight; the best fixed rule, {found['rule']}, was "
        f"{found['regret']:.1f} behind."
    )


@cache
def _stored() -> dict[str, Any]:
    return dict(json.loads(files(__package__).joinpath("prior.json").read_text()))


def _of_kind(stored: dict[str, Any], arms: Sequence[str], about: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the arms, those unknown taken for typical ones."""
    known = list(stored["arms"])
    mean, covariance = np.array(stored["effects"]) @ about, np.array(stored["covariance"])
    typical = covariance.mean(axis=0)
    place = np.array([known.index(arm) if arm in known else -1 for arm in arms])
    wide = np.block([[covariance, typical[:, None]], [typical[None, :], np.array([[typical.mean()]])]])
    found = wide[np.ix_(place, place)]
    spread = UNKNOWN * float(np.diag(covariance).mean()) - float(typical.mean())
    found[np.diag_indices_from(found)] += np.where(place < 0, max(spread, 0.0), 0.0)
    return np.append(mean, mean.mean())[place], found
