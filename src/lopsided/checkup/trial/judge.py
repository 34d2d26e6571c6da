"""From the answers of all arms to gains, verdicts on forecasts and the winner."""

from collections.abc import Sequence

import numpy as np

from lopsided.checkup.plan.judged_parts import judged_parts
from lopsided.checkup.plan.result import GainForecast
from lopsided.checkup.trial.entries import Entry
from lopsided.checkup.trial.result import Arm, Measured, verdict
from lopsided.checkup.trial.run import TrialRun
from lopsided.checkup.trial.task import HELD_BACK
from lopsided.core.errors import InputError
from lopsided.measure.paired_scores import (
    BALANCED,
    METRICS,
    OVERALL,
    WORST_CLASS,
    WORST_GROUP,
    Answers,
    Estimate,
    Metric,
    class_recall,
    estimate,
    gain,
    group_accuracy,
)


class TrialJudge:
    """Compares the arms of a run that has been worked off."""

    def __init__(self, run: TrialRun) -> None:
        self.run, self.metric = run, METRICS[run.metric]
        self.judged = judged_parts(run.training)
        plain = run.answers(run.entries[0])
        if isinstance(plain, str):
            other = InputError(f"plain training with {run.learner} to work", plain.rstrip("."), "mend the learner")
            raise run.refusal(run.entries[0]) or other
        self.plain = plain
        self.metrics = self._judged_metrics()
        self.able: dict[str, Answers] = {}  # arms that could win

    def arms(self) -> list[Arm]:
        """Every arm with its metrics, gains and forecast."""
        plain, own = self.plain, self.metric.name
        forecasts = self.run.forecasts()
        arms = [Arm("plain", "plain", self._measured(plain, None), own, None, "", None, None, None, "")]
        for entry, remedy in zip(self.run.entries[1:], self.run.plan.remedies, strict=True):
            forecast, reason = forecasts[remedy.name]
            answers: Answers | str = entry.skipped if entry.skipped is not None else self.run.answers(entry)
            why = f"{remedy.why} {reason}".strip() if reason and reason not in remedy.why else remedy.why
            if isinstance(answers, str):
                arms.append(Arm(entry.name, entry.kind, {}, own, forecast, why, None, None, answers, ""))
                continue
            arm, against, words, read = answers, plain, "plain training", own
            if entry.kind == "collect":
                read = self._subject(entry)
                arm, against, words = plain, answers, f"training without {HELD_BACK:.0%} of the subject's examples"
            else:
                self.able[entry.name] = answers
            metrics = self._measured(arm, against)
            outcome = (
                None if forecast is None else verdict(forecast, gain(self._metric(forecast), arm, against, self.judged))
            )
            widened = gain(self.metric, arm, against, self.judged).widened(self._compared())
            arms.append(Arm(entry.name, entry.kind, metrics, read, forecast, why, outcome, widened, None, words))
        return arms

    def _subject(self, entry: Entry) -> str:
        assert entry.held_back is not None
        axis, code = entry.held_back["axis"], entry.held_back["code"]
        return next(metric.name for metric in self.metrics if (metric.axis, metric.part) == (axis, code))

    def _metric(self, forecast: GainForecast) -> Metric:
        return next(metric for metric in self.metrics if metric.name == forecast.metric)

    def _compared(self) -> int:
        """Arms that could win."""
        return sum(entry.skipped is None and entry.kind not in ("plain", "collect") for entry in self.run.entries)

    def _judged_metrics(self) -> list[Metric]:
        metrics: list[Metric] = [WORST_CLASS, BALANCED, OVERALL]
        groups = self.run.training.groups
        if groups is not None:
            metrics = [WORST_GROUP, *metrics] if self.judged.groups else metrics
            metrics += [group_accuracy(groups.names[code], code) for code in np.flatnonzero(groups.counts).tolist()]
        return metrics + [class_recall(self.run.training.classes.names[code], code) for code in self.judged.classes]

    def _measured(self, answers: Answers, against: Answers | None) -> dict[str, Measured]:
        return {
            metric.name: Measured(
                estimate(metric, answers, self.judged),
                None if against is None else gain(metric, answers, against, self.judged),
            )
            for metric in self.metrics
        }

    def winner(self, arms: Sequence[Arm]) -> tuple[str | None, list[str]]:
        """The best of the arms whose widened interval lies above zero, and those it is not shown to beat."""
        better = [arm for arm in arms if arm.name in self.able and arm.widened is not None and arm.widened[0] > 0]
        if not better:
            return None, []
        best = max(better, key=lambda arm: _gain(arm, self.metric.name).value)
        tied = []
        for name, answers in self.able.items():
            if name != best.name:
                lead = gain(self.metric, self.able[best.name], answers, self.judged)
                if lead.widened(len(self.able))[0] <= 0:
                    tied.append(name)
        return best.name, tied


def _gain(arm: Arm, metric: str) -> Estimate:
    found = arm.metrics[metric].gain
    assert found is not None
    return found
