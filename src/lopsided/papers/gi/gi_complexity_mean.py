"""gi-complexity-mean: the number of samples needed grows with a group's mean (Fig 3a).

Means m 1 and -1, unit covariances, d = 5, K = 3.
"""

from lopsided.papers.claim import Runs
from lopsided.papers.gi.mixture_complexity import complexity_claim

CLAIM = complexity_claim(
    id="gi-complexity-mean",
    rule="holds if both the samples for a given |W - W*| and the steps to the authors' spread rise with the mean (95 "
    "% interval of the paired difference of the ends, rank correlation above 0.5); partly if one does; "
    "contradicted if none rises and one falls",
    x="mean",
    x_label="first group's mean, in every coordinate",
    title="Sample complexity against a group's mean",
    groups=lambda mean: ((mean, -1.0), (1.0, 1.0)),
    wanted="rises",
    quick=Runs([{"mean": m, "n": 8000} for m in (0.0, 1.0, 2.0, 3.5, 5.0)], tuple(range(16))),
    paper=Runs([{"mean": m, "n": 10_000} for m in (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5)], tuple(range(60))),
)
