"""Is the advice right? Regret of recommendations on tables that nobody here prepared, beside rules of thumb.

`bench.keel.study` measures what every arm gains. The regret of a choice is the best arm's truth less that of the arm
chosen. Sets are halved by a hash of their source (all `yeast*` in one half): `--fit` estimates the prior of
`checkup.decision` on the development half, and both halves are printed.

    python -m bench.decisions --measure logistic boosting     what is slow
    python -m bench.decisions --gather                        its means, into docs/measured/decisions.json
    python -m bench.decisions --forecasts logistic            a pilot's forecasts again, into the same
    python -m bench.decisions --fit                           the prior, from those
    python -m bench.decisions --table                         regrets, calibration, power, ranks
    python -m bench.decisions --page                          the same, into docs/decisions.md

`./lopsided bench decisions` does the first and the last but one; its quick form on twenty sets and four cuts.
"""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from bench.keel.study import (
    CUTS,
    ENSEMBLES,
    LEARNERS,
    PLANS,
    PUBLISHED,
    TRIALS,
    TUNED,
    Study,
    development,
    forecast,
    gathered,
    keel_names,
    measure,
    published,
    source_of,
)

from lopsided.checkup.decision.prior import (
    GainPrior,
    context,
    expected_gains,
    gain_prior,
    pilot_covariance,
    pilot_errors,
)
from lopsided.checkup.decision.recommendation import PLAIN, MeasuredGains, Recommendation, recommend
from lopsided.core.files import write_atomically
from lopsided.core.validation import FloatArray
from lopsided.measure.paired_scores import simultaneous

METRICS = ("balanced", "worst-class", "overall", "f1", "mcc", "average-precision", "roc-auc", "brier", "log-loss")
LOSSES = ("brier", "log-loss")
ROOT = Path(__file__).resolve().parents[1]
PAGE, PRIOR = ROOT / "docs/decisions.md", ROOT / "src/lopsided/checkup/decision/prior.json"
MARKS = ("<!-- written by bench/decisions.py --page -->", "<!-- end -->")
# Chosen on the development half, leaving out one source after the other, by the mean over sources of the log density of
# the gains after a trial. The covariance is widened because most sets come from few sources: eighteen of 42 are ecoli.
RIDGE, SHRINK, WIDER = 20.0, 0.5, 3.0  # of effects, of correlations, and of the covariance
TRIAL = [1.0, 0.02]  # `GainPrior.trial_errors`


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows with what and note: the study, measured where it is not, then its tables."""
    names = keel_names()
    names = names[:: max(1, len(names) // 20)][:20] if quick else names
    cuts = 4 if quick else CUTS
    for learner in LEARNERS:
        began = time.perf_counter()
        done = sum(measure(learner, name, cut) is not None for cut in range(cuts) for name in names)
        yield {
            "what": f"{learner}: {done} cuts of {len(names)} sets",
            "seconds": time.perf_counter() - began,
            "note": "0 s: measured before",
        }
    yield from table([Study(learner, gathered(learner, names, cuts)) for learner in LEARNERS])


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


def plan_scores(studies: Sequence[Study]) -> dict[str, Any]:
    """Regret on the held-out half of the first remedy of a plan, beside that of the best fixed rule."""
    found = {}
    for study in studies:
        names = [name for name in study.names if not development(name)]
        regrets = _regrets(study, names, half=False)
        rule = min((rule for rule in regrets if rule.startswith("always ")), key=lambda rule: regrets[rule])
        scores = {"plan": round(regrets["plan's first"], 2), "regret": round(regrets[rule], 2)}
        found[study.kind] = {"sets": len(names), "rule": rule, **scores}
    return found


def table(studies: Sequence[Study]) -> Iterator[dict[str, Any]]:
    """Regrets of every rule, how often stated chances and intervals held, and ranks of whole classifiers."""
    for study in studies:
        cuts = [found["cuts"] for found in study.sets.values()]
        least = f"{min(cuts)} to {max(cuts)}" if min(cuts) < max(cuts) else f"{min(cuts)}"
        note = f"{least} cuts and up to {TRIALS} trials of each of {len(cuts)} sets"
        yield {"what": f"{study.learner}: measured", "note": note}
    for (study, half), rules in _every_regret(studies).items():
        for rule, regret in sorted(rules.items(), key=lambda entry: entry[1]):
            note = f"regret {regret:.2f} points of balanced accuracy; {_where(half)}"
            yield {"what": f"{study.learner}: {rule}", "note": note}
        names = [name for name in study.names if development(name) == half]
        yield from _calibration(study, names, half)
        yield from _power(study, names, half)
    yield from _ranks(studies)


def _every_regret(studies: Sequence[Study]) -> dict[tuple[Study, bool], dict[str, float]]:
    found = {}
    for study in studies:
        for half in (True, False):
            names = [name for name in study.names if development(name) == half]
            if names:
                found[study, half] = _regrets(study, names, half)
    return found


def _where(half: bool) -> str:
    return "development, its own source left out" if half else "held out"


def page(studies: Sequence[Study]) -> str:
    """The tables of docs/decisions.md."""
    regrets = _every_regret(studies)
    heads = [f"{study.learner}, {'development' if half else 'held out'}" for study, half in regrets]
    rules = sorted(next(iter(regrets.values())), key=lambda rule: sum(found[rule] for found in regrets.values()))
    lines = ["| regret in points of balanced accuracy | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    lines += [f"| {rule} | " + " | ".join(f"{found[rule]:.2f}" for found in regrets.values()) + " |" for rule in rules]
    others = [row for row in table(studies) if "regret" not in row["note"]]
    lines += ["", "| what | found |", "|---|---|", *[f"| {row['what']} | {row['note']} |" for row in others]]
    return "\n".join(lines)


def _planned(study: Study, name: str, half: bool) -> Iterator[str]:
    """The remedy that a plan puts first, on every cut."""
    found, arms = study.sets[name], study.arms[1:]
    prior, errors = _prior(study, name, arms, half), _pilot_errors(study, name, half)
    for forecasts in found["forecasts"]:
        expected = expected_gains(prior, forecasts, errors)
        yield max(expected, key=lambda arm: expected[arm])


def _prior(study: Study, name: str, arms: Sequence[str], half: bool) -> GainPrior:
    """The committed prior; for a set that it was fitted on, one without the set's source."""
    counts = np.array(study.sets[name]["counts"])
    if not half:
        return gain_prior(arms, "balanced", study.kind, counts)
    stored = _without(study, source_of(name))[0]
    place = [stored["arms"].index(arm) for arm in arms]
    mean = np.array(stored["effects"]) @ context(counts)
    return GainPrior(tuple(arms), mean[place], np.array(stored["covariance"])[np.ix_(place, place)])


def _pilot_errors(study: Study, name: str, half: bool) -> FloatArray:
    arms = study.arms[1:]
    if not half:
        return pilot_errors(arms, "balanced", study.kind)
    return pilot_covariance(arms, _without(study, source_of(name))[1])


@cache
def _without(study: Study, source: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Prior and errors of forecasts from all other sources."""
    return fitted(study, "balanced", source), pilot_error(study, source)


def _of(trial: dict[str, Any]) -> MeasuredGains:
    return MeasuredGains(tuple(trial["arms"]), np.array(trial["values"]), np.array(trial["errors"]))


def _helping(trial: dict[str, Any]) -> dict[str, float]:
    """Gains of the arms that a trial says "helps: yes" of."""
    measured = _of(trial)
    low = measured.values - simultaneous(measured.errors, measured.degrees) * np.sqrt(np.diag(measured.errors))
    return {arm: gain for arm, gain, least in zip(measured.arms, measured.values, low, strict=True) if least > 0}


def _advice(study: Study, name: str, half: bool) -> Iterator[tuple[dict[str, Any], Recommendation]]:
    for trial in study.trials(name):
        yield trial, recommend(_of(trial), _prior(study, name, trial["arms"], half), "balanced accuracy")


def _regrets(study: Study, names: Sequence[str], half: bool) -> dict[str, float]:
    """Mean regret of every rule, in points."""
    own = [arm for arm in study.sets[names[0]]["truth"] if not arm.startswith(ENSEMBLES)]
    best = {name: max(study.truth(name, arm) for arm in own) for name in names}
    rules: dict[str, list[float]] = {f"always {arm}": [best[n] - study.truth(n, arm) for n in names] for arm in own}
    rules["the best of our own arms, known"] = [best[n] - max(study.truth(n, arm) for arm in study.arms) for n in names]
    rules["plan's first"] = [best[n] - study.truth(n, arm) for n in names for arm in _planned(study, n, half)]
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


def _calibration(study: Study, names: Sequence[str], half: bool) -> Iterator[dict[str, Any]]:
    """Intervals of the gain, the chance of being worse than plain training, and chances of being best by fifths."""
    inside, worse, chances = [], [], []
    for name in names:
        truth = {arm: study.truth(name, arm) for arm in study.arms}
        for _, advice in _advice(study, name, half):
            gain = truth[advice.arm] - truth[PLAIN]
            if advice.arm != PLAIN:
                inside.append(advice.low <= gain <= advice.high)
                worse.append((advice.chance_worse, gain < 0))
            best = max(truth, key=lambda arm: truth[arm])
            chances += [(chance, arm == best) for arm, chance in advice.chances.items()]
    where = _where(half)
    said, true = np.array(chances).T
    bins = np.minimum((said * 5).astype(int), 4)
    told = ", ".join(
        f"{said[bins == place].mean():.2f}: {true[bins == place].mean():.2f} ({np.sum(bins == place)})"
        for place in range(5)
        if (bins == place).any()
    )
    stated, happened = np.array(worse).mean(axis=0)
    yield {"what": f"{study.learner}: 90% intervals of the gain", "note": f"hold in {np.mean(inside):.2f}, {where}"}
    yield {"what": f"{study.learner}: worse than plain", "note": f"stated {stated:.3f}, true {happened:.3f}, {where}"}
    yield {"what": f"{study.learner}: stated chance of being best", "note": f"stated: true (number) {told}, {where}"}


def _power(study: Study, names: Sequence[str], half: bool) -> Iterator[dict[str, Any]]:
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
            note = f"said of {np.mean(said):.2f} of {len(said)} arms that gain 5 points; {_where(half)}"
            yield {"what": f"{study.learner}: helps, smaller class of {sizes_told}", "note": note}


def _ranks(studies: Sequence[Study]) -> Iterator[dict[str, Any]]:
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


def main(arguments: Sequence[str]) -> None:
    """The stages by themselves."""
    if "--measure" in arguments:
        names = keel_names()
        for cut in range(CUTS):
            for name in names:
                for learner in [word for word in arguments if word in LEARNERS]:
                    measure(learner, name, cut)
                    print(learner, name, cut, flush=True)
    if "--gather" in arguments:
        found = {learner: gathered(learner, keel_names(), CUTS) for learner in LEARNERS}
        write_atomically(PUBLISHED, json.dumps(found, separators=(",", ":")) + "\n")
    if "--forecasts" in arguments:
        found = {study.learner: study.sets for study in published()}
        for learner in [word for word in arguments if word in LEARNERS]:
            for name, kept in found[learner].items():
                kept["forecasts"] = [forecast(learner, name, cut) for cut in range(PLANS)]
        write_atomically(PUBLISHED, json.dumps(found, separators=(",", ":")) + "\n")
    if "--fit" in arguments:
        prior = fit(published())
        write_atomically(PRIOR, json.dumps(prior | {"score": {}}, separators=(",", ":")) + "\n")
        scored = prior | {"score": plan_scores(published())}
        write_atomically(PRIOR, json.dumps(scored, separators=(",", ":")) + "\n")
    if "--page" in arguments:
        before, after = PAGE.read_text().split(MARKS[0])[0], PAGE.read_text().split(MARKS[1])[1]
        write_atomically(PAGE, f"{before}{MARKS[0]}\n{page(published())}\n{MARKS[1]}{after}")
    if "--table" in arguments:
        for row in table(published()):
            print(f"{row['what']}: {row['note']}")


if __name__ == "__main__":
    main(sys.argv[1:])
