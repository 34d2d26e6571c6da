"""Fig 1: on structured data SGD learns close to its start, with few changed patterns and a low-rank update."""

from collections.abc import Sequence
from functools import partial

from lopsided.core.figure import Figure
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.sd.structured_figures import four_panels
from lopsided.papers.sd.structured_runs import PAIRS, final_means, run_claim
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import difference, final, grouped

NEAR_ONE, SMALL = 0.98, 0.1  # "converges to 100%", "less than 0.1"
GAP = 10.0  # "much larger than the rest": a factor of ten between singular values k l and k l + 1
FLAT = 1.2  # "do not have such structure": at most this factor at the same place in the spectrum of the weights


def judge(rows: Sequence[Row]) -> Verdict:
    """Every part at the largest width, plus the trend from the smallest to the largest."""
    groups = grouped(rows, "width")
    widest = groups[max(groups)]
    ends = final_means(widest)
    gaps = [row.numbers["update_values"][PAIRS - 1] / row.numbers["update_values"][PAIRS] for row in widest]
    flat = [row.numbers["weight_values"][PAIRS - 1] / row.numbers["weight_values"][PAIRS] for row in widest]
    places = {row.numbers["update_gap_at"] for row in widest}
    fewer, nearer = (difference(groups, partial(final, key=key)) for key in ("pattern_change", "distance"))
    parts = [
        Part.above(f"accuracy above {NEAR_ONE}", ends["accuracy"], NEAR_ONE),
        Part.below("pattern change below 0.1", ends["pattern_change"], SMALL),
        Part.below("relative distance below 0.1", ends["distance"], SMALL),
        Part(
            f"update of rank {PAIRS}, weights without a gap",
            places == {PAIRS} and min(gaps) > GAP and max(flat) < FLAT,
            max(gaps) < FLAT,
        ),
        Part("patterns and distance fall as m grows", max(fewer.high, nearer.high) < 0, min(fewer.low, nearer.low) > 0),
    ]
    found = (
        f"At m = {max(groups):,}: accuracy {ends['accuracy'].text()}, pattern change {ends['pattern_change'].text()}, "
        f"relative distance {ends['distance'].text()}; singular value {PAIRS} of the update is {min(gaps):.3g} times "
        f"the next or more, of the weights {max(flat):.4g} times or less"
    )
    numbers = {
        **ends,
        "smallest_update_gap": min(gaps),
        "largest_weight_gap": max(flat),
        "pattern_change_difference": fewer,
        "distance_difference": nearer,
    }
    return weigh(parts, found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """The four panels of Fig 1."""
    caption = "Bands: one standard deviation over seeds. Dotted: k·l, the number of components."
    title = "Wide ReLU network on structured data"
    return four_panels(title, grouped(rows, "width"), "m = {:,}", caption, components=PAIRS)


_QUICK = {"dimension": 500, "train": 500, "test": 500, "steps": 200, "record": 10}
CLAIM = run_claim(
    id="sd-synthetic",
    rule=f"At the largest width, 95 % intervals over seeds: accuracy above {NEAR_ONE}, pattern change and relative "
    f"distance below {SMALL}; in every seed the largest ratio of neighbouring singular values of the update "
    f"stands at 20 and is above {GAP:g} while the weights' ratio there is below {FLAT}; pattern change and "
    "distance fall from the smallest to the largest width, paired by seed.",
    quick=Runs(varied(_QUICK, width=(500, 1000, 2000)), seeds=range(3)),
    paper=Runs(varied({"record": 10}, width=(1000, 2000, 4000, 8000, 16000)), seeds=range(5)),
    judge=judge,
    plot=plot,
)
