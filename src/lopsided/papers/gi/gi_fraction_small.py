"""gi-fraction-small: a larger minority fraction helps if the minority has the smaller covariance (Fig 7a).

Zero means, covariances 10 I and I.
"""

from lopsided.papers.gi.mixture_risk import risk_claim
from lopsided.worlds.mixture_lab import two_groups

CLAIM = risk_claim(
    id="gi-fraction-small",
    x="fraction",
    x_label="minority fraction",
    title="Risk against the minority fraction, smaller covariance",
    mixture=lambda fraction: two_groups(5, (1 - fraction, fraction), (0.0, 0.0), (10.0, 1.0)),
    wanted="falls",
    quick=(0.02, 0.1, 0.2, 0.35, 0.5),
    paper=(0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5),
)
