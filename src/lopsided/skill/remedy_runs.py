"""The measurements of the remedy family: every remedy that `lopsided.plan` lists, trained on six samples, and the
results of the plan and of `lopsided.trial` on a seventh.

Plan and trial are the public functions on that one sample, with the task's learner and their own folds, pilot and
search. For the truth, the listed remedies are trained by `remedy.wrap(learner)`, so a remedy is the same as for a user.
Collection is left out of both (by `arms`), because there are no further examples to collect.
"""

import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lopsided.checkup.plan.arms import default_kinds
from lopsided.checkup.plan.result import Plan
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Numbers, Settings, canonical
from lopsided.measure.metrics import METRICS
from lopsided.remedies.contract import Remedy
from lopsided.remedies.plain import Plain
from lopsided.report import results as public
from lopsided.skill.small_tables import Pool, pool_of, unfitted

ASKED = {"balanced": "balanced", "worst": "worst-class"}  # in the record -> as plan and trial call it
SAMPLES = 6
TEST_PER_CLASS = 300


@dataclass(frozen=True)
class Sample:
    """Rows: features, class codes 0..K-1, and for census rows the sex."""

    features: FloatArray
    codes: IntArray
    groups: Any


def measure(settings: Settings, seed: int) -> Numbers:
    """Balanced accuracy and worst recall of every remedy over six samples, and what one more sample shows."""
    pool = pool_of(settings["data"])
    samples = partial(_sample, settings, pool, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the number of steps is the learner's budget
        shown = samples("seen")
        learner = unfitted(settings["learner"], settings["strength"], 0)
        plans = {metric: planned(shown, metric, learner) for metric in ASKED}
        with tempfile.TemporaryDirectory() as store:  # one for both trials: folds of arms that they share run once
            seen = {
                metric: {"plan": listed(made), "trial": tried(shown, made, learner, store)}
                for metric, made in plans.items()
            }
        truth = _truth(settings, _test(settings, pool), [samples(number) for number in range(SAMPLES)], plans)
    return {"seen": seen, "truth": truth}


def planned(sample: Sample, metric: str, learner: Any) -> Plan:
    """What `lopsided.plan` says of the sample for that learner, collection left out."""
    known = {"labels": sample.codes, "groups": sample.groups, "learner": learner, "arms": default_kinds()}
    return public.plan(sample.features, metric=ASKED[metric], **known)


def listed(made: Plan) -> list[dict[str, Any]]:
    """The remedies for the data as they are, in the plan's order, with the gains to expect and their 90% intervals."""
    return [{"name": one.name, "gain": [one.counts_as, one.counts_low, one.counts_high]} for one in made.remedies]


def tried(sample: Sample, made: Plan, learner: Any, store: str) -> dict[str, Any]:
    """What `lopsided.trial` says of the plan's remedies with the task's learner."""
    found = public.trial(
        sample.features,
        labels=sample.codes,
        groups=sample.groups,
        plan=made,
        learner=learner,
        metric=made.metric,
        store=store,
        forecasts=False,
    )
    arms = {}
    for arm in found.arms:
        if arm.skipped is None:
            measured = arm.metrics[METRICS[made.metric].name]
            gain = None if measured.gain is None else [measured.gain.value, measured.gain.low, measured.gain.high]
            arms[arm.name] = {"value": measured.estimate.value, "gain": gain}
    advised = found.recommendation
    chosen = None if advised is None else {"arm": advised.arm, "chance": advised.chance_best}
    return {"winner": found.winner, "recommendation": chosen, "arms": arms}


def _truth(settings: Settings, test: Sample, samples: Sequence[Sample], plans: dict[str, Plan]) -> dict[str, Any]:
    """Metric -> remedy -> its values on the test rows, one per sample; a remedy of both plans is trained once."""
    wanted: dict[str, dict[str, Remedy]] = {
        metric: {Plain().name: Plain()} | {one.name: one.remedy for one in made.remedies}
        for metric, made in plans.items()
    }
    recalls: dict[str, list[FloatArray]] = {}
    for remedies in wanted.values():
        for remedy in remedies.values():
            key = canonical(remedy.to_dict())
            if key not in recalls:
                recalls[key] = [_recalls(settings, remedy, sample, test, place) for place, sample in enumerate(samples)]
    best: dict[str, Callable[[FloatArray], Any]] = {"balanced": np.mean, "worst": np.min}
    return {
        metric: {
            name: [float(best[metric](recall)) for recall in recalls[canonical(remedy.to_dict())]]
            for name, remedy in remedies.items()
        }
        for metric, remedies in wanted.items()
    }


def _recalls(settings: Settings, remedy: Remedy, sample: Sample, test: Sample, number: int) -> FloatArray:
    learner = unfitted(settings["learner"], settings["strength"], number)
    model = remedy.wrap(learner, seed=number).fit(sample.features, sample.codes, sample.groups)
    right = model.predict(test.features, test.groups) == test.codes
    return np.asarray(np.bincount(test.codes, weights=right) / np.bincount(test.codes), dtype=np.float64)


def _sample(settings: Settings, pool: Pool, seed: int, number: int | str) -> Sample:
    """Class k of the task is class members[k] of the set."""
    random = generator(seed, "remedy sample", settings["index"], number)
    rows = [
        random.choice(np.flatnonzero(pool.labels == member), count, replace=False)
        for member, count in zip(settings["members"], settings["counts"], strict=True)
    ]
    chosen = np.concatenate(rows)
    return Sample(pool.features[chosen], _codes(rows), pool.words["sex"][chosen] if pool.words else None)


def _test(settings: Settings, pool: Pool) -> Sample:
    rows = [np.flatnonzero(pool.test_labels == member)[:TEST_PER_CLASS] for member in settings["members"]]
    chosen = np.concatenate(rows)
    groups = pool.test_words["sex"][chosen] if pool.test_words else None
    return Sample(pool.test_features[chosen], _codes(rows), groups)


def _codes(rows: Sequence[IntArray]) -> IntArray:
    return np.repeat(np.arange(len(rows)), [own.size for own in rows])
