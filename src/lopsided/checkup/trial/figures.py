"""Figures of a trial: gains next to their forecasts, and the metrics of every arm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lopsided.core.figure import Figure, Mark, Panel, Points

if TYPE_CHECKING:
    from lopsided.checkup.trial.result import Trial


_APART = 0.16  # between points of one arm


def times(repeats: int) -> str:
    """How often, in words."""
    return {1: "once", 2: "twice"}.get(repeats, f"{repeats} times")


def gains_figure(trial: "Trial") -> Figure:
    """The measured gains next to their forecasts."""
    starred = any(arm.read_in != trial.metric for arm in trial.arms if arm.skipped is None)
    own = "* recall of the class, or accuracy of the group. " if starred else ""
    return Figure("Remedies and their forecasts", [gains_panel(trial)], f"{own}Bars are 95% intervals.")


def gains_panel(trial: "Trial") -> Panel:
    """One place per arm: the measured gain in the arm's metric, and the forecast beside it."""
    shown = [arm for arm in trial.arms[1:] if arm.skipped is None]
    gains = [arm.metrics[arm.read_in].gain for arm in shown]
    names = [arm.name if arm.read_in == trial.metric else f"{arm.name} *" for arm in shown]
    measured = _points([float(place) for place in range(len(shown))], gains, "measured", names)
    told = [place for place, arm in enumerate(shown) if arm.forecast is not None]
    forecasts = [shown[place].forecast for place in told]
    forecast = _points([place + _APART for place in told], forecasts, "forecast", [names[at] for at in told], "gain")
    return Panel(
        f"Gain in {trial.metric}",
        "",
        "gain over plain training",
        [measured, forecast],
        [Mark(0.0, "no gain", "y")],
        x_names=names,
    )


def _points(x: list[float], found: Sequence[Any], label: str, names: list[str], value: str = "value") -> Points:
    """Values with their intervals; none of what was not found."""
    values, low, high = ([getattr(one, name, None) for one in found] for name in (value, "low", "high"))
    return Points(x, values, label, low, high, names)


def metrics_figure(trial: "Trial") -> Figure:
    """The main metrics of every arm with their intervals."""
    shown = [arm for arm in trial.arms if not arm.simulated and arm.skipped is None]
    names = [arm.name for arm in shown]
    series = []
    for place, metric in enumerate(trial.main_metrics()):
        found = [arm.metrics[metric].estimate for arm in shown]
        series.append(_points([arm + _APART * (place - 1) for arm in range(len(shown))], found, metric, names))
    panel = Panel("Accuracies", "", "share of examples", series, x_names=names, y_range=(-0.02, 1.02))
    return Figure(
        "Arms side by side", [panel], f"{trial.learner}, {trial.folds} folds, {times(trial.repeats)}, 95% intervals."
    )
