"""The prior of `checkup.decision`, fitted on the development half of the study: gains of remedies, what a trial and a
pilot's forecasts are off by."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench.keel.study import Study, development, source_of

from lopsided.checkup.decision.prior import context
from lopsided.checkup.decision.recommendation import PLAIN

PRIOR = Path(__file__).resolve().parents[2] / "src/lopsided/checkup/decision/prior.json"
METRICS = ("balanced", "worst-class", "overall", "f1", "mcc", "average-precision", "roc-auc", "brier", "log-loss")
LOSSES = ("brier", "log-loss")
# Chosen on the development half, leaving out one source after the other, by the mean over sources of the log density of
# the gains after a trial. The covariance is widened because most sets come from few sources: eighteen of 42 are ecoli.
RIDGE, SHRINK, WIDER = 20.0, 0.5, 3.0  # of effects, of correlations, and of the covariance
TRIAL = [1.0, 0.02]  # `GainPrior.trial_errors`


def fitted(study: Study, metric: str, without: str | None = None) -> dict[str, Any]:
    """Effects and covariance of the gains on the development half; sets of one source count as their root."""
    names = [name for name in study.names if development(name) and source_of(name) != without]
    sources = [source_of(name) for name in names]
    weights = np.array([1.0 / np.sqrt(sources.count(source)) for source in sources])
    sign = -1.0 if metric in LOSSES else 1.0
    arms = study.arms[1:]
    gains = np.array(
        [[sign * (study.truth(n, arm, metric) - study.truth(n, PLAIN, metric)) for arm in arms] for n in names]
    )
    about = np.array([context(np.array(study.sets[name]["counts"])) for name in names])
    weighted = about * (weights / weights.mean())[:, None]
    ridge = np.diag([0.0, *[RIDGE] * (about.shape[1] - 1)])
    effects = np.linalg.solve(weighted.T @ about + ridge, weighted.T @ gains)
    rest = gains - about @ effects
    covariance = (rest * weights[:, None]).T @ rest / weights.sum()
    size = len(arms)
    mixed = WIDER * ((1 - SHRINK) * covariance + SHRINK * np.trace(covariance) / size * np.eye(size))
    return {"arms": arms, "effects": effects.T.round(5).tolist(), "covariance": mixed.round(7).tolist()}


def pilot_error(study: Study, without: str | None = None) -> dict[str, Any]:
    """Deviations of what a pilot's forecasts of balanced accuracy were off by: in common (the median of the arms), and
    of every arm from that."""
    off, weights = [], []
    names = [name for name in study.names if development(name) and source_of(name) != without]
    sources = [source_of(name) for name in names]
    arms = sorted(study.sets[names[0]]["forecasts"][0])
    for name, source in zip(names, sources, strict=True):
        for told in study.sets[name]["forecasts"]:
            off.append([told[arm] - (study.truth(name, arm) - study.truth(name, PLAIN)) for arm in arms])
            weights.append(1.0 / np.sqrt(sources.count(source)))
    middle = np.median(off, axis=1)
    own = np.sqrt(np.average(np.square(off - middle[:, None]), axis=0, weights=weights))
    common = float(np.sqrt(np.average(middle**2, weights=weights)))
    return {"common": round(common, 4), "own": dict(zip(arms, own.round(4).tolist(), strict=True))}


def fit(studies: Sequence[Study]) -> dict[str, Any]:
    """The prior: all of `prior.json` but the score of a plan that uses it."""
    return {
        "metrics": {metric: {study.kind: fitted(study, metric) for study in studies} for metric in METRICS},
        "trial": TRIAL,
        "pilot": {"balanced": {study.kind: pilot_error(study) for study in studies}},
    }
