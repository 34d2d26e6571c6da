"""Fig 6: a larger variance within components lowers the accuracy and slows learning; the rest keeps its trends."""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.core.statistics import seed_mean
from lopsided.engine.task import Numbers, Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.sd.structured_figures import four_panels
from lopsided.papers.sd.structured_runs import run_claim
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import at_step, difference, final, grouped
from lopsided.worlds.wide_runs import PAIRS, first_reaching

LEVEL = 0.9
EARLY = 20  # a step at which the easiest data are nearly learned
SMALL = 0.1


def steps_to_level(numbers: Numbers) -> float:
    """Steps to the level; a run that never reaches it counts with its last step, which understates the delay."""
    place = first_reaching(numbers, LEVEL)
    return float(numbers["steps"][-1 if place is None else place])


def judge(rows: Sequence[Row]) -> Verdict:
    """Paired differences between the largest and the smallest spread."""
    groups = grouped(rows, "spread")
    early = difference(groups, lambda numbers: at_step(numbers, "accuracy", EARLY))
    late = difference(groups, lambda numbers: final(numbers, "accuracy"))
    slower = difference(groups, steps_to_level)
    near = {
        value: max(seed_mean(final(row.numbers, key) for row in group).mean for key in ("pattern_change", "distance"))
        for value, group in groups.items()
    }
    low_rank = [value for value, group in groups.items() if all(row.numbers["update_gap_at"] == PAIRS for row in group)]
    parts = [
        Part.below(f"accuracy at step {EARLY} falls", early),
        Part.below("final accuracy falls", late),
        Part.above(f"more steps to {LEVEL:.0%}", slower),
        Part("patterns and distance stay below 0.1", max(near.values()) < SMALL, min(near.values()) > SMALL),
        Part(f"largest spectral gap stays at {PAIRS}", len(low_rank) == len(groups), not low_rank),
    ]
    found = (
        f"From sigma = {min(groups):g} to {max(groups):g}: accuracy at step {EARLY} changes by {early.text()}, at "
        f"the end by {late.text()}, steps to {LEVEL:.0%} by {slower.text()}; the gap stands at {PAIRS} for sigma in "
        f"{', '.join(f'{value:g}' for value in low_rank) or 'none'}"
    )
    numbers = {"early_accuracy": early, "final_accuracy": late, "steps": slower, "gap_stays_at": low_rank}
    return weigh(parts, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """The four panels of Fig 6."""
    caption = "Bands: one standard deviation over seeds."
    return four_panels("Variance within components", grouped(rows, "spread"), "σ = {:g}", caption, components=PAIRS)


QUICK = {"width": 1000, "dimension": 500, "train": 500, "test": 500, "steps": 200}
CLAIM = run_claim(
    id="sd-variance",
    rule=f"Paired by seed, largest against smallest sigma, 95 % intervals: accuracy at step {EARLY} falls; final "
    f"accuracy falls; steps to {LEVEL:.0%} rise. At every sigma: mean pattern change and distance below "
    f"{SMALL}; the largest gap of the update's spectrum at {PAIRS}.",
    quick=Runs(varied(QUICK, spread=(1.0, 4.0, 10.0, 20.0)), seeds=range(3)),
    paper=Runs(varied({"width": 4000, "record": 10}, spread=(1.0, 2.0, 4.0, 7.0, 10.0, 20.0)), seeds=range(5)),
    judge=judge,
    plot=plot,
    alternatives={"no dependence on the variance": constant("spread")},
)
