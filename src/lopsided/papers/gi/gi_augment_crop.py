"""gi-augment-crop: with cropped copies of minority pictures, does accuracy rise, then fall with the crop (Fig 7, 8b)?

The level is the share of each side that is cut off; at 0, the copies are unchanged. (The paper plots the side w that is
kept, and says that accuracy first rises and then falls with it: a hill either way.)
"""

from collections.abc import Mapping
from typing import Any

from lopsided.papers.claim import Claim, Runs
from lopsided.papers.gi.group_claims import augmentation_judge, augmentation_plans, augmentation_plot
from lopsided.papers.gi.group_pictures import NEEDED, TINY_DIGITS, picture_numbers
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_settings import POWER_ADDED, varied

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75)
MANY_LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75)


def measure(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Accuracies with crops that leave 1 - cut of each side."""
    return picture_numbers({**settings, "crop": 1.0 - settings["cut"]}, seed)


CLAIM = Claim(
    id="gi-augment-crop",
    rule="In every world, for the minority group and for the unweighted average over both groups: some inner crop "
    "beats both no crop and the strongest, with paired 95 % intervals that hold for all inner levels at once; "
    "contradicted if everywhere an inner level lies below both ends by the same rule.",
    **augmentation_plans(cut=(LEVELS, MANY_LEVELS)),
    smoke=Runs(varied({**TINY_DIGITS, "copies": 10}, cut=(0.0, 0.25, 0.75)), seeds=range(2)),
    measure=measure,
    judge=lambda rows: augmentation_judge(rows, "cut", "crop"),
    plot=lambda rows: augmentation_plot(rows, "cut", "share of each side cut away"),
    readings={"resized": "a square at a random place, resized to the old size; the copies are added to the originals"},
    revised=f"{POWER_ADDED} Then eight seeds replaced five, as for noise.",
    quick_budget_seconds=60.0,
    **NEEDED,
    alternatives={"no dependence on the crop": constant("cut")},
)
