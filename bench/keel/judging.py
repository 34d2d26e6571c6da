"""How good advice was, by what the study measured: regrets of every rule, stated chances and intervals, power, ranks.

The regret of a choice is the best arm's truth less that of the arm chosen. A set of the development half is judged by a
prior that was fitted without its source.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from bench.keel.prior_fit import POWER, fitted, pilot_error, truth_errors
from bench.keel.study import ENSEMBLES, TUNED, Study, development, measured_of, published, source_of
from numpy.typing import NDArray

from lopsided.checkup.decision.prior import (
    GainPosterior,
    GainPrior,
    after_forecasts,
    context,
    gain_prior,
    pilot_deviations,
    scaled_prior,
    scales,
)
from lopsided.checkup.decision.recommendation import LEVEL, PLAIN, Recommendation, recommend
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.paired_scores import simultaneous


def plan_scores(studies: Sequence[Study]) -> dict[str, Any]:
    """Regret on the held-out half of the first remedy of a plan, beside that of the best fixed rule."""
    found = {}
    for study in studies:
        names = [name for name in study.names if not development(name)]
        lost = regrets(study, names, half=False)
        rule = min((rule for rule in lost if rule.startswith("always ")), key=lambda rule: lost[rule])
        scores = {"plan": round(lost["plan's first"], 2), "regret": round(lost[rule], 2)}
        found[study.kind] = {"sets": len(names), "rule": rule, **scores}
    return found


def every_regret(studies: Sequence[Study]) -> dict[tuple[Study, bool], dict[str, float]]:
    """By study and half (True: development), the regret of every rule."""
    found = {}
    for study in studies:
        for half in (True, False):
            names = [name for name in study.names if development(name) == half]
            if names:
                found[study, half] = regrets(study, names, half)
    return found


def where(half: bool) -> str:
    """The half in words."""
    return "development, its own source left out" if half else "held out"


def _planned(study: Study, name: str, half: bool) -> Iterator[GainPosterior]:
    """What a plan expects of the arms, on every cut."""
    counts, arms = np.array(study.sets[name]["counts"]), study.arms[1:]
    prior = _prior(study, name, counts, arms, half)
    known = (
        pilot_error(_published(study.learner), source_of(name)) if half else pilot_deviations("balanced", study.kind)
    )
    for forecasts in study.sets[name]["forecasts"]:
        yield after_forecasts(prior, forecasts, prior.pilot_errors(known))


def _first(study: Study, found: GainPosterior) -> str:
    """The remedy that a plan puts first."""
    return study.arms[1:][int(found.mean.argmax())]


def _prior(
    study: Study, name: str, counts: IntArray, arms: Sequence[str], half: bool, room: float | None = None
) -> GainPrior:
    """The committed prior; for a set that it was fitted on, one without the set's source."""
    if not half:
        return gain_prior(arms, "balanced", study.kind, counts, room)
    stored = _without(study.learner, source_of(name), POWER if room is not None else 0.0)
    place = [stored["arms"].index(arm) for arm in arms]
    mean = np.array(stored["effects"])[place] @ context(counts)
    covariance = np.array(stored["covariance"])[np.ix_(place, place)]
    return scaled_prior(arms, mean, covariance, "balanced", counts, scales(stored["room"], room))


@cache
def _without(learner: str, source: str, power: float) -> dict[str, Any]:
    """The committed prior as it would be without a source: from the study in the repository, whatever is judged."""
    return fitted(_published(learner), "balanced", source, power)


@cache
def _published(learner: str) -> Study:
    return next(study for study in published() if study.learner == learner)


def _helping(trial: dict[str, Any]) -> dict[str, float]:
    """Gains of the arms that a trial says "helps: yes" of."""
    measured = measured_of(trial)
    low = measured.values - simultaneous(measured.errors, measured.degrees) * np.sqrt(np.diag(measured.errors))
    return {arm: gain for arm, gain, least in zip(measured.arms, measured.values, low, strict=True) if least > 0}


def _advice(study: Study, name: str, half: bool) -> Iterator[tuple[dict[str, Any], Recommendation]]:
    for trial in study.trials(name):
        prior = _prior(study, name, np.array(trial["counts"]), trial["arms"], half, trial["room"])
        yield trial, recommend(measured_of(trial), prior, "balanced accuracy")


def regrets(study: Study, names: Sequence[str], half: bool) -> dict[str, float]:
    """Mean regret of every rule, in points."""
    own = [arm for arm in study.sets[names[0]]["truth"] if not arm.startswith(ENSEMBLES)]
    best = {name: max(study.truth(name, arm) for arm in own) for name in names}
    rules: dict[str, list[float]] = {f"always {arm}": [best[n] - study.truth(n, arm) for n in names] for arm in own}
    rules["the best of our own arms, known"] = [best[n] - max(study.truth(n, arm) for arm in study.arms) for n in names]
    rules["plan's first"] = [
        best[n] - study.truth(n, _first(study, found)) for n in names for found in _planned(study, n, half)
    ]
    picked = []
    for name in names:
        for trial, advice in _advice(study, name, half):
            largest = (PLAIN, *trial["arms"])[int(np.append(0.0, trial["values"]).argmax())]
            helping = _helping(trial)
            picked.append((name, advice.arm, largest, max(helping, key=lambda arm: helping[arm], default=PLAIN)))
    for place, rule in (
        (1, "recommendation of the trial"),
        (2, "largest mean of the trial"),
        (3, "winner, else plain"),
    ):
        rules[rule] = [best[pick[0]] - study.truth(pick[0], str(pick[place])) for pick in picked]
    return {rule: 100 * float(np.mean(regrets)) for rule, regrets in rules.items()}


def calibration(study: Study, names: Sequence[str], half: bool) -> Iterator[dict[str, Any]]:
    """Intervals of the gain, the chance of being worse than plain training, and chances of being best by fifths.

    A true gain is a mean over cuts and has an error of its own: intervals are judged as they are, and widened by it.
    Tables of one source are alike, so what chances are off by gets an interval over sources.
    """
    inside, nearly, worse, chances = [], [], [], []
    of_worse, of_chances, clearly = [], [], 0
    errors = truth_errors(study, names, np.ones(len(names)))
    for name, error in zip(names, errors, strict=True):
        truth = {arm: study.truth(name, arm) for arm in study.arms}
        for _, advice in _advice(study, name, half):
            gain = truth[advice.arm] - truth[PLAIN]
            if advice.arm != PLAIN:
                inside.append(advice.low <= gain <= advice.high)
                own = NormalDist().inv_cdf((1 + LEVEL) / 2) * np.sqrt(np.diag(error)[study.arms.index(advice.arm) - 1])
                low, high = (np.hypot(advice.gain - bound, own) for bound in (advice.low, advice.high))
                nearly.append(advice.gain - low <= gain <= advice.gain + high)
                worse.append((advice.chance_worse, gain < 0))
                of_worse.append(source_of(name))
                clearly += bool(gain < -own)
            best = [arm for arm in truth if truth[arm] == max(truth.values())]  # on easy sets several, which share it
            chances += [(chance, (arm in best) / len(best)) for arm, chance in advice.chances.items()]
            of_chances += [source_of(name)] * len(advice.chances)
    planned = []
    for name in names:
        truth = np.array([study.truth(name, arm) - study.truth(name, PLAIN) for arm in study.arms[1:]])
        for low, high in (found.interval() for found in _planned(study, name, half)):
            planned.append(np.mean((low <= truth) & (truth <= high)))
    told_where = where(half)
    said, true, whose = *np.array(chances).T, np.array(of_chances)
    bins = np.minimum((said * 5).astype(int), 4)
    told = ", ".join(
        f"{said[own].mean():.2f}: {true[own].mean():.2f} ({own.sum()}; {_off(true[own] - said[own], whose[own])})"
        for own in (bins == place for place in range(5))
        if own.any()
    )
    stated, happened = np.array(worse).mean(axis=0)
    apart = _off(np.subtract(*np.array(worse, dtype=float).T[::-1]), np.array(of_worse))
    yield {
        "what": f"{study.learner}: 90% intervals of the gain",
        "note": f"coverage {np.mean(inside):.2f}, {np.mean(nearly):.2f} with the error of the true gain; {told_where}",
    }
    yield {
        "what": f"{study.learner}: 90% intervals of the gain, plan, all arms",
        "note": f"coverage {np.mean(planned):.2f}, {told_where}",
    }
    yield {
        "what": f"{study.learner}: worse than plain",
        "note": f"stated {stated:.3f}, true {happened:.3f} ({apart}); {clearly} of {len(worse)} below 0 by more than "
        f"the error of the true gain, {told_where}",
    }
    yield {
        "what": f"{study.learner}: stated chance of being best",
        "note": f"stated: true (number; true less stated) {told}, {told_where}",
    }


def _off(differences: FloatArray, sources: NDArray[np.str_]) -> str:
    """A 95% interval of the mean difference when sources, not trials, are drawn again."""
    names, place = np.unique(sources, return_inverse=True)
    if names.size < 3:
        return "too few sources for an interval"
    drawn = generator(0, "sources").integers(names.size, size=(4000, names.size))
    sums, counts = np.bincount(place, differences), np.bincount(place)
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [0.025, 0.975])
    return f"{low:+.2f} to {high:+.2f}"


def power(study: Study, names: Sequence[str], half: bool) -> Iterator[dict[str, Any]]:
    """How often "helps: yes" is said of an arm that truly gains five points and more, by the size of the class."""
    sizes = ((6, 15), (15, 30), (30, 50), (50, 10**9))
    for least, most in sizes:
        said = []
        for name in names:
            gaining = [arm for arm in study.arms if study.truth(name, arm) - study.truth(name, PLAIN) >= 0.05]
            for trial in study.trials(name):
                if least <= min(trial["counts"]) < most:
                    helping = _helping(trial)
                    said += [arm in helping for arm in gaining]
        if said:
            sizes_told = f"{least} to {most - 1}" if most < 10**9 else f"{least} and more"
            note = f"said of {np.mean(said):.2f} of {len(said)} arms that gain 5 points; {where(half)}"
            yield {"what": f"{study.learner}: helps, smaller class of {sizes_told}", "note": note}


def ranks(studies: Sequence[Study]) -> Iterator[dict[str, Any]]:
    """Mean balanced accuracy and mean rank of whole classifiers, on the cuts that have a trial."""
    from scipy.stats import rankdata

    rows: dict[str, list[float]] = {}
    for name in set.intersection(*[set(study.names) for study in studies]):
        both = [list(_advice(study, name, development(name))) for study in studies]
        for found in zip(*both, strict=False):
            for study, (trial, advice) in zip(studies, found, strict=True):
                scores = trial["scores"]
                rows.setdefault(f"MendedClassifier({study.learner}, auto)", []).append(scores[advice.arm])
                rows.setdefault(f"{TUNED}, {study.learner}", []).append(scores[TUNED])
                for peer in scores:
                    if peer.startswith(ENSEMBLES):
                        rows.setdefault(peer, []).append(scores[peer])
    if rows:
        ranks = rankdata(-np.array(list(rows.values())), axis=0).mean(axis=1)
        for place in np.argsort(ranks):
            who = list(rows)[place]
            note = f"mean rank {ranks[place]:.2f} of {len(rows)}, mean balanced accuracy {np.mean(rows[who]):.4f}"
            yield {"what": who, "note": f"{note}; {len(rows[who])} cuts"}
