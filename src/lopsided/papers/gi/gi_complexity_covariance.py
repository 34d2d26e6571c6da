"""gi-complexity-covariance: the number of samples needed is U-shaped in a group's covariance (Fig 3b).

Means 1 and -1, covariances sigma^2 I and I, d = 5, K = 3.
"""

from lopsided.papers.claim import Runs
from lopsided.papers.gi.mixture_complexity import RULE, complexity_claim

CLAIM = complexity_claim(
    id="gi-complexity-covariance",
    rule=RULE.format(shape="fall, then rise", sides="each side is a part of its own"),
    x="sigma",
    x_label="sigma of the first group",
    title="Sample complexity against a group's covariance",
    groups=lambda sigma: ((1.0, -1.0), (sigma**2, 1.0)),
    wanted="valley",
    quick=Runs([{"sigma": s, "n": 8000} for s in (0.1, 0.3, 1.0, 3.0, 10.0)], tuple(range(128))),
    smoke=Runs([{"sigma": s, "n": 8000} for s in (0.1, 0.3, 1.0, 3.0, 10.0)], tuple(range(12))),
    paper=Runs(
        [{"sigma": float(10.0**e), "n": 20_000} for e in (-1.4, -1, -0.6, -0.3, 0, 0.3, 0.6, 1, 1.4)],
        tuple(range(60)),
    ),
    log="x",
    revised="there were 64 seeds at first, with which one of two seed sets could not decide whether the samples rise "
    "again; now there are 128.",
)
