"""Slow tests begin first, dealt over the processes of pytest-xdist, so that none is left to wait for at the end.

`--dist worksteal` gives each of n processes an equal part of the list of tests, and later moves tests from the end of
the longest queue. Each part here begins with its share of the slow files and goes on with the others in their order.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

# Over ten seconds each, the slowest first: `python -m pytest --durations=100` says which.
SLOW = (
    "tests/docs/test_site.py",
    "tests/web/test_browser.py",
    "tests/web/test_browser_collapse.py",
    "tests/faults/test_campaign.py",
    "tests/engine/test_runner.py",
    "tests/web/test_jobs.py",
    "tests/checkup/trial/test_trial.py",
    "tests/web/test_serve.py",
    "tests/web/test_openapi.py",
    "tests/engine/test_cluster.py",
    "tests/web/test_answers.py",
    "tests/cli/test_demo.py",
    "tests/papers/test_contract.py",
    "tests/docs/test_extending.py",
    "tests/docs/test_package.py",
    "tests/web/test_keyboard.py",
    "tests/torch/monitor/test_loggers.py",
    "tests/torch/mending/test_mend.py",
)
Test = TypeVar("Test")


def dealt(tests: Sequence[tuple[str, Test]], parts: int) -> list[Test]:
    """`tests` are file and test; the list falls into `parts` equal runs, as pytest-xdist will cut it."""
    own: list[list[Test]] = [[] for _ in range(parts)]
    for place, file in enumerate(SLOW):
        own[place % parts] += [test for where, test in tests if where == file]
    others = [test for where, test in tests if where not in SLOW]
    found: list[Test] = []
    for place, slow in enumerate(own):
        size = (len(tests) - len(found)) // (parts - place)
        room = max(0, size - len(slow))
        found += slow + others[:room]
        del others[:room]
    return found + others


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In every process of pytest-xdist alike; without it the order stays."""
    if parts := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)):
        items[:] = dealt([(item.nodeid.split("::")[0], item) for item in items], parts)
