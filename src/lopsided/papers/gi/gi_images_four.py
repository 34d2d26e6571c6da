"""gi-images-four: the same two trends with four classes (Fig 9-10): noise on the minority, and its share.

Four classes are made of eight: class mod 4 is the label, and the first and the second four are the groups; on CelebA,
blond hair and pale skin, as in the paper. The large-n law is for binary labels and does not apply here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lopsided.core.figure import Figure
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Runs, Verdict, weigh
from lopsided.papers.gi import group_pictures as pictures
from lopsided.papers.gi.group_claims import (
    HILLS,
    MANY_NOISES,
    NOISES,
    SHARES,
    augmentation_judge,
    augmentation_plot,
    both_ways,
    fraction_panels,
    fraction_parts,
    hill,
)
from lopsided.papers.gi.group_forecast import fraction_numbers
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_settings import POWER_ADDED, varied
from lopsided.papers.shared.summary import chosen

NOISE, SHARE = "noise", "share"


def _plan(base: Mapping[str, Any], copies: int, levels: Sequence[float], total: int, shares: Sequence[float]) -> Any:
    four = {**base, "classes": 4}
    return [
        *varied({**four, "copies": copies, "reading": NOISE}, noise=levels),
        *both_ways({**four, "reading": SHARE}, total, shares),
    ]


def measure(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """One level of noise, or one share."""
    return (
        pictures.picture_numbers(settings, seed) if settings["reading"] == NOISE else fraction_numbers(settings, seed)
    )


def judge(rows: Sequence[Row]) -> Verdict:
    """Both rules of the binary claims."""
    noisy = chosen(rows, reading=NOISE)
    noise = augmentation_judge(noisy, "noise", "noise level")
    parts = []
    for images, minority in sorted({(row.settings["images"], row.settings["minority"]) for row in noisy}):
        for value, label in HILLS.items():
            shape = hill(chosen(noisy, images=images, minority=minority), "noise", value)
            parts.append(shape.part(f"noise, {images}: {label}"))
    share_parts, numbers, words = fraction_parts(chosen(rows, reading=SHARE))
    parts += [replace(part, name=f"share, {part.name}") for part in share_parts]
    found = f"noise: {noise.found.split(' The opposite was')[0].split(' Passes:')[0]} Share: {'; '.join(words)}"
    return weigh(parts, found, {"noise": noise.numbers, "share": numbers})


def plot(rows: Sequence[Row]) -> Figure:
    """Noise first, then shares."""
    panels = augmentation_plot(
        chosen(rows, reading=NOISE), "noise", "standard deviation of the noise (white = 1)"
    ).panels
    return Figure(
        "Four classes: noise on the minority, and its share",
        [*panels, *fraction_panels(chosen(rows, reading=SHARE))],
        "Bands: 95 % intervals over paired seeds.",
    )


CLAIM = Claim(
    id="gi-images-four",
    rule="The rules of gi-augment-noise and gi-fraction-images, each for the minority's accuracy and for the "
    "unweighted average over both groups; holds if all pass, partly if at least half; contradicted if the opposite was "
    "measured everywhere.",
    quick=Runs(_plan(pictures.QUICK_DIGITS, 20, NOISES, 800, (0.02, 0.1, 0.3, 0.5)), seeds=range(5)),
    paper=Runs(
        pictures.AlsoFaces(
            _plan(pictures.PAPER_GARMENTS, 300, MANY_NOISES, 5000, SHARES),
            _plan(pictures.FACES, 300, MANY_NOISES, 5000, SHARES),
        ),
        seeds=range(10),
    ),
    smoke=Runs(_plan(pictures.TINY_DIGITS, 10, (0.0, 0.2, 0.8), 80, (0.1, 0.5)), seeds=range(2)),
    measure=measure,
    judge=judge,
    plot=plot,
    readings={
        NOISE: "noisy copies of minority pictures added to the originals; the first level is without noise",
        SHARE: "a fixed total, equally many test pictures of both groups",
    },
    needs=("mnist",),
    paper_needs=("fashion-mnist",),
    packages=("torch",),
    revised=POWER_ADDED,
    quick_budget_seconds=60.0,
    alternatives={"no dependence on the noise": constant("noise"), "no dependence on the share": constant("share")},
)
