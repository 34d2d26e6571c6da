"""Beyond the paper: which classes collapse for arbitrary class sizes (Section 6 leaves it open).

Forecast: with lambda* the multiplier of the convex program, classes of one size n collapse together exactly iff n <=
lambda* N. For equal sizes this follows from the optimality conditions. For classes of different sizes below lambda* N
it is an observation and nearly right: their margins are not positive, except that the largest of them (or the only one)
can keep a positive margin. Each task draws a profile with pairs of equal classes, takes lambda* N from `theory`, and
checks it by descent on the nonconvex program.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Figure, Mark, Panel, Points
from lopsided.core.seeds import generator
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Outcome, Runs, Verdict
from lopsided.papers.lp.peeled import descend, largest_distance, problem
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import chosen
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.solve import solve_free

TOGETHER = 1e-3  # distance of two classifiers over the root mean square length; its square is known to about 1e-8
MARGIN = 1e-3  # what counts as a positive margin; descent knows logits to about 1e-6
CLOSE = 0.02  # sizes within 2 % of the forecast count are not judged: the transition is continuous there


def measure(settings: Settings, seed: int) -> Numbers:
    """Distances within pairs and margins of all classes, with the forecast count."""
    groups, ratio = settings["groups"], settings["largest_ratio"]
    sizes = np.exp(generator(seed, "profile").uniform(0.0, np.log(ratio), size=groups))
    counts = np.repeat(sizes, settings["members"])
    held = {"weight_energy": 1.0, "feature_energy": settings["feature_energy"]}
    solution = solve_free(counts, restraint(len(counts), **held))
    fit = descend(problem(list(counts), **held), generator(seed, "start"))[0]
    logits = fit.logits
    others = logits.copy()
    np.fill_diagonal(others, -np.inf)
    margins = np.diag(logits) - others.max(axis=0)
    return {
        "count_needed": solution.count_needed,
        "sizes": sizes,
        "distances": [largest_distance(own) for own in np.split(fit.classifiers, groups)],
        "margins": margins,
        "counts": counts,
        "loss_difference": fit.loss / solution.objective - 1.0,
    }


def _compare(rows: Sequence[Row], shown: str, size: str, limit: float) -> tuple[int, int, int, int]:
    """Counts over all entries: forecast to collapse, and did or did not; forecast to survive, and did or did not."""
    found = Counter(
        (count <= row.numbers["count_needed"], value > limit)
        for row in rows
        for count, value in zip(row.numbers[size], row.numbers[shown], strict=True)
        if abs(count / row.numbers["count_needed"] - 1) > CLOSE
    )
    return found[True, False], found[True, True], found[False, True], found[False, False]


def _largest_below(rows: Sequence[Row]) -> int:
    """Exceptions among classes of different sizes that are the largest class at or below the forecast count."""
    found = 0
    for row in rows:
        needed, pairs = row.numbers["count_needed"], zip(row.numbers["counts"], row.numbers["margins"], strict=True)
        below = [pair for pair in pairs if pair[0] <= needed * (1 - CLOSE)]
        found += bool(below) and max(below)[1] > MARGIN
    return found


def judge(rows: Sequence[Row]) -> Verdict:
    """Equal sizes must follow the forecast without exception; unequal ones are reported."""
    pairs, singles = chosen(rows, members=2), chosen(rows, members=1)
    collapsed, missed, apart, false = _compare(pairs, "distances", "sizes", TOGETHER)
    gone, kept, positive, lost = _compare(singles, "margins", "counts", MARGIN)
    numbers = {
        "equal_sizes": {"collapsed": collapsed, "not_collapsed": missed, "apart": apart, "wrongly_together": false},
        "unequal_sizes": {"no_margin": gone, "margin_below": kept, "margin": positive, "no_margin_above": lost},
        "exceptions_that_are_the_largest_below": _largest_below(singles),
        "largest_loss_difference": max(abs(row.numbers["loss_difference"]) for row in rows),
    }
    right, wrong = gone + positive, kept + lost
    found = (
        f"Classes of one size: {collapsed} groups forecast to collapse did, {apart} forecast to stay apart did, "
        f"{missed + false} exceptions. Classes of different sizes: {right} of {right + wrong} follow the forecast "
        f"(no positive margin at or below lambda* N, a positive one above); of the {kept} that keep a margin below it, "
        f"{_largest_below(singles)} are the largest class there or alone there."
    )
    if missed + false or not collapsed or not apart:
        return Verdict(Outcome.FAILS, found, numbers)
    return Verdict(Outcome.HOLDS if not wrong else Outcome.PARTLY, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Distance and margin against size over the forecast count."""

    def panel(title: str, y_label: str, own: list[Row], size: str, shown: str, label: str) -> Panel:
        x = [count / row.numbers["count_needed"] for row in own for count in row.numbers[size]]
        points = Points(x, [value for row in own for value in row.numbers[shown]], label)
        return Panel(title, "size / (lambda* N)", y_label, [points], [Mark(1.0, "forecast")], x_log=True)

    pairs, singles = chosen(rows, members=2), chosen(rows, members=1)
    panels = [
        panel("Classes of one size", "distance of their classifiers", pairs, "sizes", "distances", "group"),
        panel("Classes of different sizes", "margin", singles, "counts", "margins", "class"),
    ]
    return Figure("How many examples a class needs", panels, "Left of the line a class is forecast to collapse.")


def _settings(groups: Sequence[int], energies: Sequence[float], ratios: Sequence[float]) -> list[dict[str, Any]]:
    return varied({}, groups=groups, members=(1, 2), feature_energy=energies, largest_ratio=ratios)


CLAIM = Claim(
    id="lp-any-sizes",
    rule=f"By descent on random profiles: no group of equal classes contradicts the forecast (distance {TOGETHER:g}), "
    f"where sizes within {100 * CLOSE:g} % of it are left out; holds if classes of different sizes follow it too "
    f"(margin {MARGIN:g}), partly if some do not, fails if an equal-size group does not.",
    quick=Runs(_settings((4, 8), (2.0, 5.0), (30.0, 300.0)), seeds=range(3)),
    paper=Runs(_settings((5, 10, 20), (1.0, 2.0, 5.0, 10.0), (10.0, 100.0, 1000.0)), seeds=range(5)),
    measure=measure,
    judge=judge,
    plot=plot,
    alternatives={
        "classes below the mean size collapse": renumbered(
            lambda row: {"count_needed": float(np.mean(row.numbers["counts"]))}
        )
    },
)
