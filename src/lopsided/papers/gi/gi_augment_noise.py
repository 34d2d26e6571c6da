"""gi-augment-noise: with noisy copies of minority pictures, does accuracy rise and then fall with the noise (Fig 1)?

The first level has copies without noise, so that the noise is tested and not the copying. The forecast next to it is
the large-n law of the mixture papers on the leading components of the sample (`group_forecast`).
"""

from lopsided.papers.claim import Claim, Runs
from lopsided.papers.gi.group_claims import (
    MANY_NOISES,
    NOISES,
    augmentation_judge,
    augmentation_plans,
    augmentation_plot,
)
from lopsided.papers.gi.group_forecast import noise_numbers
from lopsided.papers.gi.group_pictures import NEEDED, TINY_DIGITS
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_settings import POWER_ADDED, varied

CLAIM = Claim(
    id="gi-augment-noise",
    rule="In every world, for the minority group and for the unweighted average over both groups: some inner noise "
    "level beats both no noise and the largest noise, with paired 95 % intervals that hold for all inner levels at "
    "once; contradicted if everywhere an inner level lies below both ends by the same rule.",
    **augmentation_plans(noise=(NOISES, MANY_NOISES)),
    smoke=Runs(varied({**TINY_DIGITS, "copies": 10}, noise=(0.0, 0.2, 0.8)), seeds=range(2)),
    alternatives={"no dependence on the noise": constant("noise")},
    measure=noise_numbers,
    judge=lambda rows: augmentation_judge(rows, "noise", "noise level"),
    plot=lambda rows: augmentation_plot(rows, "noise", "standard deviation of the noise (white = 1)"),
    readings={
        "pixels": "noise in units where black is 0 and white is 1, not clipped; the copies are added to the originals"
    },
    revised="the step of LeNet-5 was lowered from 0.05 to 0.01 (and its batch halved, its steps doubled) after a first "
    "run in which some networks died at large noise and predicted the same class for every picture; later "
    f"{POWER_ADDED} Then eight seeds replaced five, with which the verdict changed between seed sets.",
    quick_budget_seconds=60.0,
    **NEEDED,
)
