"""What remedies gained elsewhere: a normal prior of their gains by metric, kind of learner, imbalance and size.

The gains g of the arms over plain training, on the data of one user, are N(B x, Omega) before anything is measured,
with x = (1, log10 of the imbalance ratio less 1, log10 of the smallest class less 1.3, log10 of half the number of
classes). `bench/decisions.py --fit` estimates B and Omega on the development half of KEEL's imbalanced suite, for
linear models and for trees, and writes `prior.json`; a test fits again and compares. Other learners get the mean of
the two kinds, with their difference as further uncertainty. An arm that the file does not know, such as a classifier
of the user's, is taken for a typical one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.learners.named_learner import last_step

UNKNOWN = 1.5  # the variance of an arm that the prior does not know, in means of those it knows


@dataclass(frozen=True)
class GainPrior:
    """Normal gains of `arms` over plain training; `weak` where nothing is known and the measurement stands alone."""

    arms: tuple[str, ...]
    mean: FloatArray
    covariance: FloatArray
    weak: bool = False

    def posterior(self, gains: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of the gains after measuring them with the covariance `errors`."""
        if self.weak:
            return gains, errors
        weight = np.linalg.solve(self.covariance + errors, self.covariance).T
        left = self.covariance - weight @ self.covariance
        return self.mean + weight @ (gains - self.mean), np.asarray((left + left.T) / 2.0)

    def trial_errors(self, errors: FloatArray) -> FloatArray:
        """Errors of a trial's gains as estimates of what the arms gain when trained on all data.

        Gains of a cross-validation were further from the truth than their own errors say, by a factor and by a
        deviation of each arm that more examples do not lower: the model that is used is another one.
        """
        if self.weak:
            return errors
        scale, own = _stored()["trial"]
        return np.asarray(scale * errors + own**2 * np.eye(len(self.arms)))


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


def gain_prior(arms: Sequence[str], metric: str, kind: str, counts: IntArray) -> GainPrior:
    """The prior for these arms in a metric, by its word, on data with these class counts."""
    of_metric = _stored()["metrics"].get(metric)
    number = len(arms)
    if of_metric is None or not arms:
        return GainPrior(tuple(arms), np.zeros(number), np.zeros((number, number)), weak=True)
    found = [
        _of_kind(of_metric[known], arms, context(counts)) for known in ([kind] if kind in of_metric else of_metric)
    ]
    means, covariances = np.array([mean for mean, _ in found]), np.array([covariance for _, covariance in found])
    centre = means.mean(axis=0)
    apart = means - centre
    return GainPrior(tuple(arms), centre, covariances.mean(axis=0) + apart.T @ apart / len(found))


def pilot_errors(arms: Sequence[str], metric: str, kind: str) -> FloatArray:
    """Covariance of what a pilot's forecasts of these arms were off by."""
    return pilot_covariance(
        arms, _stored()["pilot"].get(metric, {}).get(kind if kind in ("linear", "trees") else "trees")
    )


def pilot_covariance(arms: Sequence[str], stored: Mapping[str, Any] | None) -> FloatArray:
    """A deviation that all forecasts share, and one of each arm: the mean of the others where it has none."""
    common, known = (0.05, {}) if stored is None else (stored["common"], stored["own"])
    typical = float(np.mean(list(known.values()))) if known else 0.05
    own = np.array([known.get(arm, typical) for arm in arms])
    return np.full((own.size, own.size), common**2) + np.diag(own**2)


def expected_gains(prior: GainPrior, forecasts: Mapping[str, float], errors: FloatArray) -> dict[str, float]:
    """What the prior and a pilot's forecasts, off by `errors`, together expect of each arm, by name."""
    # What has no forecast was measured with no precision at all.
    unknown = np.diag([0.0 if arm in forecasts else 1e6 for arm in prior.arms])
    gains = np.array([forecasts.get(arm, 0.0) for arm in prior.arms])
    mean, _ = prior.posterior(gains, unknown + errors)
    return dict(zip(prior.arms, mean.tolist(), strict=True))


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
