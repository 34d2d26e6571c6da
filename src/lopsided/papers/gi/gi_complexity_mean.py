"""gi-complexity-mean: the number of samples needed grows with a group's mean (Fig 3a).

Means m 1 and -1, unit covariances, d = 5, K = 3.
"""

from lopsided.papers.claim import Runs
from lopsided.papers.gi.mixture_complexity import RULE, complexity_claim

CLAIM = complexity_claim(
    id="gi-complexity-mean",
    rule=RULE.format(shape="rise with the mean", sides="from the smallest mean to the largest"),
    x="mean",
    x_label="first group's mean, in every coordinate",
    title="Sample complexity against a group's mean",
    groups=lambda mean: ((mean, -1.0), (1.0, 1.0)),
    wanted="rises",
    quick=Runs([{"mean": m, "n": 8000} for m in (0.0, 1.0, 2.0, 3.5, 5.0)], tuple(range(64))),
    smoke=Runs([{"mean": m, "n": 8000} for m in (0.0, 1.0, 2.0, 3.5, 5.0)], tuple(range(12))),
    paper=Runs([{"mean": m, "n": 10_000} for m in (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5)], tuple(range(60))),
)
