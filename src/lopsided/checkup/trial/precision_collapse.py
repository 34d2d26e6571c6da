"""Whether an arm buys its gain with false alarms: its precision falls to less than half of plain training's, below 0.2.

At a precision p there are (1 - p) / p false alarms for every example found: more than four below 0.2.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lopsided.checkup.trial.result import Arm

LEAST_KEPT = 0.5  # of plain training's precision
LEAST = 0.2


def precision_collapse(arm: "Arm", plain: "Arm") -> str | None:
    """A sentence without its full stop where the precision of the smaller of two classes (of more, the mean) collapses.

    Plain training that finds no example of the class has no precision to keep; the arm's own is then judged alone.
    """
    names = (name for name in plain.metrics if name.startswith("precision of ") or name == "macro precision")
    name = next(names, None)
    if name is None or name not in arm.metrics or arm.simulated:
        return None
    before, after = plain.metrics[name].estimate.value, arm.metrics[name].estimate.value
    if after >= LEAST or (before > 0 and after >= LEAST_KEPT * before):
        return None
    fall = f"{name} falls from {_share(before)} to {_share(after)}" if before > 0 else f"{name} is {_share(after)}"
    if name == "macro precision":
        return fall
    if after == 0:
        return f"{fall}: none is found"
    return f"{fall}: {(1 - after) / after:,.0f} false alarms per {name.removeprefix('precision of ')} found"


def _share(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
