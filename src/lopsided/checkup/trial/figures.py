"""Figures of a trial: gains next to their forecasts, and the metrics of every arm."""

from typing import TYPE_CHECKING

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
    measured = Points(
        [float(place) for place in range(len(shown))],
        [gain.value if gain else None for gain in gains],
        "measured",
        [gain.low if gain else None for gain in gains],
        [gain.high if gain else None for gain in gains],
        names,
    )
    told = [
        (place, arm.forecast, name) for place, (arm, name) in enumerate(zip(shown, names, strict=True)) if arm.forecast
    ]
    forecast = Points(
        [place + _APART for place, _, _ in told],
        [entry.gain for _, entry, _ in told],
        "forecast",
        [entry.low for _, entry, _ in told],
        [entry.high for _, entry, _ in told],
        [name for _, _, name in told],
    )
    return Panel(
        f"Gain in {trial.metric}",
        "",
        "gain over plain training",
        [measured, forecast],
        [Mark(0.0, "no gain", "y")],
        x_names=names,
    )


def metrics_figure(trial: "Trial") -> Figure:
    """The main metrics of every arm with their intervals."""
    shown = [arm for arm in trial.arms if not arm.simulated and arm.skipped is None]
    names = [arm.name for arm in shown]
    series = []
    for place, metric in enumerate(trial.main_metrics()):
        found = [arm.metrics[metric].estimate for arm in shown]
        series.append(
            Points(
                [arm + _APART * (place - 1) for arm in range(len(shown))],
                [entry.value for entry in found],
                metric,
                [entry.low for entry in found],
                [entry.high for entry in found],
                names,
            )
        )
    panel = Panel("Accuracies", "", "share of examples", series, x_names=names, y_range=(-0.02, 1.02))
    return Figure(
        "Arms side by side", [panel], f"{trial.learner}, {trial.folds} folds, {times(trial.repeats)}, 95% intervals."
    )
