"""The trial: remedies side by side by repeated stratified cross-validation, each outcome beside its forecast.

Every arm trains and is tested on the same folds, so differences are paired; intervals are those of `fold_scores`
(Nadeau and Bengio's corrected resampled t). Forecasts are made again inside each fold of the first repeat, from its
training rows alone. The winner is the arm with the largest gain among those whose interval, widened for the number of
arms (Bonferroni), lies above zero; without such an arm there is none. `tied_with` names the arms that it is not shown
to beat.

Collection is simulated: half of the subject's training examples are held back and then added, so its gain is what
going from half to all of them brought, and it cannot win, because the data that would follow are not there yet.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.checkup.evidence import Evidence
from lopsided.checkup.fold_scores import (
    BALANCED,
    METRICS,
    OVERALL,
    WORST_CLASS,
    WORST_GROUP,
    Answers,
    Estimate,
    Judged,
    Metric,
    class_recall,
    estimate,
    gain,
    group_accuracy,
)
from lopsided.checkup.named_learner import gives_probabilities, make_learner, takes_weights
from lopsided.checkup.pilot import judged_parts
from lopsided.checkup.plan import chosen_metric, measured_recipe, plan_for
from lopsided.checkup.remedy_plan import GainForecast, Plan, PlannedRemedy
from lopsided.checkup.training_set import TrainingSet, training_set
from lopsided.checkup.trial_result import Arm, Measured, Trial, verdict
from lopsided.checkup.trial_task import HELD_BACK, MEASUREMENT, arrays_of, by_code, data_key, held
from lopsided.core.errors import InputError
from lopsided.core.jsonable import jsonable
from lopsided.core.seeds import check_seed
from lopsided.core.validation import check_count
from lopsided.experiments.runner import cores, run_here
from lopsided.experiments.store import Store
from lopsided.experiments.tasks import Task, canonical

ProgressStart = Callable[[int], Callable[[int], None]]
LEAST_TO_HOLD_BACK = 8  # training examples of a subject: with fewer, the gain of the other half is a coin or two


@dataclass(frozen=True)
class _Entry:
    """An arm to run: its tasks' settings, what it is compared with, and why it is not run."""

    name: str
    kind: str
    options: Mapping[str, Any]
    held_back: Mapping[str, Any] | None = None
    skipped: str | None = None


def run_trial(
    evidence: Evidence,
    plan: Plan | None = None,
    *,
    learner: Any = "logistic",
    metric: str | None = None,
    group: str | None = None,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
    jobs: int | None = 1,
    store: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    forecasts: bool = True,
    progress: ProgressStart | None = None,
) -> Trial:
    """Train the plan's arms, plain training and simulated collection side by side.

    learner: logistic, boosting, network or deep (both with the evidence's weight decay), package.module:Class, or a
    scikit-learn classifier. metric: balanced, worst-class, worst-group or overall; the plan's where there is one.
    store: the folder that keeps finished folds. forecasts: make them again inside the folds; each costs a pilot.
    """
    began = time.perf_counter()
    folds, repeats = check_count(folds, "the folds", at_least=2), check_count(repeats, "the repeats")
    training = training_set(evidence, group=group)
    wanted = chosen_metric(metric if metric is not None or plan is None else plan.metric, training)
    if training.size < 2 * folds:
        raise InputError(f"at least {2 * folds} training rows for {folds} folds", training.size, "use fewer folds")
    if folds * repeats < 3:
        raise InputError("at least three folds in all for an interval", folds * repeats, "use more folds or repeats")
    if isinstance(learner, str) and learner in ("network", "deep") and evidence.weight_decay is not None:
        learner = f"{learner}({evidence.weight_decay!r})"
    made = make_learner(learner, 0) if isinstance(learner, str) else _checked_learner(learner)
    if plan is None:
        plan = plan_for(training, metric=wanted, recipe=measured_recipe(evidence), seed=check_seed(seed))
    entries = _entries(plan, training, made, folds, wanted)
    run = _Run(training, entries, plan, learner, wanted, folds, repeats, check_seed(seed), Store(store), forecasts)
    run.work(jobs, fresh, progress)
    arms = run.arms()
    winner, tied = run.winner(arms)
    return Trial(
        source=training.source,
        learner=learner if isinstance(learner, str) else repr(learner),
        metric=METRICS[wanted].name,
        folds=folds,
        repeats=repeats,
        seed=seed,
        rows=training.size,
        classes=tuple(training.classes.names),
        groups=None if training.groups is None else training.groups.name,
        arms=tuple(arms),
        winner=winner,
        tied_with=tuple(tied),
        notes=tuple(_notes(training, folds, plan)),
        plan=plan,
        reused=run.reused,
        fit_seconds=run.fit_seconds,
        seconds=time.perf_counter() - began,
    )


def trial(
    data: Any = None,
    *,
    labels: Any = None,
    groups: Any = None,
    features: Any = None,
    split: Any = None,
    weight_decay: float | str | None = None,
    **options: Any,
) -> Trial:
    """Try remedies on your data, cross-validated, against their forecasts.

    data: a path, a frame, a mapping of arrays or an array of features; labels, groups, features, split and weight_decay
    as `lopsided.audit` takes them; `options` are those of `run_trial` (learner, metric, group, folds, repeats, jobs,
    seed, store, fresh, forecasts, progress).

    >>> outcome = trial("my.csv", labels="outcome", groups=["sex", "race"], learner="boosting")  # doctest: +SKIP
    """
    from lopsided.checkup.gather import gather

    evidence = gather(data, labels=labels, groups=groups, features=features, split=split, weight_decay=weight_decay)
    return run_trial(evidence, **options)


def _checked_learner(learner: Any) -> Any:
    for method in ("fit", "predict", "get_params"):
        if not callable(getattr(learner, method, None)):
            raise InputError(
                "a learner's name or a scikit-learn classifier", type(learner).__name__, f"it has no method {method}"
            )
    return learner


def _entries(plan: Plan, training: TrainingSet, learner: Any, folds: int, metric: str) -> list[_Entry]:
    entries = [_Entry("plain", "plain", {})]
    for remedy in plan.remedies:
        if remedy.kind == "collect":
            entries.append(_collection(remedy, training, folds))
            continue
        options = dict(remedy.options())
        if "tuned_for" in options:
            options["tuned_for"] = metric
        entries.append(_Entry(remedy.name, remedy.kind, by_code(options, training), skipped=_why_not(remedy, learner)))
    return entries


def _why_not(remedy: PlannedRemedy, learner: Any) -> str | None:
    if remedy.kind in ("reweight", "group weights") and not takes_weights(learner):
        return f"{_name(learner)} takes no sample_weight."
    if remedy.kind in ("logit adjustment", "threshold") and not gives_probabilities(learner):
        return f"{_name(learner)} has no predict_proba."
    return None


def _name(learner: Any) -> str:
    return type(learner.steps[-1][1] if hasattr(learner, "steps") else learner).__name__


def _collection(remedy: PlannedRemedy, training: TrainingSet, folds: int) -> _Entry:
    axis, code = remedy.parameters["axis"], remedy.parameters["code"]
    partition = training.classes if axis == "class" else training.groups
    assert partition is not None
    least = int(partition.counts[code] * (folds - 1) / folds)
    why = None
    if least < LEAST_TO_HOLD_BACK:
        why = f"{least} training examples of {axis} {partition.names[code]} are too few to hold half of them back."
    return _Entry(remedy.name, "collect", {}, {"axis": axis, "code": code}, skipped=why)


def _notes(training: TrainingSet, folds: int, plan: Plan) -> list[str]:
    notes = list(plan.notes)
    counts = training.classes.counts
    single = [training.classes.names[code] for code in np.flatnonzero(counts == 1)]
    small = int(np.count_nonzero((counts > 1) & (counts < folds)))
    if single:
        notes.append(f"Classes with one example are trained on but not judged: {', '.join(single[:8])}.")
    if small:
        notes.append(f"{small} classes have fewer examples than folds; each example is still tested once a repeat.")
    if any(remedy.kind == "collect" for remedy in plan.remedies):
        notes.append(
            f"Collection is simulated: {HELD_BACK:.0%} of the subject's training examples are held back, then added; "
            "its gain is against training without them."
        )
    return notes


class _Run:
    """Tasks of one trial and what came of them."""

    def __init__(
        self,
        training: TrainingSet,
        entries: Sequence[_Entry],
        plan: Plan,
        learner: Any,
        metric: str,
        folds: int,
        repeats: int,
        seed: int,
        store: Store,
        forecasts: bool,
    ) -> None:
        self.training, self.entries, self.plan, self.learner = training, entries, plan, learner
        self.metric, self.folds, self.repeats, self.seed, self.store = metric, folds, repeats, seed, store
        self.forecasting = forecasts
        self.judged: Judged = judged_parts(training)
        self.key = data_key(training)
        self.numbers: dict[str, Mapping[str, Any]] = {}
        self.failures: dict[str, str] = {}
        self.reused, self.fit_seconds = 0, 0.0

    def work(self, jobs: int | None, fresh: bool, progress: ProgressStart | None) -> None:
        """Run what the store does not hold; each finished fold of an arm is kept at once."""
        wanted = min(check_count(cores() if jobs is None else jobs, "--jobs"), cores())
        in_processes = wanted > 1 and isinstance(self.learner, str)
        tasks = self._tasks("")
        if fresh:
            for task in tasks:
                self.store.forget(task)
        stored = {task.key: result for task in tasks if (result := self.store.load(task)) is not None}
        self.reused = len(stored)
        missing = [task for task in tasks if task.key not in stored]
        count = progress(len(missing)) if progress is not None and missing else (lambda ended: None)
        if missing and in_processes:
            with self.store.shared(self.key, arrays_of(self.training)) as place:
                here = [task for task in self._tasks(str(place)) if task.key not in stored]
                failed = run_here(here, self.store, jobs=wanted, progress=count)
        else:
            with held(self.key, self.training, self.learner):
                failed = run_here(missing, self.store, jobs=1, progress=count)
        self.failures = {key: failure.sentence for key, failure in failed.items()}
        for task in tasks:
            result = stored.get(task.key) or self.store.load(task)
            if result is not None:
                self.numbers[task.key] = result.numbers
                self.fit_seconds += result.seconds

    def _tasks(self, place: str) -> list[Task]:
        found = [
            self._task(entry, repeat, fold, place)
            for repeat in range(self.repeats)
            for fold in range(self.folds)
            for entry in self.entries
            if entry.skipped is None
        ]
        return found + [self._forecast_task(fold, place) for fold in range(self.folds if self.forecasting else 0)]

    def _task(self, entry: _Entry, repeat: int, fold: int, place: str = "") -> Task:
        learner = self.learner if isinstance(self.learner, str) else repr(self.learner)
        settings = {"learner": learner, "options": entry.options, "held_back": entry.held_back}
        return self._made({**settings, "repeat": repeat, "fold": fold}, place)

    def _forecast_task(self, fold: int, place: str = "") -> Task:
        asked = [{"kind": remedy.kind, "parameters": remedy.parameters} for remedy in self.plan.remedies]
        return self._made({"forecast": asked, "metric": self.metric, "repeat": 0, "fold": fold}, place)

    def _made(self, settings: Mapping[str, Any], place: str) -> Task:
        text = canonical(jsonable({"data": self.key, "folds": self.folds, **settings}))
        return Task(MEASUREMENT.id, "lopsided.checkup.trial_task", MEASUREMENT.version, text, self.seed, place)

    def _answers(self, entry: _Entry) -> Answers | str:
        """Counts of every fold, or why there are none."""
        right, total = [], []
        for repeat in range(self.repeats):
            for fold in range(self.folds):
                key = self._task(entry, repeat, fold).key
                if key not in self.numbers:
                    return (
                        f"It broke in fold {fold + 1}: {self.failures.get(key, 'its result vanished from the store')}"
                    )
                right.append(self.numbers[key]["right"])
                total.append(self.numbers[key]["total"])
        return Answers(np.array(right, dtype=float), np.array(total, dtype=float), self.folds)

    def arms(self) -> list[Arm]:
        """Every arm with its metrics, gains and forecast."""
        plain = self._answers(self.entries[0])
        if isinstance(plain, str):
            raise InputError(f"plain training with {self.learner} to work", plain.rstrip("."), "mend the learner")
        self._plain = plain
        forecasts = self._forecasts()
        own = METRICS[self.metric].name
        arms = [Arm("plain", "plain", self._metrics(plain, None), own, None, "", None, None, None, "")]
        self.arm_answers: dict[str, Answers] = {"plain": plain}
        for entry, remedy in zip(self.entries[1:], self.plan.remedies, strict=True):
            forecast, reason = forecasts[remedy.name]
            answers: Answers | str = entry.skipped if entry.skipped is not None else self._answers(entry)
            why = f"{remedy.why} {reason}".strip() if reason and reason not in remedy.why else remedy.why
            if isinstance(answers, str):
                arms.append(Arm(entry.name, entry.kind, {}, own, forecast, why, None, None, answers, ""))
                continue
            arm, against, words, read = answers, plain, "plain training", own
            if entry.kind == "collect":
                read = self._subject(entry)
                arm, against, words = plain, answers, f"training without {HELD_BACK:.0%} of the subject's examples"
            else:
                self.arm_answers[entry.name] = answers
            metrics = self._metrics(arm, against)
            outcome = (
                None if forecast is None else verdict(forecast, gain(self._metric(forecast), arm, against, self.judged))
            )
            widened = gain(METRICS[self.metric], arm, against, self.judged).widened(
                self._compared(), plain.fold_count - 1
            )
            arms.append(Arm(entry.name, entry.kind, metrics, read, forecast, why, outcome, widened, None, words))
        return arms

    def _subject(self, entry: _Entry) -> str:
        assert entry.held_back is not None
        axis, code = entry.held_back["axis"], entry.held_back["code"]
        return next(metric.name for metric in self._judged_metrics() if (metric.axis, metric.part) == (axis, code))

    def _metric(self, forecast: GainForecast) -> Metric:
        return next(metric for metric in self._judged_metrics() if metric.name == forecast.metric)

    def _compared(self) -> int:
        """Arms that could win."""
        return sum(entry.skipped is None and entry.kind not in ("plain", "collect") for entry in self.entries)

    def _judged_metrics(self) -> list[Metric]:
        metrics: list[Metric] = [WORST_CLASS, BALANCED, OVERALL]
        if self.training.groups is not None:
            metrics.insert(0, WORST_GROUP)
            metrics += [group_accuracy(self.training.groups.names[code], code) for code in self.judged.groups]
        return metrics + [class_recall(self.training.classes.names[code], code) for code in self.judged.classes]

    def _metrics(self, answers: Answers, against: Answers | None) -> dict[str, Measured]:
        return {
            metric.name: Measured(
                estimate(metric, answers, self.judged),
                None if against is None else gain(metric, answers, against, self.judged),
            )
            for metric in self._judged_metrics()
        }

    def _forecasts(self) -> dict[str, tuple[GainForecast | None, str]]:
        """Forecasts of the folds, averaged: gain, low and high each. None as soon as a fold has none."""
        if not self.forecasting:
            return {remedy.name: (None, "Forecasts were not asked for.") for remedy in self.plan.remedies}
        by_fold = [self.numbers.get(self._forecast_task(fold).key) for fold in range(self.folds)]
        found: dict[str, tuple[GainForecast | None, str]] = {}
        for place, remedy in enumerate(self.plan.remedies):
            if any(fold is None for fold in by_fold):
                sentences = [self.failures.get(self._forecast_task(fold).key, "") for fold in range(self.folds)]
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

    def winner(self, arms: Sequence[Arm]) -> tuple[str | None, list[str]]:
        """The best of the arms whose widened interval lies above zero, and those it is not shown to beat."""
        name, metric = METRICS[self.metric].name, METRICS[self.metric]
        able = [arm for arm in arms if arm.widened is not None and arm.kind != "collect" and arm.skipped is None]
        better = [arm for arm in able if arm.widened is not None and arm.widened[0] > 0]
        if not better:
            return None, []
        best = max(better, key=lambda arm: _gain(arm, name).value)
        tied = []
        for arm in able:
            if arm.name != best.name:
                lead = gain(metric, self.arm_answers[best.name], self.arm_answers[arm.name], self.judged)
                if lead.widened(len(able), self._plain.fold_count - 1)[0] <= 0:
                    tied.append(arm.name)
        return best.name, tied


def _averaged(gains: Sequence[GainForecast]) -> GainForecast:
    """Gain, low and high each averaged: the folds share most of their rows, so their errors do not average out."""
    gain, low, high = (float(np.mean([getattr(entry, name) for entry in gains])) for name in ("gain", "low", "high"))
    return GainForecast(gains[0].metric, gain, low, high, gains[0].ground)


def _gain(arm: Arm, metric: str) -> Estimate:
    found = arm.metrics[metric].gain
    assert found is not None
    return found
