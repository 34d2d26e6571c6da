"""The result of a trial: its arms side by side, as JSON, facts, tables, figures and code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lopsided.checkup.decision.recommendation import MeasuredGains, Recommendation
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.arm import Arm, precision_collapse
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure
from lopsided.data.columns import Columns
from lopsided.data.frames import frame_of
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import is_learner_name
from lopsided.measure.metrics.contract import Metric
from lopsided.measure.metrics.named import Asked
from lopsided.measure.metrics.shares import BALANCED, WORST_GROUP
from lopsided.measure.paired_scores import AT_ONCE, LEVEL
from lopsided.remedies.contract import GainForecast

_OTHERS = ("precision of ", "macro precision", "average precision of ", "macro average precision", "Brier score")
_MOST_LETTERS = 80  # of an object of the user's, whose text can fill a page


@dataclass(frozen=True)
class Trial:
    """The arms of a trial; `winner` is None unless one is shown to be better than plain training."""

    source: str
    learner: str
    metric: str
    folds: int
    repeats: int
    seed: int
    rows: int
    classes: tuple[str, ...]
    groups: str | None
    arms: tuple[Arm, ...]
    winner: str | None
    tied_with: tuple[str, ...]
    notes: tuple[str, ...]
    plan: Plan = field(repr=False)
    training: LabelledSet | None = field(default=None, repr=False, compare=False)
    recommendation: Recommendation | None = None
    measured: MeasuredGains | None = field(default=None, repr=False, compare=False)
    reused: int = 0
    fit_seconds: float = 0.0
    seconds: float = 0.0
    measured_in: Metric = field(default=BALANCED, repr=False, compare=False)
    judged: Callable[..., "Trial"] | None = field(default=None, repr=False, compare=False)

    def judge(self, metric: Asked, *, costs: Any = None) -> "Trial":
        """The same trial judged by another metric, without training: from the predictions and probabilities it kept.

        Parameters
        ----------
        metric : str, callable or Metric
            As `lopsided.trial` takes it: "f1", "precision:fraud", "average-precision", "cost", a scikit-learn scorer.
        costs : dict or array, optional
            For the metric "cost".

        Returns
        -------
        Trial
            The same arms with gains, intervals, winner and sentence in that metric, and no forecasts.
        """
        if self.judged is None:
            raise InputError("a trial that kept its predictions", "one without them", "run lopsided.trial again")
        return self.judged(metric, costs)

    def __getitem__(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def recommended(self) -> Arm:
        """The arm to train: the recommended one; without a recommendation the winner, else plain training."""
        return self[self.recommendation.arm if self.recommendation else self.winner or self.arms[0].name]

    @property
    def columns(self) -> Columns:
        """Which columns of the data were used, and why the others were not."""
        return Columns() if self.training is None else self.training.columns

    def headline(self, *, brief: bool = False) -> str:
        """The sentence that a report opens with: what to use; `brief` leaves out the rivals."""
        if self.recommendation is None:
            return self.sentence()
        return self.recommendation.sentence(precision_collapse(self.recommended, self.arms[0]), brief=brief)

    def code(self) -> str:
        """Five lines of Python that train the recommended arm: the remedy that was tried, with its parameters, around
        the learner. You provide `X` and `y` and, if they are needed, `groups`, `learner` and `own`."""
        remedy, learner, seed = self.recommended.remedy, "learner", self.seed
        given = ["X", "y", "groups"] if remedy.needs_groups else ["X", "y"]
        planned = self.plan.remedies[0].training if self.plan is not None and self.plan.remedies else None
        drawn = planned is not None and len(planned.classes.names) > len(self.classes)
        about = f"X: {'rows of all classes' if drawn else f'{self.rows:,} rows'} as the trial had them, y: their labels"
        if is_learner_name(self.learner):
            learner = repr(self.learner)
        else:
            about = f"learner: {_short(self.learner)}; {about}"
        imported, made = remedy.python()
        lines = [
            "from lopsided import MendedClassifier",
            imported,
            f"model = MendedClassifier({learner}, {made}, seed={seed})",
        ]
        predicted = ", ".join(name for name in given if name != "y")
        return "\n".join(
            [*lines, f"model.fit({', '.join(given)})  # {about}", f"predicted = model.predict({predicted})"]
        )

    def __str__(self) -> str:
        named = "" if self.judged_by() == f"judged by {self.metric}" else f"; {self.judged_by()}"
        lines = [self.columns.sentence(), self.headline(), f"{self.sentence()[:-1]}{named}."]
        return "\n".join([*lines, *(f"{arm.name}: {arm.words(self.metric)}" for arm in self.arms)])

    def judged_by(self) -> str:
        """The metric, and for the worst group which groups."""
        groups = f" (groups of {self.groups})" if self.metric == WORST_GROUP.name else ""
        return f"judged by {self.metric}{groups}"

    def sentence(self) -> str:
        """The winner, in a sentence."""
        if self.winner is None:
            return f"No arm is shown to beat plain training in {self.metric}."
        won = self[self.winner]
        compared = sum(arm.helps is not None for arm in self.arms if not arm.simulated)
        gain = won.metrics[self.metric].gain
        assert gain is not None
        assert won.widened is not None
        tied = f"; not shown to beat {', '.join(self.tied_with)}" if self.tied_with else ""
        collapsed = precision_collapse(won, self.arms[0])
        told = gain_words(gain.value, *won.widened, self.measured_in)
        at_once = f", a {AT_ONCE:.0%} interval for all {compared} arms at once" if compared > 1 else ""
        return f"{self.winner} wins: {told}{at_once}{tied}{'; but ' + collapsed if collapsed else ''}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that scripts rely on."""
        about = ("source", "learner", "metric", "folds", "repeats", "seed", "rows", "groups")
        return {
            **{name: getattr(self, name) for name in about},
            "columns": self.columns.to_dict(),
            "metric_word": self.measured_in.word,
            "larger_is_better": self.measured_in.larger_is_better,
            "arms": [arm.to_dict() for arm in self.arms],
            "recommendation": None if self.recommendation is None else self.recommendation.to_dict(),
            "tied_with": list(self.tied_with),
            "notes": list(self.notes),
            "level": LEVEL,
            "simultaneous_level": AT_ONCE,
            **{name: getattr(self, name) for name in ("winner", "reused", "fit_seconds", "seconds")},
        }

    def facts(self) -> list[tuple[str, str]]:
        """The facts that a report shows above the table."""
        from lopsided.checkup.trial.figures import times

        how = f"{self.folds} folds, {times(self.repeats)}, the same for all arms"
        chances = sorted((self.recommendation.chances if self.recommendation else {}).items(), key=lambda one: -one[1])
        best = ", ".join(f"{name} {chance:.0%}" for name, chance in chances if chance >= 0.005)
        return [
            *([("chance of being best", best)] if best else []),
            ("significance", self.sentence()),
            ("gains", f"in {self.metric}, against plain training"),
            ("learner", self.learner),
            ("cross-validation", how),
            (
                "intervals",
                f"{LEVEL:.0%}, paired with plain training by example; the winner's is a {AT_ONCE:.0%} interval for all "
                "arms at once",
            ),
            *[("note", note) for note in self.notes],
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows: the arms that can be trained now, with their main metrics, gain and forecast."""
        main = [*self.main_metrics(), *self.other_metrics()]
        short = [name.replace(" accuracy", "").replace(" recall", "") for name in main]
        rows = [self._row(arm, main) for arm in self.arms if not arm.simulated]
        return ["arm", "gain", "helps?", *short, "forecast", "forecast held?"], rows

    def collection_table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows of the arms that need new examples, each gain in the metric of its own class or group."""
        collected = [arm for arm in self.arms if arm.simulated]
        rows = [[arm.name, "–" if arm.skipped else arm.read_in, *self._row(arm, [])[1:]] for arm in collected]
        return ["arm", "measured in", "gain", "helps?", "forecast", "forecast held?"], rows

    def frame(self) -> Any:
        """One row per arm: a pandas frame where pandas is installed, otherwise a list of dictionaries."""
        rows = []
        for arm in self.arms:
            found = {} if arm.skipped is not None else arm.metrics[arm.read_in].to_dict()
            told = {name: getattr(arm.forecast, name, None) for name in ("gain", "low", "high")}
            row = {"arm": arm.name, "collects": arm.simulated, "metric": arm.read_in}
            row |= {name: found.get(name) for name in ("value", "low", "high", "gain", "gain_low", "gain_high", "p")}
            row |= {"helps": arm.helps, **{f"forecast_{name}": value for name, value in told.items()}}
            row |= {"forecast_held": None if arm.outcome is None else arm.held}
            row |= {
                name: arm.metrics[name].estimate.value if name in arm.metrics else None
                for name in (*self.main_metrics(), *self.other_metrics())
            }
            rows.append({**row, "skipped": arm.skipped, "why": arm.why})
        return frame_of(rows)

    def main_metrics(self) -> list[str]:
        """Worst group (where groups are), worst class, balanced and overall."""
        known = ("worst group accuracy", "worst class recall", "balanced accuracy", "overall accuracy")
        return [name for name in known if name in self.arms[0].metrics]

    def other_metrics(self) -> list[str]:
        """Precision and recall of the smaller of two classes (of more, the mean), average precision, Brier score; then
        the trial's own metric where that is another."""
        found = [name for name in self.arms[0].metrics if name.startswith(_OTHERS)]
        of_class = [name.removeprefix("precision of ") for name in found if name.startswith("precision of ")]
        found[1:1] = [f"recall of {name}" for name in of_class[:1]]
        shown = [*self.main_metrics(), *found]
        return found if self.metric in shown else [*found, self.metric]

    @property
    def in_points(self) -> bool:
        """Whether gains are percentage points: of a share."""
        return self.measured_in.bounds == (0.0, 1.0)

    def values(self, arm: Arm, metrics: Sequence[str]) -> list[str]:
        """The arm's values in words; a dash where it has none."""
        return [f"{arm.metrics[name].estimate.value:.3f}" if name in arm.metrics else "–" for name in metrics]

    def _row(self, arm: Arm, main: Sequence[str]) -> list[str]:
        if arm.skipped is not None:
            return [arm.name, "–", "–", *["–"] * len(main), _words(arm.forecast), f"skipped: {arm.skipped}"]
        gain = arm.metrics[arm.read_in].gain
        told = "–" if gain is None else f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
        return [arm.name, told, arm.helps or "–", *self.values(arm, main), _words(arm.forecast), arm.held]

    def figures(self) -> list[Figure]:
        """Gains next to forecasts, and the metrics of every arm."""
        from lopsided.checkup.trial.figures import gains_figure, metrics_figure

        return [gains_figure(self), metrics_figure(self)]


def gain_words(gain: float, low: float, high: float, metric: Metric) -> str:
    """A gain with its interval; where smaller is better, how much the metric falls."""
    if metric.larger_is_better:
        return f"{metric.name} {gain:+.3f} [{low:+.3f}, {high:+.3f}]"
    return f"{metric.name} lower by {gain:.3f} [{low:.3f}, {high:.3f}]"


def _words(forecast: GainForecast | None) -> str:
    return "none" if forecast is None else forecast.words


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_LETTERS else f"{line[:_MOST_LETTERS]}..."
