"""gi-fraction-small: a larger minority fraction helps when its covariance is the smaller (Fig 7a).

Zero means, covariances 10 I and I.
"""

from lopsided.papers.claim import Source
from lopsided.papers.gi.mixture_lab import two_groups
from lopsided.papers.gi.mixture_risk import risk_claim

CLAIM = risk_claim(
    id="gi-fraction-small",
    statement="A larger minority fraction lowers average and minority risk when its covariance is the smaller.",
    source=Source("li2024groupimbalance", "Fig 7a, Corollary 1 (iv)"),
    x="fraction",
    x_label="minority fraction",
    title="Risk against the minority fraction, smaller covariance",
    mixture=lambda fraction: two_groups(5, (1 - fraction, fraction), (0.0, 0.0), (10.0, 1.0)),
    wanted="falls",
    quick=(0.02, 0.1, 0.2, 0.35, 0.5),
    paper=(0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5),
    paper_says="both test losses fall as the fraction grows from 0 to 0.5",
)
