"""Metrics of plans and trials: `METRICS` by the word that a user gives.

To add one, write a file with an object that implements `contract.Metric`, and add its word here;
tests/measure/test_metrics.py then tests it with all others. Metrics of a class, with costs or with a bound are made by
`named.metric_named`.
"""

from lopsided.measure.metrics.confusion import MATTHEWS
from lopsided.measure.metrics.contract import Metric
from lopsided.measure.metrics.losses import BRIER, LOG_LOSS
from lopsided.measure.metrics.shares import BALANCED, OVERALL, WORST_CLASS, WORST_GROUP

METRICS: dict[str, Metric] = {
    "overall": OVERALL,
    "balanced": BALANCED,
    "worst-class": WORST_CLASS,
    "worst-group": WORST_GROUP,
    "mcc": MATTHEWS,
    "brier": BRIER,
    "log-loss": LOG_LOSS,
}
