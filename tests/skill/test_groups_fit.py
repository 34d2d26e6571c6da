"""The constants of the families on groups are what their development tasks give, or say that they were chosen."""

from dataclasses import replace

import numpy as np
import pytest
from bench.laws import groups_fit
from bench.laws.groups_fit import GROUPS, MEASURED, MIXTURES, WIDTHS

from lopsided.engine.store import Result, Store
from lopsided.engine.task import Row
from lopsided.skill.benchmark import _plan, families
from lopsided.skill.families import group_mixtures
from lopsided.skill.family import split_of
from lopsided.skill.group_questions import SHRINKAGE


@pytest.fixture(scope="module")
def tasks() -> groups_fit.Tasks:
    return groups_fit.measured()


def test_the_tasks_of_the_fit_are_the_development_half(tasks) -> None:
    for name in (MIXTURES, *WIDTHS):
        known = [task for task in families()[name].tasks() if split_of(name, task) == "development"]
        assert [row.settings for row in tasks[name]] == known
    assert MEASURED.stat().st_size < 100_000


def test_the_committed_constants_are_what_the_tasks_give(tasks) -> None:
    # Rounding: widths were rounded to a tenth and chosen by a `width_needed` of about 1, the others to two digits.
    allowed = {"SECOND_ORDER": 0.5, "SPREAD": 0.005}
    for name, one in groups_fit.constants(tasks).items():
        assert abs(one.found - one.committed) <= allowed.get(name, 0.065 * one.committed), name
        assert abs(one.found - one.committed) < 0.25 * one.error, name  # far less than the tasks can tell


def test_the_shrinkage_that_was_chosen_by_hand_is_near_the_best(tasks) -> None:
    """As its docstring says: 1 % in the mean error, 1.4 nats over 130 changes."""
    best = groups_fit.mean_error(tasks, groups_fit.best_mean(tasks))
    assert groups_fit.mean_error(tasks, SHRINKAGE) / best == pytest.approx(1.012, abs=0.002)
    likelier = groups_fit.log_likelihood(tasks, groups_fit.best_deviation(tasks))
    assert likelier - groups_fit.log_likelihood(tasks, SHRINKAGE) == pytest.approx(1.44, abs=0.05)
    assert sum(len(row.numbers["truth"]["change"]) for name in GROUPS for row in tasks[name]) == 130


def test_a_wrong_shrinkage_would_be_seen(tasks) -> None:
    right = groups_fit.mean_error(tasks, SHRINKAGE)
    assert groups_fit.mean_error(tasks, replace(SHRINKAGE, scaling=1.0)) > 1.2 * right
    wide = groups_fit.log_likelihood(tasks, replace(SHRINKAGE, share=2.5))
    assert groups_fit.log_likelihood(tasks, SHRINKAGE) - wide > 20


def test_a_task_measured_again(tasks) -> None:
    row = min(tasks[MIXTURES], key=lambda row: row.settings["samples"] * row.settings["dimension"])
    again = families()[MIXTURES].measure(row.settings, 0)["truth"]
    # another processor ends Newton's method in other last digits; another seed changes a mean of 200 runs by its error
    for word in ("now", "later"):
        np.testing.assert_allclose(again[word], row.numbers["truth"][word], rtol=1e-3)


def test_the_file_is_what_the_store_holds(tmp_path, tasks) -> None:
    store = Store(tmp_path / "store")
    for name in (MIXTURES, *WIDTHS):
        for (_, task), row in zip(_plan(families()[name], "development", 2, None), tasks[name], strict=False):
            store.save(
                task, Result(task.name, task.version, task.code, row.settings, 0, dict(row.numbers), 1.0, 1.0, {})
            )
    groups_fit.main(str(tmp_path / "file.json.gz"), str(tmp_path / "store"))
    assert groups_fit.measured(tmp_path / "file.json.gz") == {name: rows[:2] for name, rows in tasks.items()}


def test_the_second_order_of_a_mixture_is_recomputed(monkeypatch) -> None:
    """Truths made from the law with c = 30: the median of log(truth / law) / law gives it back."""
    law = np.array([0.01, 0.02])
    monkeypatch.setattr(group_mixtures, "excesses", lambda source, settings, seen: (law, law))
    rows = [Row({}, 0, {"seen": {}, "truth": {"now": (law * np.exp(30 * law)).tolist()}})]
    assert groups_fit.second_order(rows) == pytest.approx(30.0)
