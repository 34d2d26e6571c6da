"""gi-fraction-large: a larger minority fraction hurts if the minority has the larger covariance (Fig 7b).

Zero means, covariances I and 10 I.
"""

from lopsided.papers.gi.mixture_risk import risk_claim
from lopsided.worlds.mixture_lab import two_groups

CLAIM = risk_claim(
    id="gi-fraction-large",
    x="fraction",
    x_label="minority fraction",
    title="Risk against the minority fraction, larger covariance",
    mixture=lambda fraction: two_groups(5, (1 - fraction, fraction), (0.0, 0.0), (1.0, 10.0)),
    wanted="rises",
    quick=(0.02, 0.08, 0.15, 0.22, 0.3),
    paper=(0.01, 0.04, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3),
)
