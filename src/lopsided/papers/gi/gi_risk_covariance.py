"""gi-risk-covariance: average and minority risk fall, then rise, with the minority's covariance (Fig 6a).

lambda = (0.8, 0.2), means 2 and -2, covariances I and sigma^2 I.
"""

from lopsided.papers.gi.mixture_risk import risk_claim
from lopsided.worlds.mixture_lab import two_groups

CLAIM = risk_claim(
    id="gi-risk-covariance",
    x="sigma",
    x_label="sigma of the minority",
    title="Risk against the minority's covariance",
    mixture=lambda sigma: two_groups(5, (0.8, 0.2), (2.0, -2.0), (1.0, sigma**2)),
    wanted="valley",
    quick=(0.1, 0.3, 1.0, 3.0, 10.0),
    paper=(0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
    log="x",
)
