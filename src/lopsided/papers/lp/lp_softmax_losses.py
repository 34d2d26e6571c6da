"""Softmax-based losses give the simplex frame too, if the energies are large enough (Theorem 4, eq 14).

    L(z, k) = g1(S_k) + sum_{k' != k} g2(S_k'),   S = softmax(z)

Pairs: g1(x) = (1-x)^q, g2(x) = x^q with q > 1; "mixed", (1-x)^2 and x^3; "exponential", e^(1-x) - 1 and e^x - 1.

The theorem requires sqrt(E_H E_W) > (K-1)/K log(K^2 sqrt(E_H E_W) + (2K-1)(K-1)). Settings above and below that bound
are run; the verdict uses those above, and the others are only shown. With strictly convex g2 the frame must be the only
minimiser.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Mark, Panel, Points
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.papers.lp.peeled import ColumnLoss, descend, frame_error, problem
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import chosen, column

TOLERANCE = 1e-4  # flat to second order: a logarithm exact to 1e-15 leaves angles uncertain by 3e-8 times the condition
LOSS_TOLERANCE = 1e-9  # of the logarithm of the loss; rounding with margin


Pair = tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]


def _powers(q: float) -> Pair:
    return lambda x: x**q, lambda x: q * x ** (q - 1)


# g1 as a function of 1 - x, and g2, each with its derivative
PAIRS: dict[str, tuple[Pair, Pair]] = {
    "mixed": (_powers(2.0), _powers(3.0)),
    "exponential": ((np.expm1, np.exp), (np.expm1, np.exp)),
}


def softmax_loss(power: float | str) -> ColumnLoss:
    """The loss (14) of a pair (a name, or the q of a power); 1-x is summed from the other classes to keep its "
    "digits."""
    (of_missed, missed_slope), (of_other, other_slope) = (
        PAIRS[power] if isinstance(power, str) else (_powers(power), _powers(power))
    )

    def loss(logits: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        columns = np.arange(len(labels))
        mass = np.exp(logits - logits.max(axis=0))
        mass /= mass.sum(axis=0)
        others = mass.copy()
        others[labels, columns] = 0.0
        missed = others.sum(axis=0)
        losses = of_missed(missed) + np.sum(of_other(others), axis=0)
        by_mass = other_slope(others)
        by_mass[labels, columns] = -missed_slope(missed)
        gradient = mass * (by_mass - np.sum(mass * by_mass, axis=0))
        return losses, gradient

    return loss


def bound(classes: int, root_energy: float) -> float:
    """The right-hand side of the theorem's condition."""
    return (classes - 1) / classes * float(np.log(classes**2 * root_energy + (2 * classes - 1) * (classes - 1)))


def measure(settings: Settings, seed: int) -> Numbers:
    """The lowest of several starts, compared with the frame's loss."""
    classes, power, root = settings["classes"], settings["power"], settings["root_energy"]
    instance = problem([1.0] * classes, weight_energy=root, feature_energy=root, dimension=classes)
    loss = softmax_loss(power)
    fits = descend(instance, generator(seed, "start"), starts=settings["starts"], loss=loss)
    frame = np.sqrt(classes / (classes - 1)) * (np.eye(classes) - 1.0 / classes)
    losses, _ = loss(root * frame @ frame, instance.labels)
    at_frame = float(losses.mean())
    return {
        "condition_slack": root - bound(classes, root),
        "frame_error": max(frame_error(fits[0].classifiers), frame_error(fits[0].features.T)),
        "log_loss_excess": float(np.log(fits[0].loss / at_frame)),
        "starts_at_this_loss": sum(bool(np.log(fit.loss / fits[0].loss) < 1e-6) for fit in fits),
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """Above the bound every run ends at the frame."""
    inside = [row.numbers for row in rows if row.numbers["condition_slack"] > 0]
    outside = [row.numbers for row in rows if row.numbers["condition_slack"] <= 0]
    frames = sum(abs(numbers["frame_error"]) <= TOLERANCE for numbers in inside)
    elsewhere = sum(abs(numbers["frame_error"]) > TOLERANCE for numbers in outside)
    lowest = min((numbers["log_loss_excess"] for numbers in inside), default=0.0)
    numbers = {
        "runs_above_the_bound": len(inside),
        "frames_above_the_bound": frames,
        "lowest_log_loss_excess": lowest,
        "runs_below_the_bound": len(outside),
        "below_the_bound_and_not_a_frame": elsewhere,
    }
    below = f"Below the bound {elsewhere} of {len(outside)} runs found something better than the frame."
    if lowest < -LOSS_TOLERANCE:
        return Verdict(Outcome.CONTRADICTED, f"Descent went below the frame's loss by {-lowest:.2g} in log.", numbers)
    found = f"Above the bound {frames} of {len(inside)} runs ended at the frame, none below its loss. {below}"
    return Verdict(Outcome.HOLDS if inside and frames == len(inside) else Outcome.FAILS, found, numbers)


def elsewhere(rows: Sequence[Row]) -> list[Row]:
    """Minimisers as far from the frame as below the bound."""
    return [replace(row, numbers={**row.numbers, "frame_error": 0.5}) for row in rows]


def plot(rows: Sequence[Row]) -> Figure:
    """Deviation from the frame against the slack of the theorem's condition."""
    series = [
        Points(
            column(own, "condition_slack"),
            column(own, "frame_error", least=1e-17),
            power if isinstance(power, str) else f"q = {power:g}",
        )
        for power in sorted({row.settings["power"] for row in rows}, key=str)
        for own in [chosen(rows, power=power)]
    ]
    marks = [Mark(0.0, "the theorem's bound"), Mark(TOLERANCE, "the rule's tolerance", "y")]
    panel = Panel("Distance from the frame", "slack of the condition", "largest deviation", series, marks, y_log=True)
    return Figure("Softmax-based losses end at the frame when energies are large", [panel])


def _settings(classes: Sequence[int], roots: Sequence[float], starts: int) -> list[dict[str, Any]]:
    return varied({"starts": starts}, classes=classes, power=(1.5, 2.0, 3.0, *PAIRS), root_energy=roots)


CLAIM = Claim(
    id="lp-softmax-losses",
    rule=f"For every setting above the bound the lowest of the random starts is a simplex frame within {TOLERANCE:g}; "
    f"contradicted if any ends more than {LOSS_TOLERANCE:g} (in log) below the frame's loss. Settings below the bound "
    f"are shown and do not count.",
    revised="pairs (g1, g2) other than powers of one exponent were added.",
    alternatives={"another minimiser above the bound": elsewhere},
    quick=Runs(_settings((3, 5), (0.3, 5.0, 7.0), starts=6), seeds=range(2)),
    paper=Runs(_settings((3, 5, 10), (0.3, 1.0, 6.0, 8.0, 12.0), starts=12), seeds=range(3)),
    measure=measure,
    judge=judge,
    plot=plot,
    quick_budget_seconds=10.0,
)
