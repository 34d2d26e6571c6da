"""The order of a plan: what each forecast counts towards the plan's metric, the most first.

A remedy for the data as they are is forecast in that metric, and counts as forecast. Collection is forecast in the
accuracy of its own subject. That of a class counts 1/K towards balanced accuracy and in full towards the worst class,
that of a group in full towards the worst group, both otherwise by their share of the data. What a class gains by being
likelier counts nothing, because other classes pay for it. What rests on no forecast comes last.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from lopsided.checkup.inputs.training_set import TrainingSet
from lopsided.checkup.plan.result import PlannedRemedy
from lopsided.measure.paired_scores import METRICS

_OF_COLLECTION = {
    "balanced": "a class's counts one over the number of classes, a group's its share of the data",
    "worst-class": "a class's counts in full, a group's by its share of the data",
    "worst-group": "a group's counts in full, a class's by its share of the data",
    "overall": "a class's or a group's counts by its share of the data",
}


def in_order(remedies: Iterable[PlannedRemedy], training: TrainingSet, metric: str) -> list[PlannedRemedy]:
    """The remedies with what they count as, the most first; those without a forecast last, as they came."""
    counted = [replace(remedy, counts_as=_counts_as(remedy, training, metric)) for remedy in remedies]
    return sorted(counted, key=lambda remedy: (remedy.counts_as is None, -(remedy.counts_as or 0.0)))


def order_sentence(metric: str) -> str:
    """What the order is, in words."""
    return (
        f"Ordered by what each counts towards {METRICS[metric].name}: its forecast gain. Collection is forecast in its "
        f"subject's own accuracy: {_OF_COLLECTION[metric]}, without what a class gains by being likelier."
    )


def _counts_as(remedy: PlannedRemedy, training: TrainingSet, metric: str) -> float | None:
    forecast = remedy.forecast
    if forecast is None:
        return None
    share = 1.0
    if remedy.kind == "collect":
        axis = remedy.parameters["axis"]
        if metric == "balanced" and axis == "class":
            share = 1.0 / np.count_nonzero(training.classes.counts)
        elif metric != f"worst-{axis}":
            share = remedy.parameters["have"] / training.size
    return float(share * (forecast.gain if forecast.learned is None else min(forecast.gain, forecast.learned)))
