"""The rules of the mixture claims can say no; the contract itself is tested with everyone's in tests/papers."""

from dataclasses import replace
from importlib import import_module

import numpy as np

from lopsided.engine.task import Row
from lopsided.papers.claim import Outcome
from lopsided.papers.gi.mixture_risk import judge_risk
from lopsided.worlds.mixture_lab import (
    drawn_data,
    drawn_teacher,
    forecast_spread,
    measured_spread,
    nearest_critical_point,
    two_groups,
)

IDS = [
    "gi-dimension",
    "gi-complexity-mean",
    "gi-complexity-covariance",
    "gi-rate-mean",
    "gi-rate-covariance",
    "gi-rate-width",
    "gi-error-n",
    "gi-risk-covariance",
    "gi-risk-mean",
    "gi-fraction-small",
    "gi-fraction-large",
    "gi-gradient-noise",
    "gi-tensor-init",
    "gi-table",
    "gi-rho",
    "gi-convexity",
    "gi-multiclass",
    "gi-activations",
    "gi-estimate",
    "gi-fisher",
]
# Sizes that shrink a task without changing what it does.
SMALLER = {"n": 2000, "steps": 60, "repeats": 3}


def claim(name):
    return import_module(f"lopsided.papers.{name[:2]}.{name.replace('-', '_')}").CLAIM


def fewer(count):
    return [fewer(each) for each in count] if isinstance(count, list) else count // 4 + 500


def smaller(settings):
    few = dict(settings)
    for key, value in SMALLER.items():
        if key in few:
            few[key] = min(few[key], value) if key != "n" else fewer(few[key])
    return few


def test_all_twenty_are_written():
    for name in IDS:
        assert claim(name).id == name


def rows_of(x_name, values, key_values, seeds=6, noise=0.02):
    """Synthetic rows: key -> function of x, with a little noise over seeds."""
    source = np.random.default_rng(0)
    rows = []
    for seed in range(seeds):
        for x in values:
            numbers = {key: float(f(x) * np.exp(noise * source.standard_normal())) for key, f in key_values.items()}
            rows.append(Row({x_name: x, "n": 1000}, seed, numbers))
    return rows


def risk_rows(critical, few, entropy=lambda x: 0.5):
    keys = {f"entropy {who}": entropy for who in ("average", "minority")}
    keys |= {f"law {who}": critical for who in ("average", "minority")}
    keys |= {f"critical point {who}": critical for who in ("average", "minority")}
    keys |= {f"few steps {who}": few for who in ("average", "minority")}
    return rows_of("x", (1.0, 2.0, 3.0, 4.0, 5.0), keys, noise=0.005)


def up(x):
    return 0.1 * x


def down(x):
    return 0.5 / x


def test_the_rule_for_risks_tells_shapes_apart():
    assert judge_risk(risk_rows(up, up), "x", "rises").outcome is Outcome.HOLDS
    assert judge_risk(risk_rows(down, down), "x", "rises").outcome is Outcome.CONTRADICTED
    assert judge_risk(risk_rows(up, down), "x", "rises").outcome is Outcome.PARTLY  # one of three parts is opposite
    assert judge_risk(risk_rows(down, up), "x", "rises").outcome is Outcome.CONTRADICTED  # two of three are
    assert judge_risk(risk_rows(lambda x: 0.1, lambda x: 0.1), "x", "rises").outcome is Outcome.FAILS
    valley = risk_rows(lambda x: 0.01 + (x - 3) ** 2, lambda x: 0.01 + (x - 3) ** 2)
    assert judge_risk(valley, "x", "valley").outcome is Outcome.HOLDS
    assert judge_risk(valley, "x", "hill").outcome is Outcome.CONTRADICTED


def test_shuffled_numbers_do_not_hold():
    """Numbers of a claim that holds, dealt out at random, must not hold again."""
    for name in ("gi-dimension", "gi-convexity", "gi-multiclass", "gi-rate-covariance"):
        entry = claim(name)
        plan = entry.plans["quick"]
        rows = [Row(s, seed, entry.measure(smaller(s), seed)) for s in plan.settings for seed in plan.seeds[:4]]
        source = np.random.default_rng(0)
        outcomes = []
        for _ in range(5):
            order = source.permutation(len(rows))
            outcomes.append(
                entry.judge([replace(row, numbers=rows[i].numbers) for row, i in zip(rows, order, strict=True)])
            )
        assert sum(verdict.outcome is Outcome.HOLDS for verdict in outcomes) <= 1


def test_inverted_numbers_are_contradicted():
    entry = claim("gi-fisher")
    numbers = {
        "reliable": True, "observed": [1.0, 1.0], "predicted": [1.0, 1.0], "observed_error": [0.1, 0.1],
        "average_observed": 1.0, "average_predicted": 1.0, "weight_observed": 1.0, "weight_predicted": 1.0,
        "change_observed": -0.3, "change_error": 0.02, "change_predicted": -0.3,
    }  # fmt: skip
    rows = [Row({"kind": "random"}, seed, numbers) for seed in range(5)]
    assert entry.judge(rows).outcome is Outcome.HOLDS
    inverted = [replace(row, numbers={**numbers, "change_observed": 0.3}) for row in rows]
    assert entry.judge(inverted).outcome is Outcome.CONTRADICTED
    entry = claim("gi-table")
    plan = entry.plans["quick"]
    rows = [Row(s, 0, entry.measure(s, 0)) for s in plan.settings]
    backwards = [
        replace(row, numbers={k: (v if k == "x" else list(reversed(v))) for k, v in row.numbers.items()})
        for row in rows
    ]
    before, after = entry.judge(rows).numbers, entry.judge(backwards).numbers
    assert after["pass_everywhere"] < before["pass_everywhere"]


def test_the_linearised_spread_is_what_descent_shows():
    problem = drawn_teacher(two_groups(4, (0.5, 0.5), (0.5, -0.5), (1, 1)), 2, 1)
    data, _ = drawn_data(problem, 8000, 1)
    point = nearest_critical_point(problem, data)
    reach = 0.1 * float(np.linalg.norm(problem.weights))
    for steps in (200, 800):
        forecast = forecast_spread(data, point, 5.0, steps, reach)
        seen = measured_spread(problem, data, 5.0, steps, 12, 1)
        assert forecast.stable
        # Twelve random directions in 8 dimensions, and curvature that varies over the starts: a factor of two.
        assert 0.5 < seen / forecast.spread < 2.0
