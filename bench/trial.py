"""The trial's machinery against a bare loop over the same fits, and how often a trial of nothing finds a winner.

Promises: folds, seeds, store and counting cost less than 10 ms for each fold of an arm; on data where no arm can help
a winner appears in at most 5% of the trials. Beside that stand the power where an arm does help, the error of a gain
over its true deviation between data sets (above 1: cautious), and how often single 95% intervals leave out zero. For
every metric that a trial can be asked for, the same errors, and how often the interval of a gain holds the mean gain
over all data sets. The
peer of the first is the same classifiers fitted on the same folds in a plain loop, in this process and in turns with
it; both in processor seconds, because other work on the machine would drown the difference.
"""

import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.training_set import training_set
from lopsided.checkup.plan.result import Plan, PlannedRemedy
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.folds import deal
from lopsided.core.partition import Partition
from lopsided.core.seeds import generator
from lopsided.data.tables import array_table
from lopsided.engine.threads import one_thread
from lopsided.remedies.class_weighting import ClassWeighting
from lopsided.remedies.group_weighting import GroupWeighting
from lopsided.remedies.logit_adjustment import LogitAdjustment
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.plain import Plain
from lopsided.remedies.threshold_moving import ThresholdMoving


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows with what, seconds, peer, peer_seconds, note."""
    with one_thread():
        yield from _overhead(quick)
        for learner in ("logistic", "sklearn.tree:DecisionTreeClassifier"):
            for helps in (False, True):
                yield _errors(learner, helps, 10 if quick else 100)
        yield from _coverage(10 if quick else 200)


def _overhead(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for learner, size in (("logistic", 300), ("logistic", 3000), ("network", 300)):
        given = nothing_helps(np.random.default_rng(0), size)
        plan = every_arm(given)
        _bare(given, plan, learner, 0)  # so that neither side pays for imports and first calls
        ours, bare, fits = 0.0, 0.0, 0
        for turn in range(1 if quick else 3):
            seconds, count = _bare(given, plan, learner, turn)
            bare, fits = bare + seconds, fits + count
            with tempfile.TemporaryDirectory() as store:
                began = time.process_time()
                run_trial(given, plan, learner=learner, seed=turn, store=store, forecasts=False)
                ours += time.process_time() - began
        note = (
            f"{1000 * (ours - bare) / fits:.1f} ms of machinery a fold and arm, {1000 * bare / fits:.1f} ms of fitting"
        )
        what = f"{learner}, {size} rows: {fits} folds of arms"
        rows.append({"what": what, "seconds": ours, "peer": "a bare loop", "peer_seconds": bare, "note": note})
    return rows


def _bare(given: Evidence, plan: Plan, learner: str, seed: int) -> tuple[float, int]:
    """Fit and test every arm in every fold, keep nothing."""
    training, count = training_set(given), 0
    began = time.process_time()
    for repeat in range(2):
        fold = deal(training.classes.codes, training.group_codes, 5, seed, repeat)
        for number in range(5):
            inside = fold != number
            state = int(generator(seed, "learner", repeat, number).integers(2**31))  # the trial's own seeds
            for remedy in (Plain(), *[planned.remedy for planned in plan.remedies]):
                model = remedy.wrap(learner, seed=state).fit_set(training.subset(np.flatnonzero(inside)))
                model.predict(training.features[~inside])
                count += 1
    return time.process_time() - began, count


def _errors(learner: str, helps: bool, trials: int) -> dict[str, Any]:
    """Winners, and errors of gains in balanced accuracy, over many data sets on which nothing (or priors) helps."""
    began = time.perf_counter()
    winners, values, errors, out = 0, [], [], 0
    for seed in range(trials):
        random = np.random.default_rng([7, int(helps), seed])
        given = _priors_help(random, 300) if helps else nothing_helps(random, 150)
        with tempfile.TemporaryDirectory() as store:
            outcome = run_trial(given, every_arm(given), learner=learner, seed=seed, store=store, forecasts=False)
        winners += outcome.winner is not None
        own = [arm.metrics["balanced accuracy"].gain for arm in outcome.arms[1:]]
        gains = [gain for gain in own if gain is not None]
        values.append([gain.value for gain in gains])
        errors.append([gain.error for gain in gains])
        out += sum(not gain.low <= 0 <= gain.high for gain in gains)
    deviation = np.std(values, axis=0, ddof=1)
    moving = deviation > 1e-9
    ratio = np.sqrt(np.mean(np.square(errors), axis=0))[moving] / deviation[moving]
    what = "trials where priors help" if helps else "trials of nothing (promise: at most 5% winners)"
    note = (
        f"{learner}: winners in {winners} of {trials} {what}; mean gain of the best arm "
        f"{np.mean(values, axis=0).max():+.3f}; error over true deviation {ratio.min():.2f} to {ratio.max():.2f}; "
        f"{out} of {trials * len(values[0])} single intervals leave out zero"
    )
    return {"what": f"{trials} trials of six arms", "seconds": time.perf_counter() - began, "note": note}


ASKED = ("f1", "mcc", "roc-auc", "log-loss", "cost:[[0, 8], [1, 0]]", "precision@recall=0.8", "jaccard_macro")


def _coverage(trials: int, stream: int = 8) -> list[dict[str, Any]]:
    """Gains of class weights in every metric, on data sets of 400 rows with a class of one in ten; another `stream` of
    seeds makes other data."""
    began = time.perf_counter()
    gains: dict[str, list[Any]] = {}
    for seed in range(trials):
        random = np.random.default_rng([stream, seed])
        rare = random.random(400) < 0.1
        features = random.standard_normal((400, 3)) + np.where(rare, 1.5, 0.0)[:, None] * [1, 0.5, 0]
        with tempfile.TemporaryDirectory() as store:
            labels = np.where(rare, "rare", "usual")
            outcome = run_trial(
                features, labels=labels, arms=["class weights"], seed=seed, store=store, forecasts=False
            )
            others = [outcome.judge(word) for word in ASKED]
        for name in (outcome.metric, *outcome.other_metrics()):
            gains.setdefault(name, []).append(outcome["class weights"].metrics[name].gain)
        for other in others:
            gains.setdefault(other.metric, []).append(other["class weights"].metrics[other.metric].gain)
    rows = []
    for name, found in gains.items():
        values = np.array([gain.value for gain in found])
        held = sum(gain.low <= values.mean() <= gain.high for gain in found)
        ratio = np.sqrt(np.mean([gain.error**2 for gain in found])) / max(values.std(ddof=1), 1e-12)
        note = f"mean gain {values.mean():+.4f}; 95% intervals hold it in {held} of {len(found)}; error over true "
        what = f"intervals in {name}, {trials} trials"
        rows.append({"what": what, "seconds": time.perf_counter() - began, "note": f"{note}deviation {ratio:.2f}"})
    return rows


def _priors_help(random: np.random.Generator, size: int) -> Evidence:
    """The same triangle with classes of 70, 20 and 10 percent: arms that change the prior raise balanced accuracy."""
    return nothing_helps(random, size, chances=(0.7, 0.2, 0.1))


def nothing_helps(random: np.random.Generator, size: int, *, chances: tuple[float, ...] | None = None) -> Evidence:
    """Three classes of equal chance on a triangle, and two groups that differ in nothing but size."""
    classes = random.choice(3, size, p=chances)
    corners = 1.2 * np.array([[0.0, 1.0], [0.87, -0.5], [-0.87, -0.5]])
    features = corners[classes] + random.standard_normal((size, 2))
    groups = (random.random(size) < 0.3).astype(np.int64)
    return Evidence(
        "nothing helps",
        size,
        Partition("class", classes, ("0", "1", "2")),
        {"group": Partition("group", groups, ("a", "b"))},
        array_table(features, {}, "nothing helps"),
    )


def every_arm(given: Evidence) -> Plan:
    """Every kind of arm that can win, even where a plan would leave some out."""
    assert given.classes is not None
    names, groups = given.classes.names, given.groups["group"]
    weights = {name: float(given.rows / (3 * count)) for name, count in zip(names, given.classes.counts, strict=True)}
    sizes = {name: float(given.rows / (2 * count)) for name, count in zip(groups.names, groups.counts, strict=True)}
    arms = [
        LogitAdjustment({name: float(np.log(weight)) for name, weight in weights.items()}),
        ClassWeighting(weights),
        Oversampling(weights),
        NoisyOversampling(dict.fromkeys(names, 2.0)),
        ThresholdMoving(),
        GroupWeighting("group", sizes),
    ]
    return Plan([PlannedRemedy(arm, "", None) for arm in arms], "balanced")
