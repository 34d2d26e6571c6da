"""Says while the tests run how many are left and for how long: `pytest -p tests.time_left`, as ./test does.

What each test took is kept in pytest's cache, so the next run knows how much work is left; a test that is new counts as
the mean of those seen, and the pace of this run scales the whole.
"""

import time
from collections.abc import Iterable
from typing import Any

import pytest

KEPT = "lopsided/seconds"
EVERY = 20.0  # seconds between two lines


class TimeLeft:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.before: dict[str, float] = dict(config.cache.get(KEPT, {}))  # type: ignore[union-attr]
        self.left: set[str] = set()
        self.seconds: dict[str, float] = {}
        self.finished: set[str] = set()
        self.began = self.said = time.perf_counter()

    def start(self, tests: Iterable[str]) -> None:
        if not self.left and not self.finished:
            self.left = set(tests)
            self.began = self.said = time.perf_counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.start(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self.start(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.when != "teardown":
            return
        self.finished.add(report.nodeid)
        self.left.discard(report.nodeid)
        now = time.perf_counter()
        if now - self.said >= EVERY and self.left:
            self.said = now
            reporter = self.config.pluginmanager.getplugin("terminalreporter")
            reporter.ensure_newline()
            reporter.write_line(self.line(now - self.began))

    def line(self, elapsed: float) -> str:
        """`1200 of 2900 tests after 95 s; about 140 s left`."""
        return (
            f"{len(self.finished)} of {len(self.finished) + len(self.left)} tests after {elapsed:.0f} s; "
            f"about {self.remaining(elapsed):.0f} s left"
        )

    def remaining(self, elapsed: float) -> float:
        """Work that is left, in seconds of the last run, times how long a second of its work takes in this one."""
        known = [self.before[test] for test in self.finished if test in self.before]
        usual = sum(known) / len(known) if known else 1.0
        done = sum(self.before.get(test, usual) for test in self.finished)
        return sum(self.before.get(test, usual) for test in self.left) * elapsed / done

    def pytest_sessionfinish(self) -> None:
        self.config.cache.set(KEPT, self.before | self.seconds)  # type: ignore[union-attr]


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # in the process that reports, not in pytest-xdist's workers
        config.pluginmanager.register(TimeLeft(config), "lopsided-time-left")
