"""What a trial found: arms with metrics, gains and forecasts; as JSON, facts and figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lopsided.checkup.decision.recommendation import MeasuredGains, Recommendation
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.precision_collapse import precision_collapse
from lopsided.core.errors import InputError
from lopsided.core.figure import Figure
from lopsided.core.jsonable import jsonable
from lopsided.data.columns import Columns
from lopsided.data.frames import frame_of
from lopsided.data.labelled_set import LabelledSet
from lopsided.measure.metrics.contract import Metric
from lopsided.measure.metrics.named import Asked
from lopsided.measure.metrics.shares import BALANCED, WORST_GROUP
from lopsided.measure.paired_scores import AT_ONCE, LEVEL, Estimate
from lopsided.remedies.contract import GainForecast, Remedy

Outcome = Literal["right", "wrong", "undecided"]
Helps = Literal["yes", "no", "unclear"]
_HELD = {"right": "yes", "wrong": "no", "undecided": "unclear", None: "–"}  # did the forecast hold?
_OTHERS = ("precision of ", "macro precision", "average precision of ", "macro average precision", "Brier score")
VAGUE = 0.1  # a forecast whose interval is wider says too little to be right by holding the outcome


@dataclass(frozen=True)
class Measured:
    """A metric of an arm, and its paired difference to what the arm is compared with."""

    estimate: Estimate
    gain: Estimate | None

    def to_dict(self) -> dict[str, float | None]:
        """Plain values."""
        facts: dict[str, float | None] = {
            "value": self.estimate.value,
            "low": self.estimate.low,
            "high": self.estimate.high,
        }
        names = ("value", "low", "high", "p")
        return facts | {
            f"gain{'' if name == 'value' else '_' + name}": None if self.gain is None else getattr(self.gain, name)
            for name in names
        }


@dataclass(frozen=True)
class Arm:
    """One way to train. `read_in` is the metric its gain is read in: the trial's, for collection the subject's own.
    `widened` is the gain's interval in the trial's metric for all arms at once; `against` says
    what gains compare with; `skipped` why it was not run."""

    remedy: Remedy
    metrics: Mapping[str, Measured]
    read_in: str
    forecast: GainForecast | None
    why: str
    outcome: Outcome | None = None
    widened: tuple[float, float] | None = None
    skipped: str | None = None
    against: str = ""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.remedy.name

    @property
    def kind(self) -> str:
        """The word under which it is written to files."""
        return self.remedy.kind

    @property
    def simulated(self) -> bool:
        """Whether it stands for examples that are not there yet: its model is plain training, only its gain its own."""
        return self.remedy.collects is not None

    @property
    def helps(self) -> Helps | None:
        """Whether the gain's interval lies above zero (no: below): in the trial's metric for all arms at once, for
        collection in its subject's own metric. None for plain training and for what was not run."""
        bounds = self.widened
        if self.simulated and self.skipped is None and (gain := self.metrics[self.read_in].gain) is not None:
            bounds = gain.low, gain.high
        if bounds is None:
            return None
        return "yes" if bounds[0] > 0 else "no" if bounds[1] < 0 else "unclear"

    @property
    def held(self) -> str:
        """Whether the forecast held, in a word."""
        return _HELD[self.outcome]

    def words(self, metric: str) -> str:
        """Its value in the trial's metric; of collection, whose model is plain training, what the simulation gained."""
        if self.skipped is not None:
            return self.skipped
        gain = self.metrics[self.read_in].gain
        if not self.simulated or gain is None:
            return f"{metric} {self.metrics[metric].estimate.value:.3f}"
        after = self.metrics[self.read_in].estimate.value
        return (
            f"simulated, {self.read_in} from {after - gain.value:.3f} to {after:.3f}, a gain of {gain.value:+.3f} "
            f"[{gain.low:+.3f}, {gain.high:+.3f}] against {self.against}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that scripts rely on."""
        return {
            "name": self.name,
            "kind": self.kind,
            "metrics": {name: measured.to_dict() for name, measured in self.metrics.items()},
            "read_in": self.read_in,
            "forecast": jsonable(self.forecast),
            "outcome": self.outcome,
            "helps": self.helps,
            "why": self.why,
            "simultaneous_interval": None if self.widened is None else list(self.widened),
            "against": self.against or None,
            "skipped": self.skipped,
        }


@dataclass(frozen=True)
class Trial:
    """Arms side by side; `winner` is None unless an interval says so."""

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
            raise InputError("a trial that kept its answers", "one without them", "run lopsided.trial again")
        return self.judged(metric, costs)

    def __getitem__(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def recommended(self) -> Arm:
        """The arm to train: the recommended one; without a recommendation the winner, else plain training."""
        return self[self.recommendation.arm if self.recommendation else self.winner or self.arms[0].name]

    @property
    def columns(self) -> Columns:
        """Which columns of the data were used, and why not the others."""
        return Columns() if self.training is None else self.training.columns

    def headline(self, *, brief: bool = False) -> str:
        """The sentence that a report opens with: what to use; `brief` leaves out the rivals."""
        if self.recommendation is None:
            return self.sentence()
        return self.recommendation.sentence(precision_collapse(self.recommended, self.arms[0]), brief=brief)

    def code(self) -> str:
        """Five lines of Python that train the recommended arm."""
        from lopsided.checkup.trial.code import training_code

        return training_code(self)

    def __str__(self) -> str:
        lines = [self.columns.sentence(), self.headline(), f"{self.sentence()[:-1]}; {self.judged_by()}."]
        return "\n".join([*lines, *(f"{arm.name}: {arm.words(self.metric)}" for arm in self.arms)])

    def judged_by(self) -> str:
        """The metric, and for the worst group which groups."""
        groups = f" (groups of {self.groups})" if self.metric == WORST_GROUP.name else ""
        return f"judged by {self.metric}{groups}"

    def sentence(self) -> str:
        """Who won, in plain words."""
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
        return {
            "source": self.source,
            "columns": self.columns.to_dict(),
            "learner": self.learner,
            "metric": self.metric,
            "metric_word": self.measured_in.word,
            "larger_is_better": self.measured_in.larger_is_better,
            "folds": self.folds,
            "repeats": self.repeats,
            "seed": self.seed,
            "rows": self.rows,
            "groups": self.groups,
            "arms": [arm.to_dict() for arm in self.arms],
            "recommendation": None if self.recommendation is None else self.recommendation.to_dict(),
            "winner": self.winner,
            "tied_with": list(self.tied_with),
            "notes": list(self.notes),
            "level": LEVEL,
            "simultaneous_level": AT_ONCE,
            "reused": self.reused,
            "fit_seconds": self.fit_seconds,
            "seconds": self.seconds,
        }

    def facts(self) -> list[tuple[str, str]]:
        """What a report shows above the table."""
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
        """Gains beside forecasts, and the metrics of every arm."""
        from lopsided.checkup.trial.figures import gains_figure, metrics_figure

        return [gains_figure(self), metrics_figure(self)]


def gain_words(gain: float, low: float, high: float, metric: Metric) -> str:
    """A gain with its interval, as a fall where smaller is better."""
    if metric.larger_is_better:
        return f"{metric.name} {gain:+.3f} [{low:+.3f}, {high:+.3f}]"
    return f"{metric.name} lower by {gain:.3f} [{low:.3f}, {high:.3f}]"


def _words(forecast: GainForecast | None) -> str:
    return "none" if forecast is None else f"{forecast.gain:+.3f} [{forecast.low:+.3f}, {forecast.high:+.3f}]"


def forecast_outcome(forecast: GainForecast, outcome: Estimate) -> Outcome:
    """Wrong where the two intervals do not meet. Right where they meet and both lie on the same side of zero, or where
    the outcome's interval lies inside a forecast's that is no wider than `VAGUE`. Undecided otherwise."""
    if outcome.low > forecast.high or outcome.high < forecast.low:
        return "wrong"
    same_side = (outcome.low > 0 and forecast.low > 0) or (outcome.high < 0 and forecast.high < 0)
    inside = forecast.low <= outcome.low and outcome.high <= forecast.high
    if same_side or (inside and forecast.high - forecast.low <= VAGUE):
        return "right"
    return "undecided"
