"""A real ImageNet classifier is not a simplex frame: smallest, largest and spread of the angles between its rows (Fig
9).

The paper measured VGG19 and ResNet152 as shipped with PyTorch (43 to 103 degrees, deviation 4.1; 37 to 102, 3.6).
Here it is the head of EfficientNet-Lite0, another network, so the claim is about the kind of result, not about those
numbers. A frame of 1000 rows has every angle at arccos(-1/999) = 90.06 degrees. Rows are used unchanged and, as a
second reading, after removing their mean, which does not change the softmax.
"""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Line, Mark, Panel
from lopsided.engine.task import Numbers, Row, Settings
from lopsided.papers.claim import Claim, Runs, Verdict, decided
from lopsided.papers.lp.peeled import pair_cosines
from lopsided.papers.shared.alternatives import renumbered
from lopsided.papers.shared.network_settings import varied

FILE = "classifier-heads/efficientnet_lite0_imagenet1k_fc.npz"
LEAST_SPREAD = 1.0  # degrees; a frame has none, and random directions in 1280 dimensions would have 1.6
LEAST_OPENING = 10.0  # degrees that the closest pair lies below the frame's angle


def measure(settings: Settings, seed: int) -> Numbers:
    """Angles between all pairs of rows."""
    path = Path(os.environ["LOPSIDED_DATA"]) / FILE
    try:
        with np.load(path, allow_pickle=False) as archive:
            rows = archive["W"].astype(np.float64)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"the weights W in {FILE}", f"{type(error).__name__}", "restore the file") from None
    if settings["reading"] == "centred":
        rows = rows - rows.mean(axis=0)
    rows = rows[: settings["classes"]]
    angles = np.degrees(np.arccos(np.clip(pair_cosines(rows), -1.0, 1.0)))
    heights, edges = np.histogram(angles, bins=80)
    lengths = np.linalg.norm(rows, axis=1)
    return {
        "smallest": float(angles.min()),
        "largest": float(angles.max()),
        "deviation": float(angles.std()),
        "mean": float(angles.mean()),
        "frame_angle": float(np.degrees(np.arccos(-1.0 / (len(rows) - 1)))),
        "length_variation": float(lengths.std() / lengths.mean()),
        "histogram": heights,
        "edges": edges,
    }


def judge(rows: Sequence[Row]) -> Verdict:
    """Far from a frame in every reading."""
    far = [
        row.numbers["deviation"] >= LEAST_SPREAD
        and row.numbers["frame_angle"] - row.numbers["smallest"] >= LEAST_OPENING
        and row.numbers["smallest"] > 0
        for row in rows
    ]
    first = rows[0].numbers
    keys = ("smallest", "largest", "deviation", "mean", "frame_angle", "length_variation")
    numbers = {row.settings["reading"]: {key: row.numbers[key] for key in keys} for row in rows}
    found = (
        f"Angles run from {first['smallest']:.0f} to {first['largest']:.0f} degrees with deviation "
        f"{first['deviation']:.1f}, where a frame has {first['frame_angle']:.2f} throughout; lengths vary by "
        f"{100 * first['length_variation']:.0f} %. (Paper, other networks: 43 to 103, 4.1; 37 to 102, 3.6.)"
    )
    return Verdict(decided(far), found, numbers)


def plot(rows: Sequence[Row]) -> Figure:
    """Histogram of angles."""
    series = []
    for row in rows:
        middles = [(low + high) / 2 for low, high in pairwise(row.numbers["edges"])]
        series.append(Line(middles, row.numbers["histogram"], f"rows {row.settings['reading']}"))
    marks = [Mark(rows[0].numbers["frame_angle"], "simplex frame")]
    panel = Panel("Angles between the rows of the head", "angle, degrees", "pairs", series, marks)
    return Figure("An ImageNet head is not a simplex frame", [panel])


_RUNS = Runs(varied({"classes": 1000}, reading=("as they are", "centred")))
CLAIM = Claim(
    id="lp-imagenet-head",
    rule=f"In both readings, the standard deviation of the angles is at least {LEAST_SPREAD:g} degree and the closest "
    f"pair lies at least {LEAST_OPENING:g} degrees below the frame's angle.",
    quick=_RUNS,
    paper=_RUNS,
    measure=measure,
    judge=judge,
    plot=plot,
    readings={
        "as they are": "angles between the stored rows",
        "centred": "angles after removing the mean row, which does not change the softmax",
    },
    needs=("classifier-heads",),
    quick_budget_seconds=10.0,
    alternatives={
        "a frame up to a degree": renumbered(lambda row: {"smallest": row.numbers["frame_angle"] - 1, "deviation": 0.3})
    },
)
