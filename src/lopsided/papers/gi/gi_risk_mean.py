"""gi-risk-mean: average and minority risk rise with the minority's mean (Fig 6b).

lambda = (0.8, 0.2), means 2 and m, unit covariances; the text writes m = mu - 2.
"""

from dataclasses import replace

from lopsided.papers.claim import Runs
from lopsided.papers.gi.mixture_risk import risk_claim
from lopsided.worlds.mixture_lab import two_groups

_OVER_MEANS = risk_claim(
    id="gi-risk-mean",
    x="mean",
    x_label="minority's mean, in every coordinate",
    title="Risk against the minority's mean",
    mixture=lambda mean: two_groups(5, (0.8, 0.2), (2.0, mean), (1.0, 1.0)),
    wanted="rises",
    quick=(0.0, 0.5, 1.0, 2.0, 4.0),
    paper=(-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0),
    revised="the swept range was changed; it fails either way. Then 48 seeds took the place of 12, with which one seed "
    "set resolved the trend and the next did not.",
)
CLAIM = replace(_OVER_MEANS, quick=Runs(_OVER_MEANS.quick.settings, tuple(range(48))), quick_budget_seconds=60)
