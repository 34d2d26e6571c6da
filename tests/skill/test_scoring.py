"""Rates and misses against other ways to compute them, and the contract of every family."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import lopsided
from lopsided.engine.code import closure
from lopsided.skill import benchmark
from lopsided.skill.benchmark import families, skill
from lopsided.skill.family import SPLITS, Amount, Choice, split_of
from lopsided.skill.scoring import (
    choice_reliability,
    hit_rate,
    number_reliability,
    number_score,
    wilson,
)


def test_wilson_inverts_the_score_test() -> None:
    """The ends are the rates p0 at which |p - p0| = z sqrt(p0 (1 - p0) / n)."""
    for right, decided in ((3, 10), (0, 7), (7, 7), (180, 200)):
        p = right / decided
        for end in wilson(right, decided):
            if 1e-9 < end < 1 - 1e-9:  # with none or all right, one end is 0 or 1 to rounding
                assert abs(p - end) / np.sqrt(end * (1 - end) / decided) == pytest.approx(norm.ppf(0.975))


def test_wilson_covers() -> None:
    """Over many draws the interval holds the truth about 95 times in 100; 0.93 is five standard errors below."""
    random = np.random.default_rng(0)
    truth, n, draws = 0.8, 60, 4000
    inside = 0
    for right in random.binomial(n, truth, draws):
        low, high = wilson(int(right), n)
        inside += low <= truth <= high
    assert 0.93 < inside / draws < 0.975


def test_abstentions_and_ties_are_counted_apart() -> None:
    tasks = [
        ([Choice("a"), Choice("b"), Choice(None)], [Choice("a"), Choice("a"), Choice("a")]),
        ([Choice("a")], [Choice(None)]),
    ]
    found = hit_rate(tasks)
    assert (found.asked, found.decided, found.right, found.ties) == (3, 2, 1, 1)
    assert found.rate == 0.5


def test_answers_of_one_task_do_not_count_as_many() -> None:
    """Ten equal answers a task: the interval is that of the tasks, not of ten times as many."""
    right, wrong = [Choice("a")] * 10, [Choice("b")] * 10
    tasks = [(right, right)] * 16 + [(right, wrong)] * 4
    found = hit_rate(tasks)
    low, high = wilson(16, 20)
    assert found.interval is not None
    assert found.interval[0] == pytest.approx(low, abs=0.02)  # n - 1 in the variance between 20 tasks
    assert found.interval[1] == pytest.approx(high, abs=0.02)


def test_numbers_are_scored() -> None:
    truths = [Amount(2.0), Amount(4.0), Amount(None)]
    forecasts = [Amount(4.0, 1.0, 8.0), Amount(2.0, 1.0, 3.0), Amount(1.0)]
    found = number_score([(truths, forecasts)], "ratio")
    assert (found.count, found.abstained, found.coverage) == (2, 0, 0.5)
    assert found.mean_absolute_error == pytest.approx(1.0)  # a factor 2 each way, in powers of 2
    # Winkler in powers of 2: 3 for [1, 8]; log2(3) + 20 (log2(4) - log2(3)) for [1, 3] with 4 outside
    assert found.interval_score == pytest.approx((3 + np.log2(3) + 20 * (2 - np.log2(3))) / 2)
    assert number_score([(truths, [Amount(None)] * 3)], "ratio").abstained == 2


def test_errors_for_the_bars() -> None:
    """Factors 1.1, 1.2, ..., 2 to either side: half stay below the median one, nine of ten below the ninth decile."""
    factors = 1 + np.arange(1, 11) / 10
    tasks = [([Amount(1.0)], [Amount(factor if k % 2 else 1 / factor)]) for k, factor in enumerate(factors)]
    found = number_score(tasks, "ratio")
    assert found.typical_error == pytest.approx(2 ** np.median(np.log2(factors)))
    assert found.error_nine_in_ten == pytest.approx(2 ** np.quantile(np.log2(factors), 0.9))


def test_crps_is_the_integral_of_squared_differences() -> None:
    """CRPS = integral of (F(x) - 1[x >= truth])^2 dx, here by the trapezoid rule on a fine grid."""
    value, half, truth = 1.0, 0.8, 1.7
    grid = np.linspace(-9, 11, 400_001)
    law = norm.cdf(grid, value, half / norm.ppf(0.95))
    integral = np.trapezoid((law - (grid >= truth)) ** 2, grid)
    found = number_score([([Amount(truth)], [Amount(value, value - half, value + half)])], "difference")
    assert found.crps == pytest.approx(integral, abs=1e-4)  # the step of the grid is 5e-5


def test_reliability_counts_what_came_true() -> None:
    says = [Choice("a", confidence=0.95)] * 4 + [Choice("a", confidence=0.65)] * 2 + [Choice("a"), Choice(None)]
    happened = [Choice("a")] * 3 + [Choice("b")] + [Choice("a"), Choice("b")] + [Choice("a")] * 2
    found = choice_reliability([(happened, says)])
    assert [(round(one.stated, 2), one.observed, one.count) for one in found] == [(0.65, 0.5, 2), (0.95, 0.75, 4)]


def test_normal_errors_with_their_own_interval_are_reliable() -> None:
    random = np.random.default_rng(1)
    half = float(norm.ppf(0.95))
    tasks = [([Amount(value)], [Amount(0.0, -half, half)]) for value in random.standard_normal(4000)]
    for one in number_reliability(tasks, "difference"):
        assert abs(one.observed - one.stated) < 4 * np.sqrt(one.stated * (1 - one.stated) / 4000)  # four errors


def test_answers_as_good_as_the_best_count_as_right() -> None:
    truth = [Choice("a", as_good=("a", "b"))]
    assert hit_rate([(truth, [Choice("b")]), (truth, [Choice("c")])]).right == 1


@pytest.mark.parametrize("name", list(families()))
def test_tasks_are_made_from_specifications_and_split_in_half(name) -> None:
    family = families()[name]
    tasks = list(family.tasks())
    assert tasks == list(family.tasks())  # nothing but the specification decides
    assert len({str(task) for task in tasks}) == len(tasks)
    halves = [split_of(family.id, task) for task in tasks]
    for half in SPLITS:
        # a fair coin gives fewer than a quarter of 40 tasks with probability 0.0003
        assert halves.count(half) >= len(tasks) / 4
    assert family.question.default in family.question.recipes
    assert all(question.default in question.recipes for question in family.numbers)


def test_the_score_that_ships_is_readable() -> None:
    found = skill()
    assert all(entry.family in families() for entry in found.scores)
    for entry in found.scores:
        assert entry.right <= entry.decided <= entry.asked


def test_a_run_is_scored_and_resumed(tmp_path) -> None:
    counted: list[int] = []

    def progress(total: int):
        counted.append(total)
        return lambda ended: None

    run = {"run": True, "only": ["width"], "jobs": 1, "store": tmp_path, "most_tasks": 1}
    first = skill(**run, progress=progress)
    assert [entry.split for entry in first.scores] == list(SPLITS)
    assert all(entry.tasks == 1 for entry in first.scores)
    again = skill(**run, progress=progress)
    assert counted == [2]  # the second run measured nothing
    assert again.to_dict()["scores"] == first.to_dict()["scores"]


def test_families_that_share_measurements_measure_once(tmp_path, monkeypatch) -> None:
    width = families()["skill-width"]
    shared = {"skill-width": width, "skill-copy": replace(width, id="skill-copy", measured_as="skill-width")}
    monkeypatch.setattr(benchmark, "families", lambda: shared)
    counted: list[int] = []

    def progress(total: int):
        counted.append(total)
        return lambda ended: None

    asked = {"run": True, "split": "held-out", "jobs": 1, "store": tmp_path, "most_tasks": 1}
    found = skill(only=["width", "copy"], progress=progress, **asked)
    assert counted == [1]
    assert [entry.tasks for entry in found.scores] == [1, 1]


@pytest.mark.parametrize("name", ["collapse-ratio", "collapse-tail", "group-adult", "group-images", "group-mixtures"])
def test_a_changed_law_or_recipe_measures_nothing_again(name: str) -> None:
    """The code of a result is the closure of the module that measures it: recipes, laws and scores are not in it."""
    home = families()[f"skill-{name}"].measure.__module__
    reached = closure(home, Path(lopsided.__file__).parent)
    assert home in reached
    assert [module for module in reached if module.startswith("lopsided.theory")] == []
    recipes = ("benchmark", "collapse_recipes", "group_questions", "scoring")
    assert not {f"lopsided.skill.{module}" for module in recipes} & set(reached)


def test_the_width_that_would_hold_nine_of_ten() -> None:
    """Errors of ten times the stated deviation need intervals ten times as wide."""
    random = np.random.default_rng(2)
    half = float(norm.ppf(0.95))
    tasks = [([Amount(10 * value)], [Amount(0.0, -half, half)]) for value in random.standard_normal(4000)]
    found = number_score(tasks, "difference")
    assert found.width_needed == pytest.approx(10.0, rel=0.05)  # two errors of a quantile of 4000
