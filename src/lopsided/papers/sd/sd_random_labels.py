"""Sections 4 and 6: the network can fit random labels, ends farther from its start, and generalises on structure."""

import math
from collections.abc import Sequence

import numpy as np

from lopsided.core.figure import Figure, Panel
from lopsided.core.seeds import generator
from lopsided.core.statistics import seed_mean
from lopsided.data.clusters import with_random_labels
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.learners.wide_relu import accuracy
from lopsided.measure.weight_change import Travelled
from lopsided.papers.claim import Claim, Part, Runs, Verdict, weigh
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.shapes import WORTH
from lopsided.papers.shared.summary import band, chosen
from lopsided.worlds.wide_runs import as_curves, descent, draw, run_settings

GENERALISES = 0.95


def measure(settings: Settings, seed: int) -> Numbers:
    """Accuracies on training and test set and the distance along a run, and the first record with all labels fitted."""
    run = run_settings(settings)
    train, test = draw(run, seed)
    if settings["labels"] == "random":
        train = with_random_labels(train, run.classes, generator(seed, "labels"))
    states = descent(run, train, seed, np.vstack([train.points, test.points]))
    travelled = Travelled(states.network.hidden)
    records = []
    for state in states:
        travelled.follow(state.batch_displacement, state.batch_update, state.batch_gram)
        if state.step % run.record == 0:
            outputs = state.probe_outputs()
            fit, tested = accuracy(outputs[: run.train], train.labels), accuracy(outputs[run.train :], test.labels)
            reached = {"train_accuracy": fit, "test_accuracy": tested, "distance": travelled.relative}
            records.append({"steps": state.step, **reached})
    fitted_at = next((place for place, record in enumerate(records) if record["train_accuracy"] == 1), None)
    return {**as_curves(records), "fitted_at": fitted_at}


def _at_fit(numbers: Numbers, key: str) -> float:
    """A curve's value when the training labels were first fitted; at the end if they never were."""
    place = numbers["fitted_at"]
    return float(numbers[key][-1 if place is None else place])


def judge(rows: Sequence[Row]) -> Verdict:
    """Random against true labels, paired by seed, each when its training labels are fitted."""
    random, true = ({row.seed: row.numbers for row in chosen(rows, labels=kind)} for kind in ("random", "true"))
    fits = [_at_fit(numbers, "train_accuracy") for numbers in random.values()]
    farther = seed_mean(_at_fit(random[seed], "distance") - _at_fit(true[seed], "distance") for seed in true)
    further = seed_mean(math.log(_at_fit(random[seed], "distance") / _at_fit(true[seed], "distance")) for seed in true)
    test = seed_mean(_at_fit(numbers, "test_accuracy") for numbers in true.values())
    chance = seed_mean(_at_fit(numbers, "test_accuracy") for numbers in random.values())
    longer = seed_mean(_at_fit(random[seed], "steps") / _at_fit(true[seed], "steps") for seed in true)
    parts = [
        Part("fits random labels", min(fits) == 1, max(fits) < 1),
        Part.above("ends farther from its start", further, claimed=WORTH),
        Part.above("generalises on structure", test, GENERALISES),
    ]
    found = (
        f"Random labels: lowest training accuracy {min(fits):.3g}, {longer.mean:.3g} times the steps, relative "
        f"distance larger by {farther.text()}, test accuracy {chance.mean:.3g}; true labels: test accuracy "
        f"{test.text()}"
    )
    numbers = {
        "random_training_accuracy": min(fits),
        "distance_difference": farther,
        "log_distance_ratio": further,
        "true_test_accuracy": test,
        "random_test_accuracy": chance,
        "steps_ratio": longer,
    }
    return weigh(parts, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Training accuracy, test accuracy and distance against the step."""
    kinds = ("true", "random")
    panels = [
        Panel(title, "SGD step", axis, [band(chosen(rows, labels=k), key, f"{k} labels") for k in kinds], x_log=True)
        for title, axis, key in (
            ("Training accuracy", "accuracy", "train_accuracy"),
            ("Test accuracy", "accuracy", "test_accuracy"),
            ("Distance from the start", "|W − W₀| / |W₀|", "distance"),
        )
    ]
    return Figure("True and random labels, one network", panels, "Bands: one standard deviation over seeds.")


def _plan(width: int, train: int, steps: int, record: int, seeds: int) -> Runs:
    common = {"width": width, "dimension": 200, "train": train, "test": 300, "steps": steps, "record": record}
    return Runs([{"labels": kind, **common} for kind in ("true", "random")], seeds=range(seeds))


CLAIM = Claim(
    id="sd-random-labels",
    rule="When all training labels are first fitted: every run on random labels reaches that point; paired by seed, "
    "the relative distance is larger on random labels (95 % interval of the logarithm of the ratio above 0; unresolved "
    "if a factor of 1.5 could not be detected, because the paper names no size); on true labels the test accuracy is "
    f"above {GENERALISES}.",
    quick=_plan(1000, 120, 1500, 20, 3),
    paper=_plan(10000, 500, 20000, 50, 5),
    measure=measure,
    judge=judge,
    plot=plot,
    quick_budget_seconds=10.0,
    alternatives={"random labels cost nothing": constant("labels")},
)
