"""Fig 7: more components per class slow learning; coupling tightens and the distance shrinks at the same step."""

from collections.abc import Sequence
from functools import partial

from lopsided.core.figure import Figure
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.sd.sd_variance import EARLY, LEVEL, QUICK, steps_to_level
from lopsided.papers.sd.structured_figures import four_panels
from lopsided.papers.sd.structured_runs import run_claim
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import at_step, difference, final, grouped


def judge(rows: Sequence[Row]) -> Verdict:
    """Paired differences between the most and the fewest components, at an early step and at the end."""
    groups = grouped(rows, "components")
    slower = difference(groups, steps_to_level)
    steps = (EARLY, int(rows[0].numbers["steps"][-1]))
    (accuracy, last_accuracy), patterns, distances = (
        [difference(groups, partial(at_step, key=key, step=step)) for step in steps]
        for key in ("accuracy", "pattern_change", "distance")
    )
    parts = [
        Part.below(f"accuracy at step {EARLY} falls", accuracy),
        Part.below("final accuracy falls", last_accuracy),
        Part.above(f"more steps to {LEVEL:.0%}", slower),
        Part("fewer patterns change at every step compared", max(p.high for p in patterns) < 0, patterns[-1].low > 0),
        Part.below("smaller distance at the early step", distances[0]),
        Part.below("smaller distance at the end", distances[-1]),
    ]
    found = (
        f"From l = {min(groups)} to {max(groups)}: accuracy at step {EARLY} changes by {accuracy.text()}, steps to "
        f"{LEVEL:.0%} by {slower.text()}, pattern change at the end by {patterns[-1].text()}, relative distance at "
        f"step {EARLY} by {distances[0].text()} and at the end by {distances[-1].text()}"
    )
    ends = {str(value): seed_mean(final(row.numbers, "distance") for row in group) for value, group in groups.items()}
    numbers = {
        "early_accuracy": accuracy,
        "final_accuracy": last_accuracy,
        "steps": slower,
        "pattern_change": {"early": patterns[0], "end": patterns[-1]},
        "distance": {"early": distances[0], "end": distances[-1]},
        "distance_at_end": ends,
    }
    return weigh(parts, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """The four panels of Fig 7."""
    caption = "Bands: one standard deviation over seeds. Compare the distances early and late."
    return four_panels("Components per class", grouped(rows, "components"), "l = {}", caption, components=None)


CLAIM = run_claim(
    id="sd-components",
    rule=f"Paired by seed, most against fewest components, 95 % intervals: accuracy at step {EARLY} and at the end "
    f"falls; steps to {LEVEL:.0%} rise; pattern change falls at step {EARLY} and at the end; distance falls at "
    f"step {EARLY}, and at the end.",
    quick=Runs(varied(QUICK, components=(1, 3, 7)), seeds=range(4)),
    paper=Runs(varied({"width": 4000}, components=range(1, 8)), seeds=range(5)),
    judge=judge,
    plot=plot,
    alternatives={"no dependence on the components": constant("components")},
)
