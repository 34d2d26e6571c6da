"""Metrics that a plan or a trial can be asked for: `METRICS` by the word that a person says.

Adding one is a file with an object that keeps `contract.Metric`, and its word here; tests/measure/test_metrics.py then
tests it with all others.
"""

from lopsided.measure.metrics.contract import Metric
from lopsided.measure.metrics.shares import BALANCED, OVERALL, WORST_CLASS, WORST_GROUP

METRICS: dict[str, Metric] = {
    "overall": OVERALL,
    "balanced": BALANCED,
    "worst-class": WORST_CLASS,
    "worst-group": WORST_GROUP,
}
