"""From the predictions of all arms to gains, verdicts on forecasts and the winner."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lopsided.checkup.decision.prior import gain_prior, learner_kind
from lopsided.checkup.decision.recommendation import (
    MeasuredGains,
    Recommendation,
    common_gain,
    measured_gains,
    recommend,
)
from lopsided.checkup.trial.arm import Arm, Measured, forecast_outcome
from lopsided.checkup.trial.run import TrialRun
from lopsided.checkup.trial.task import HELD_BACK
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.measure.metrics.contract import Answers, Influence, Metric, judged_parts
from lopsided.measure.metrics.named import metric_named
from lopsided.measure.metrics.shares import BALANCED, OVERALL, WORST_CLASS, WORST_GROUP, class_recall, group_accuracy
from lopsided.measure.paired_scores import Estimate, estimate, simultaneous
from lopsided.remedies.contract import Subject

MOST_RANKED = 100  # classes; with more, ranking all examples by each of them takes longer than it tells


def always(classes: Partition) -> tuple[str, ...]:
    """Words of the metrics that every trial has beside accuracies: of the smaller of two classes, else macro."""
    return ("precision", "average-precision", "brier")[:: 1 if len(classes.names) <= MOST_RANKED else 2]


class TrialJudge:
    """Compares the arms of a run that has been worked off, by the metric it was made for or another."""

    def __init__(self, run: TrialRun, metric: Metric) -> None:
        self.run, self.metric = run, metric
        self.judged = judged_parts(run.tested.classes, run.tested.groups)
        plain = run.answers(run.entries[0])
        if isinstance(plain, str):
            other = InputError(f"plain training with {run.learner} to work", plain.rstrip("."))
            raise run.refusal(run.entries[0]) or other
        self.plain = plain
        if metric.needs_probabilities:
            _ = plain.chances  # refused in a sentence where there are none
        self.metrics = self._judged_metrics()

    @cached_property
    def able(self) -> dict[str, Answers]:
        """What the arms that could win answered; not those that only move thresholds, where the metric does not see
        it: they are plain training by another name."""
        tried = [entry for entry in self.run.entries[1:] if entry.skipped is None and entry.remedy.collects is None]
        found = {entry.remedy.name: self.run.answers(entry) for entry in tried}
        probable, plain = self.metric.needs_probabilities, self.metric.influence(self.plain, self.judged)
        return {
            name: answers
            for name, answers in found.items()
            if not isinstance(answers, str)
            and not (probable and answers.probabilities is None)
            and not (probable and _same(self.metric.influence(answers, self.judged), plain))
        }

    @cached_property
    def measured(self) -> MeasuredGains:
        """Gains of the arms that could win, with their joint error."""
        return measured_gains(self.metric, self.plain, self.able, self.judged)

    @cached_property
    def deviations(self) -> float:
        """Standard errors of a gain on each side of the interval that holds for all arms at once."""
        return simultaneous(self.measured.errors if self.able else np.eye(1), self.measured.degrees)

    def recommendation(self) -> Recommendation:
        """What to use, given this measurement and what such remedies gained elsewhere."""
        run = self.run
        kind, counts = learner_kind(run.learner), run.training.classes.counts
        prior = gain_prior(self.measured.arms, self.metric.family, kind, counts, self.measured.room)
        repeat = run.fit_seconds / max(run.repeats_of.values())
        falls = not self.metric.larger_is_better
        return recommend(self.measured, prior, self.metric.name, falls=falls, seconds=repeat, seed=run.seed)

    def arms(self) -> list[Arm]:
        """Every arm with its metrics, gains and forecast."""
        own = self.metric.name
        forecasts = self.run.forecasts()
        if self.metric != self.run.metric:
            forecasts = dict.fromkeys(forecasts, (None, ""))
        arms = [Arm(self.run.entries[0].remedy, self._measured(self.plain, None), own, None, "")]
        for entry, planned in zip(self.run.entries[1:], self.run.plan.remedies, strict=True):
            forecast, reason = forecasts[planned.name]
            answers: Answers | str = entry.skipped if entry.skipped is not None else self.run.answers(entry)
            why = f"{planned.why} {reason}".strip() if reason and reason not in planned.why else planned.why
            if not isinstance(answers, str) and self.metric.needs_probabilities and answers.probabilities is None:
                answers = f"It has no probabilities, which {own} needs."
            if isinstance(answers, str):
                arms.append(Arm(entry.remedy, {}, own, forecast, why, skipped=answers))
                continue
            arm, against, words, read = answers, self.plain, "plain training", own
            if entry.remedy.collects is not None:
                read = self._subject(entry.remedy.collects)
                arm, against, words = self.plain, answers, f"training without {HELD_BACK:.0%} of the subject's examples"
            outcome = None
            if forecast is not None:
                metric = next(one for one in self.metrics if one.name == forecast.metric)
                outcome = forecast_outcome(forecast, common_gain(metric, arm, against, self.judged))
            widened = common_gain(self.metric, arm, against, self.judged).within(self.deviations)
            metrics = self._measured(arm, against)
            arms.append(Arm(entry.remedy, metrics, read, forecast, why, outcome, widened, None, words))
        return arms

    def _subject(self, subject: Subject) -> str:
        name = self.run.training.partition(subject.axis).names[subject.code]
        make = class_recall if subject.axis == "class" else group_accuracy
        return make(name, subject.code).name

    def _judged_metrics(self) -> list[Metric]:
        metrics: list[Metric] = [WORST_CLASS, BALANCED, OVERALL]
        groups = self.run.tested.groups
        if groups is not None:
            metrics = [WORST_GROUP, *metrics] if self.judged.groups else metrics
            metrics += [group_accuracy(groups.names[code], code) for code in np.flatnonzero(groups.counts).tolist()]
        classes = self.run.training.classes
        metrics += [class_recall(classes.names[code], code) for code in self.judged.classes]
        metrics += [metric_named(word, classes) for word in always(classes)]
        return [*metrics, *([] if self.metric.name in [metric.name for metric in metrics] else [self.metric])]

    def _measured(self, answers: Answers, against: Answers | None) -> dict[str, Measured]:
        return {
            metric.name: Measured(
                estimate(metric, answers, self.judged),
                None if against is None else common_gain(metric, answers, against, self.judged),
            )
            for metric in self.metrics
            if not metric.needs_probabilities or all(arm.probabilities is not None for arm in (answers, against) if arm)
        }

    def winner(self, arms: Sequence[Arm]) -> tuple[str | None, list[str]]:
        """The best of the arms whose widened interval lies above zero, and those it is not shown to beat."""
        better = [arm for arm in arms if arm.name in self.able and arm.widened is not None and arm.widened[0] > 0]
        if not better:
            return None, []
        best = max(better, key=lambda arm: _gain(arm, self.metric.name).value)
        others = [name for name in self.able if name != best.name]
        if not others:
            return best.name, []
        number = list(self.able).index(best.name)
        against = np.delete(np.eye(len(self.able))[number] - np.eye(len(self.able)), number, axis=0)
        deviations = simultaneous(against @ self.measured.errors @ against.T, self.measured.degrees)
        leads = [common_gain(self.metric, self.able[best.name], self.able[name], self.judged) for name in others]
        return best.name, [name for name, lead in zip(others, leads, strict=True) if lead.within(deviations)[0] <= 0]


def _same(arm: Influence, plain: Influence) -> bool:
    """Whether every answer has the same effect; probabilities are kept in single precision."""
    if arm.moves.shape != plain.moves.shape or arm.draws is not None:
        return False
    return abs(arm.value - plain.value) < 1e-9 and bool(np.allclose(arm.moves, plain.moves, rtol=1e-6, atol=1e-12))


def _gain(arm: Arm, metric: str) -> Estimate:
    found = arm.metrics[metric].gain
    assert found is not None
    return found
