"""Fig 1: on structured data SGD learns close to its start, with few changed patterns and a low-rank update."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lopsided.core.figure import Figure
from lopsided.engine.task import Row, Settings
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.sd.structured_figures import four_panels
from lopsided.papers.sd.structured_runs import READINGS, final_means, run_claim
from lopsided.papers.shared.network_settings import varied
from lopsided.papers.shared.summary import by_world, chosen, difference, final, grouped
from lopsided.worlds.wide_runs import PAIRS

NEAR_ONE, SMALL = 0.98, 0.1  # "converges to 100%", "less than 0.1"
USUAL = "unit, A3"  # the reading that decides; the others are run at one width
GAP = 10.0  # "much larger than the rest": a factor of ten between singular values k l and k l + 1
FLAT = 1.2  # "do not have such structure": at most this factor at the same place in the spectrum of the weights


def judge(rows: Sequence[Row]) -> Verdict:
    """Every part at the largest width, plus the trend from the smallest to the largest."""
    groups = grouped(chosen(rows, reading=USUAL), "width")
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
    for reading, own in by_world(rows, lambda row: str(row.settings["reading"])).items():
        if reading != USUAL:
            means = final_means(own)
            numbers[f"reading {reading}"] = means
            found += (
                f"; reading {reading!r} at m = {own[0].settings['width']:,}: accuracy {means['accuracy'].mean:.3g}, "
                f"pattern change {means['pattern_change'].mean:.3g}, distance {means['distance'].mean:.3g}"
            )
    return weigh(parts, found, numbers)


def full_rank(rows: Sequence[Row]) -> list[Row]:
    """Updates without a gap: singular values that fall like those of the weights."""
    return [
        replace(row, numbers={**row.numbers, "update_values": row.numbers["weight_values"]})
        for row in chosen(rows, reading=USUAL)
    ]


def plot(rows: Sequence[Row]) -> Figure:
    """The four panels of Fig 1."""
    caption = "Bands: one standard deviation over seeds. Dotted: k·l, the number of components."
    title = "Wide ReLU network on structured data"
    return four_panels(title, grouped(chosen(rows, reading=USUAL), "width"), "m = {:,}", caption, components=PAIRS)


def _others(base: Settings, width: int) -> list[Settings]:
    return [*varied(base, reading=[name for name in READINGS if name != USUAL], width=(width,))]


_QUICK = {"dimension": 500, "train": 500, "test": 500, "steps": 200, "record": 10}
CLAIM = run_claim(
    id="sd-synthetic",
    rule=f"At the largest width, 95 % intervals over seeds: accuracy above {NEAR_ONE}, pattern change and relative "
    f"distance below {SMALL}; in every seed the largest ratio of neighbouring singular values of the update is at "
    f"position 20 and above {GAP:g}, while that ratio of the weights is below {FLAT}; pattern change and distance fall "
    "from the smallest to the largest width, paired by seed.",
    quick=Runs(
        [*varied({**_QUICK, "reading": USUAL}, width=(500, 1000, 2000)), *_others(_QUICK, 1000)], seeds=range(3)
    ),
    paper=Runs(
        [
            *varied({"record": 10, "reading": USUAL}, width=(1000, 2000, 4000, 8000, 16000)),
            *_others({"record": 10}, 4000),
        ],
        seeds=range(5),
    ),
    readings=READINGS,
    alternatives={"an update of full rank": full_rank},
    judge=judge,
    plot=plot,
)
