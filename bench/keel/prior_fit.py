"""The prior of `checkup.decision`, fitted on the development half of the study: gains of remedies, and what a pilot's
forecasts are off by."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench.keel.study import Study, development, source_of

from lopsided.checkup.decision.prior import context, one_example
from lopsided.checkup.decision.recommendation import PLAIN
from lopsided.core.validation import FloatArray

PRIOR = Path(__file__).resolve().parents[2] / "src/lopsided/checkup/decision/prior.json"
METRICS = ("balanced", "worst-class", "overall", "f1", "mcc", "average-precision", "roc-auc", "brier", "log-loss")
LOSSES = ("brier", "log-loss")
# Chosen on the development half, leaving out one source after the other: of those whose 90% intervals of the gain hold
# in 85 to 95 of 100 trials with either learner, the largest mean over sources of the log density of the gains after a
# trial. The covariance is widened because it comes from eleven sources; eighteen of the 42 sets are ecoli.
SPREAD, STEPS = 1.0, 7  # deviation of the log of a table's scale, and how many scales within two of them stand for all
RIDGE, SHRINK, WIDER = 5.0, 2.5, 1.75  # of effects and of correlations, in sources; of the covariance
FLOOR, TRIAL = 0.005, 0.005  # deviation of each arm's gain beside its scale; of a trial's estimate (`trial_errors`)
_ROUNDS = 60  # of expectation and maximisation; twice as many change no digit that is written


def scales() -> tuple[FloatArray, FloatArray]:
    """The scales of tables and how likely each is."""
    steps = np.linspace(-2.0, 2.0, STEPS)
    chances = np.exp(-(steps**2) / 2.0)
    return np.exp(SPREAD * steps), chances / chances.sum()


def fitted(study: Study, metric: str, without: str | None = None) -> dict[str, Any]:
    """Effects and covariance of the gains on the development half at scale 1; the sets of a source count as one.

    Expectation: given the effects B and the covariance Omega, how likely each scale is for a set, and the gains at
    scale 1 that it then has. Maximisation: B by ridge regression of these, Omega as their covariance around it, drawn
    to equal variances without correlation.
    """
    names, weights = _of_development(study, without)
    sign = -1.0 if metric in LOSSES else 1.0
    arms = study.arms[1:]
    gains = np.array(
        [[sign * (study.truth(n, arm, metric) - study.truth(n, PLAIN, metric)) for arm in arms] for n in names]
    )
    about = np.array([context(np.array(study.sets[name]["counts"])) for name in names])
    scale, chances = scales()
    one, times = np.eye(len(arms)), scale[:, None, None]
    ridge = np.diag([0.0, *[RIDGE] * (about.shape[1] - 1)])
    effects = np.zeros((about.shape[1], len(arms)))
    effects[0] = weights @ gains / weights.sum()
    covariance = np.cov(gains.T, aweights=weights) / 2.0 + FLOOR**2 * one
    for _ in range(_ROUNDS):
        spread = times**2 * covariance + FLOOR**2 * one
        inverse, expected = np.linalg.inv(spread), about @ effects
        apart = gains[:, None] - scale[:, None] * expected[:, None]  # sets x scales x arms
        far = np.einsum("nka,nka->nk", np.einsum("nka,kab->nkb", apart, inverse), apart)
        likely = np.log(chances) - 0.5 * (far + np.linalg.slogdet(spread)[1])
        share = np.exp(likely - likely.max(axis=1, keepdims=True))
        share *= (weights / share.sum(axis=1))[:, None]
        learnt = times * covariance @ inverse
        at_one = expected[:, None] + np.einsum("kab,nkb->nka", learnt, apart)
        left = covariance - times * learnt @ covariance
        effects = np.linalg.solve((weights * about.T) @ about + ridge, about.T @ np.einsum("nk,nka->na", share, at_one))
        rest = (at_one - (about @ effects)[:, None]).reshape(-1, len(arms))
        total = (share.reshape(-1, 1) * rest).T @ rest + np.tensordot(share.sum(axis=0), left, 1)
        equal = np.trace(total) / weights.sum() / len(arms) * one
        covariance = (total + SHRINK * equal) / (weights.sum() + SHRINK)
    wide = WIDER * covariance
    return {"arms": arms, "effects": effects.T.round(5).tolist(), "covariance": wide.round(7).tolist()}


def pilot_error(study: Study, without: str | None = None) -> dict[str, Any]:
    """Deviations of what a pilot's forecasts of balanced accuracy were off by: in common (the median of the arms), and
    of every arm from that; less what an example of the smallest class more or less explains."""
    names, weights = _of_development(study, without)
    arms = sorted(study.sets[names[0]]["forecasts"][0])
    common, own = [], []
    for name in names:
        truth = np.array([study.truth(name, arm) - study.truth(name, PLAIN) for arm in arms])
        off = np.array([[told[arm] for arm in arms] for told in study.sets[name]["forecasts"]]) - truth
        middle, example = np.median(off, axis=1), one_example("balanced", np.array(study.sets[name]["counts"]))
        common.append(np.mean(middle**2) - example**2)
        own.append(np.mean(np.square(off - middle[:, None]), axis=0) - example**2)
    shared, alone = (
        np.sqrt(np.maximum(np.average(found, axis=0, weights=weights), TRIAL**2)) for found in (common, own)
    )
    return {"common": round(float(shared), 4), "own": dict(zip(arms, alone.round(4).tolist(), strict=True))}


def _of_development(study: Study, without: str | None) -> tuple[list[str], FloatArray]:
    """The sets of the development half but those of a source, and their weights: one for all sets of a source."""
    names = [name for name in study.names if development(name) and source_of(name) != without]
    sources = [source_of(name) for name in names]
    return names, np.array([1.0 / sources.count(source) for source in sources])


def fit(studies: Sequence[Study]) -> dict[str, Any]:
    """The prior: all of `prior.json` but the score of a plan that uses it."""
    scale, chances = scales()
    return {
        "metrics": {metric: {study.kind: fitted(study, metric) for study in studies} for metric in METRICS},
        "scales": scale.round(5).tolist(),
        "chances": chances.round(5).tolist(),
        "floor": FLOOR,
        "trial": TRIAL,
        "pilot": {"balanced": {study.kind: pilot_error(study) for study in studies}},
    }
