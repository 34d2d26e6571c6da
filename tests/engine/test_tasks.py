"""Task names: equal for equal work, different for any other."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopsided.core.errors import LopsidedError
from lopsided.engine.task import canonical, task_key
from lopsided.papers.claim import Runs
from lopsided.papers.register import load_claim
from lopsided.papers.reproduce import expand
from tests.engine.conftest import TOYS

HOME = str(TOYS / "toy_sum.py")
PLAIN = st.one_of(
    st.integers(-99, 99), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5), st.booleans()
)


@given(st.dictionaries(st.text(max_size=5), PLAIN, max_size=5))
def test_the_order_of_settings_does_not_matter(settings: dict[str, object]) -> None:
    assert canonical(settings) == canonical(dict(reversed(settings.items())))


def test_every_part_counts() -> None:
    keys = {
        task_key("lp-etf", 1, "code", '{"a":1}', 0),
        task_key("lp-etf2", 1, "code", '{"a":1}', 0),
        task_key("lp-etf", 2, "code", '{"a":1}', 0),
        task_key("lp-etf", 1, "other", '{"a":1}', 0),
        task_key("lp-etf", 1, "code", '{"a":2}', 0),
        task_key("lp-etf", 1, "code", '{"a":1}', 1),
    }
    assert len(keys) == 6


def test_settings_become_plain_values_and_duplicates_vanish() -> None:
    plan = Runs([{"x": np.int64(3), "pair": (1, 2)}, {"pair": [1, 2], "x": 3}], seeds=[0, 1])
    tasks = expand(replace(load_claim(HOME), quick=plan), HOME, "quick")
    assert [(task.settings, task.seed) for task in tasks] == [({"x": 3, "pair": [1, 2]}, seed) for seed in (0, 1)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.array([1.0, np.nan]), object()])
def test_settings_that_json_cannot_hold_are_refused(value: object) -> None:
    claim = replace(load_claim(HOME), quick=Runs([{"x": value}]))
    with pytest.raises(LopsidedError, match="JSON can hold"):
        expand(claim, HOME, "quick")
