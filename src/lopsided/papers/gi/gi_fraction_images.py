"""gi-fraction-images: at a fixed total, does it depend on the group whether a larger share of the minority helps or
hurts?

The papers find opposite trends when one or the other group is the minority (Fig 8; Li et al. 2022, Fig 9). Three
accuracies are measured, because their trends differ: that of the minority, the unweighted average over both groups (the
papers' test sets have equally many of both), and the natural mix, whose trend is mostly that of its weights.
"""

from collections.abc import Sequence

from lopsided.core.figure import Figure
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Runs
from lopsided.papers.gi import group_pictures as pictures
from lopsided.papers.gi.group_claims import SHARES, both_ways, fraction_judge, fraction_panels
from lopsided.papers.gi.group_forecast import fraction_numbers
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_settings import POWER_ADDED


def plot(rows: Sequence[Row]) -> Figure:
    """One pair of panels per world."""
    return Figure(
        "The minority's share of a fixed total",
        fraction_panels(rows),
        "Bands: 95 % intervals over paired seeds. Forecast: a mixture of two Gaussians on three components.",
    )


CLAIM = Claim(
    id="gi-fraction-images",
    rule="In every pair of worlds, from the smallest to the largest share, the change of the minority's accuracy and "
    "that of the unweighted average over both groups have opposite signs in the two worlds, with paired 95 % intervals "
    "that exclude 0; contradicted if everywhere both rise or both fall beyond their intervals. The natural mix is "
    "reported as well but does not count.",
    quick=Runs(
        [
            *both_ways(pictures.QUICK_PLANES, 800, (0.02, 0.1, 0.5)),
            *both_ways(pictures.QUICK_DIGITS, 800, (0.02, 0.1, 0.3, 0.5)),
        ],
        seeds=range(4),
    ),
    paper=Runs(
        pictures.AlsoFaces(
            [*both_ways(pictures.PAPER_PLANES, 4000, SHARES), *both_ways(pictures.PAPER_GARMENTS, 5000, SHARES)],
            both_ways(pictures.FACES, 5000, SHARES),
        ),
        seeds=range(10),
    ),
    smoke=Runs(both_ways(pictures.TINY_DIGITS, 80, (0.1, 0.5)), seeds=range(2)),
    measure=fraction_numbers,
    judge=fraction_judge,
    plot=plot,
    readings={"papers": "5000 pictures in all (4000 on CIFAR-10, where half of the files are read), equal test sets"},
    revised=POWER_ADDED,
    quick_budget_seconds=60.0,
    **pictures.NEEDED,
    alternatives={"no dependence on the share": constant("share")},
)
