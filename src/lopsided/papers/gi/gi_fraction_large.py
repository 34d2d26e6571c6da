"""gi-fraction-large: a larger minority fraction hurts when its covariance is the larger (Fig 7b).

Zero means, covariances I and 10 I.
"""

from lopsided.papers.claim import Source
from lopsided.papers.gi.mixture_lab import two_groups
from lopsided.papers.gi.mixture_risk import risk_claim

CLAIM = risk_claim(
    id="gi-fraction-large",
    statement="A larger minority fraction raises average and minority risk when its covariance is the larger.",
    source=Source("li2024groupimbalance", "Fig 7b, Corollary 1 (v)"),
    x="fraction",
    x_label="minority fraction",
    title="Risk against the minority fraction, larger covariance",
    mixture=lambda fraction: two_groups(5, (1 - fraction, fraction), (0.0, 0.0), (1.0, 10.0)),
    wanted="rises",
    quick=(0.02, 0.08, 0.15, 0.22, 0.3),
    paper=(0.01, 0.04, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3),
    paper_says="both test losses rise as the fraction grows from 0 to 0.3",
)
