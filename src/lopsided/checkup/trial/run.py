"""The tasks of one trial: which there are, running those that are not stored, and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lopsided.checkup.decision.prior import learner_kind
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.task import HOME, MEASUREMENT, arrays_of, data_key, held, trial_measurement, unpacked
from lopsided.core.errors import InputError
from lopsided.core.jsonable import jsonable
from lopsided.core.partition import LabelledRows
from lopsided.core.progress import ProgressStart, counter
from lopsided.core.validation import check_count
from lopsided.data.labelled_set import LabelledSet
from lopsided.engine.code import code_of
from lopsided.engine.runner import cores, run_here
from lopsided.engine.store import Store
from lopsided.engine.task import Task, tasks_of
from lopsided.engine.work import Failure
from lopsided.learners.named_learner import gives_probabilities, is_network, learner_name, takes_weights
from lopsided.measure.metrics.contract import Answers, Metric
from lopsided.remedies.contract import Forecast, GainForecast, Remedy
from lopsided.remedies.network import NO_NETWORK
from lopsided.remedies.plain import Plain

LEAST_TO_HOLD_BACK = 8  # training examples of a subject: with fewer, the gain of the other half is a coin or two


@dataclass(frozen=True)
class Entry:
    """An arm to run, and why it is not run."""

    remedy: Remedy
    skipped: str | None = None


MOST_RESAMPLED = 50_000  # rows, where a trial has some of very many classes only: more take minutes a fit


def trial_entries(
    plan: Plan,
    training: LabelledSet,
    learner: Any,
    folds: int,
    metric: str,
    no_numbers: str | None = None,
    *,
    drawn: bool = False,
) -> list[Entry]:
    """Plain training first, then the plan's remedies in its order; `no_numbers` says why none can compute with the
    features, `drawn` that the trial has some of the plan's classes only."""
    remedies = [planned.remedy.for_metric(metric) for planned in plan.remedies]
    reasons = [_why_not(remedy, training, learner, folds, no_numbers, drawn) for remedy in remedies]
    return [Entry(Plain()), *[Entry(remedy, why) for remedy, why in zip(remedies, reasons, strict=True)]]


def _why_not(
    remedy: Remedy, training: LabelledSet, learner: Any, folds: int, no_numbers: str | None, drawn: bool
) -> str | None:
    if remedy.needs_numbers and no_numbers is not None:
        return no_numbers
    if remedy.needs_network and not is_network(learner):
        return NO_NETWORK.format(learner_name(learner))
    if remedy.needs_weights and not takes_weights(learner):
        return f"{learner_name(learner)} takes no sample_weight."
    if remedy.needs_probabilities and not gives_probabilities(learner):
        return f"{learner_name(learner)} has no predict_proba."
    made = remedy.rows_drawn(training)
    if drawn and made is not None and made > MOST_RESAMPLED:
        return f"It would train on {made:,.0f} rows made of {training.size:,}; class weights need no copies."
    if remedy.collects is None:
        return None
    if drawn and remedy.collects.axis == "class":
        return "Collecting is not simulated, because the trial uses only some of the classes."
    partition = training.partition(remedy.collects.axis)
    least = int(partition.counts[remedy.collects.code] * (folds - 1) / folds)
    if least >= LEAST_TO_HOLD_BACK:
        return None
    whose = f"{remedy.collects.axis} {partition.names[remedy.collects.code]}"
    return f"{least} training examples of {whose} are too few to hold half of them back."


class TrialRun:
    """The tasks of one trial and their results."""

    def __init__(
        self,
        training: LabelledSet,
        entries: Sequence[Entry],
        plan: Plan,
        learner: Any,
        identity: Mapping[str, Any],
        metric: Metric,
        folds: int,
        repeats: int,
        seed: int,
        store: Store,
        forecasts: bool,
        recalibrate: bool = False,
    ) -> None:
        self.training, self.entries, self.plan = training, entries, plan
        self.learner, self.identity = learner, identity
        self.metric, self.folds, self.repeats, self.seed, self.store = metric, folds, repeats, seed, store
        self.forecasting, self.recalibrate = forecasts and metric.forecast, recalibrate
        self.key = data_key(training)
        self.numbers: dict[str, Mapping[str, Any]] = {}
        self.failures: dict[str, Failure] = {}
        self.repeats_of: dict[str, int] = {}  # by the remedy's name: fewer where it was dropped in a race
        self.reused, self.fit_seconds = 0, 0.0

    def work(
        self,
        jobs: int | None,
        fresh: bool,
        progress: ProgressStart | None,
        rounds: range | None = None,
        live: set[str] | None = None,
    ) -> None:
        """Run the tasks that are not stored; each finished fold of an arm is stored at once.

        `rounds` are the repeats, `live` the remedies that are run in them beside plain training: all unless named.
        """
        rounds = range(self.repeats) if rounds is None else rounds
        entries = [
            entry for entry in self.entries if live is None or entry.remedy.name in live or entry is self.entries[0]
        ]
        wanted = min(check_count(cores() if jobs is None else jobs, "--jobs"), cores())
        own = [entry.remedy for entry in self.entries if entry.remedy.own]
        in_processes = wanted > 1 and isinstance(self.learner, str) and not own
        tasks = self._tasks("", entries, rounds)
        if fresh:
            for task in tasks:
                self.store.forget(task)
        stored = {task.key: result for task in tasks if (result := self.store.load(task)) is not None}
        self.reused += len(stored)
        missing = [task for task in tasks if task.key not in stored]
        count = counter(progress if missing else None, len(missing))
        if missing and in_processes:
            with self.store.shared(self.key, arrays_of(self.training)) as place:
                here = [task for task in self._tasks(str(place), entries, rounds) if task.key not in stored]
                failed = run_here(here, self.store, jobs=wanted, progress=count)
        else:
            with held(self.key, self.training, self.learner, own):
                failed = run_here(missing, self.store, jobs=1, progress=count)
        self.failures |= failed
        self.repeats_of |= {entry.remedy.name: rounds.stop for entry in entries}
        for task in tasks:
            result = stored.get(task.key) or self.store.load(task)
            if result is not None:
                self.numbers[task.key] = result.numbers
                self.fit_seconds += result.seconds

    def _tasks(self, place: str, entries: Sequence[Entry], rounds: range) -> list[Task]:
        found = [
            self._task(entry, repeat, fold, place)
            for repeat in rounds
            for fold in range(self.folds)
            for entry in entries
            if entry.skipped is None
        ]
        forecasting = self.forecasting and 0 in rounds
        return found + [self._forecast_task(fold, place) for fold in range(self.folds if forecasting else 0)]

    def _task(self, entry: Entry, repeat: int, fold: int, place: str = "") -> Task:
        learner = self.learner if isinstance(self.learner, str) else repr(self.learner)
        subject = entry.remedy.collects
        remedy = entry.remedy if subject is None else Plain()
        settings: dict[str, Any] = {
            "learner": learner,
            "identity": self.identity,
            "remedy": remedy.to_dict(),
            "code": [code_of(home) for home in remedy.code_homes],  # the task itself imports no own arms or forms
            "held_back": None if subject is None else asdict(subject),
        }
        if self.recalibrate:
            settings["recalibrate"] = True
        return self._made({**settings, "repeat": repeat, "fold": fold}, place)

    def _forecast_task(self, fold: int, place: str = "") -> Task:
        asked = [planned.remedy.to_dict() for planned in self.plan.remedies]
        settings = {"forecast": asked, "metric": self.metric.word, "linear": learner_kind(self.learner) == "linear"}
        return self._made({**settings, "repeat": 0, "fold": fold}, place)

    def _made(self, settings: Mapping[str, Any], place: str) -> Task:
        found = jsonable({"data": self.key, "folds": self.folds, **settings})
        return tasks_of(MEASUREMENT, HOME, trial_measurement, [found], [self.seed], place=place)[0]

    @cached_property
    def tested(self) -> LabelledRows:
        """The examples that are tested, by their place in the training set: all but the earliest where time counts."""
        rows = np.flatnonzero(self.training.folds(self.folds, self.seed).fold >= 0)
        groups = self.training.groups
        return LabelledRows(rows, self.training.classes.at(rows), None if groups is None else groups.at(rows))

    def answers(self, entry: Entry) -> Answers | str:
        """Predictions and probabilities of every example in every repeat, or why there are none."""
        training, shown, repeats = self.training, self.tested, self.repeats_of[entry.remedy.name]
        fold = np.stack([training.folds(self.folds, self.seed, repeat).fold for repeat in range(repeats)])
        fold = fold[:, shown.rows]
        found: dict[tuple[int, ...], Mapping[str, Any]] = {}
        for repeat, number in np.ndindex(repeats, self.folds):
            key = self._task(entry, repeat, number).key
            if key not in self.numbers:
                return f"It failed in fold {number + 1}: {self._why(key, 'its result vanished from the store')}"
            found[repeat, number] = self.numbers[key]
        predicted = np.zeros(fold.shape, dtype=np.int64)
        chances = None
        if all(numbers["probabilities"] is not None for numbers in found.values()):
            chances = np.zeros((*fold.shape, len(training.classes.names)), dtype=np.float32)
        for (repeat, number), numbers in found.items():
            tested = fold[repeat] == number
            predicted[repeat, tested] = unpacked(numbers["predicted"], "<u4")
            if chances is not None:
                chances[repeat, tested] = unpacked(numbers["probabilities"], "<f4").reshape(-1, chances.shape[2])
        codes, weights = shown.classes.codes, training.design.weights
        weights = None if weights is None else weights[shown.rows]
        return Answers(predicted == codes, fold, codes, shown.group_codes, predicted, chances, weights)

    def refusal(self, entry: Entry) -> InputError | None:
        """The first InputError among the arm's folds: a sentence for the user; other failures are accidents."""
        keys = [self._task(entry, *place).key for place in np.ndindex(self.repeats_of[entry.remedy.name], self.folds)]
        failed = [self.failures[key] for key in keys if key in self.failures]
        return next((failure.refusal for failure in failed if failure.refusal is not None), None)

    def _why(self, key: str, otherwise: str) -> str:
        return self.failures[key].sentence if key in self.failures else otherwise

    def forecasts(self) -> dict[str, Forecast]:
        """Forecasts of the folds, averaged: gain, low and high each. None as soon as a fold has none."""
        if not self.forecasting:
            reason = "No forecast was requested." if self.metric.forecast else ""
            return {remedy.name: (None, reason) for remedy in self.plan.remedies}
        by_fold = [self.numbers.get(self._forecast_task(fold).key) for fold in range(self.folds)]
        found: dict[str, Forecast] = {}
        for place, remedy in enumerate(self.plan.remedies):
            if any(fold is None for fold in by_fold):
                sentences = [self._why(self._forecast_task(fold).key, "") for fold in range(self.folds)]
                found[remedy.name] = None, f"No forecast: {next(filter(None, sentences), 'its result vanished')}"
                continue
            entries = [fold["forecasts"][place] for fold in by_fold if fold is not None]
            missing = [reason for forecast, reason in entries if forecast is None]
            if missing:
                found[remedy.name] = None, missing[0]
                continue
            gains = [GainForecast(**forecast) for forecast, _ in entries]
            found[remedy.name] = _averaged(gains), ""
        return found


def _averaged(gains: Sequence[GainForecast]) -> GainForecast:
    """Gain, low and high each averaged: the folds share most of their rows, so their errors do not average out."""
    gain, low, high = (float(np.mean([getattr(entry, name) for entry in gains])) for name in ("gain", "low", "high"))
    known = [entry.learned for entry in gains if entry.learned is not None]
    learned = float(np.mean(known)) if known else None
    return GainForecast(gains[0].metric, gain, low, high, gains[0].ground, learned)
