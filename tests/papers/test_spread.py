"""Means and deviations against the statistics module, settings told apart from what they share."""

import math
import statistics

from lopsided.engine.task import Row
from lopsided.papers.site import spread_table


def test_spread_over_seeds() -> None:
    values = {0: [1.0, 2.0, 4.0], 1: [3.0, None, 5.0]}
    rows = [
        Row({"x": x, "fixed": "a"}, seed, {"value": values[x][seed], "curve": [1, 2], "fine": True})
        for x in (0, 1)
        for seed in range(3)
    ]
    table = spread_table(rows)
    assert table.columns == ("x",)
    assert table.shared == {"fixed": "a"}
    assert table.names == ("value", "fine")
    first, second = (spreads[0] for _, spreads in table.rows)
    assert first is not None
    assert second is not None
    assert math.isclose(first.mean, 7 / 3)
    assert first.deviation is not None
    assert math.isclose(first.deviation, statistics.stdev([1, 2, 4]))
    assert (second.count, second.lowest, second.highest) == (2, 3, 5)
    assert spread_table(rows[:1]).rows[0][1][0].deviation is None  # type: ignore[union-attr]
    assert spread_table([]).rows == ()
