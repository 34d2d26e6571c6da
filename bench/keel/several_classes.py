"""Is the prior, which was fitted on tables of two classes, good advice for more? Tables of KEEL's standard suite.

Of each table with three classes or more, rows are drawn so that class sizes fall by a factor of `RATIO` from the first
class to the last. Half of them are given to a trial, every arm is scored on the other half, over `CUTS` cuts. Printed
are the mean regrets of the recommendation, of the trial's largest mean and of every fixed rule, by learner.

    python -m bench.keel.several_classes logistic
"""

import json
import sys
import tempfile
import warnings
from typing import Any

import numpy as np
from bench.keel.study import LEARNERS, gains_of, keel_folder, kept, measured_of, table_of
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from lopsided.checkup.decision.prior import gain_prior
from lopsided.checkup.decision.recommendation import recommend
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.training_set import training_set
from lopsided.checkup.trial.trial import trial
from lopsided.core.files import write_atomically
from lopsided.core.seeds import generator
from lopsided.engine.threads import one_thread

RATIO, MOST, CUTS = 12.0, 900, 3
TABLES = ("contraceptive", "marketing", "optdigits", "penbased", "satimage", "segment", "splice", "texture", "vehicle")


def uneven(labels, name: str):
    """Rows whose classes fall geometrically in size, at most `MOST` in all."""
    random = generator(0, "several classes", name)
    names, counts = np.unique(labels, return_counts=True)
    shares = RATIO ** -(np.arange(names.size) / (names.size - 1))
    sizes = np.minimum(shares * min(counts.min(), MOST / shares.sum()), counts).astype(int)
    order = random.permutation(names.size)
    chosen = [
        random.choice(np.flatnonzero(labels == names[k]), size, replace=False)
        for k, size in zip(order, sizes, strict=True)
    ]
    return np.concatenate(chosen)


def measured(learner: str, name: str) -> dict[str, Any]:
    """Class counts and gains of a trial of the first cut, and every arm's score on the unseen half of each cut; kept as
    `bench.keel.study` keeps its cuts."""
    place = kept("several", learner, f"{name}.json")
    if place.exists():
        return dict(json.loads(place.read_text()))
    features, labels = table_of(keel_folder("balanced"), name)
    rows = uneven(labels, name)
    scores: dict[str, list[float]] = {}
    first: dict[str, Any] = {}
    for cut in range(CUTS):
        seen, unseen = train_test_split(rows, test_size=0.5, stratify=labels[rows], random_state=cut)
        evidence = gather(features[seen], labels=labels[seen], seed=cut)
        training = training_set(evidence)
        if not cut:
            with tempfile.TemporaryDirectory() as store:
                found = trial(evidence, learner=learner, seed=cut, store=store, forecasts=False)
            first = {"counts": training.classes.counts.tolist(), **gains_of(found.measured)}
            arms = [arm.remedy for arm in found.arms if not arm.simulated and arm.skipped is None]
        codes = np.searchsorted(np.array(training.classes.names), labels[unseen])
        for remedy in arms:
            model = remedy.wrap(learner, seed=cut).fit_set(training)
            score = balanced_accuracy_score(codes, model.predict(features[unseen]))
            scores.setdefault(remedy.name, []).append(float(score))
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, json.dumps(first | {"scores": scores}))
    return first | {"scores": scores}


def regrets(learner: str, found: dict[str, Any]) -> dict[str, float]:
    """The regret of every rule on a table."""
    prior = gain_prior(found["arms"], "balanced", LEARNERS[learner], np.array(found["counts"]), found["room"])
    values = dict(zip(found["arms"], found["values"], strict=True))
    picked = {
        "recommendation": recommend(measured_of(found), prior, "balanced accuracy").arm,
        "largest mean": max(values, key=lambda arm: values[arm]),
    }
    truth = {arm: float(np.mean(scores)) for arm, scores in found["scores"].items()}
    best = max(truth.values())
    rules = {f"always {arm}": best - value for arm, value in truth.items()}
    return rules | {rule: best - truth[arm] for rule, arm in picked.items()}


def main(learner: str) -> None:
    """Print the regrets."""
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        found = []
        for name in TABLES:
            found.append(regrets(learner, measured(learner, name)))
            print(name, {rule: round(100 * lost, 2) for rule, lost in found[-1].items()}, flush=True)
    for rule in sorted(found[0], key=lambda rule: np.mean([lost.get(rule, 0.0) for lost in found])):
        print(f"{rule}: {100 * np.mean([lost.get(rule, np.nan) for lost in found]):.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
