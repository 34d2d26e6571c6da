"""ReLU features: the closed form against a nonconvex solve with H >= 0 that knows nothing of it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from lopsided.theory.collapse import collapse
from lopsided.theory.layer_peeled.energy import restraint
from lopsided.theory.layer_peeled.relu_features import solve_relu

COUNTS = st.lists(st.integers(1, 3000), min_size=2, max_size=8)


def nonconvex(counts, multiplier, seeds=6):
    """min f(W H) + (lambda/2)(|W|^2 + |H|^2) over W and H >= 0, best of several bounded descents."""
    weights = np.asarray(counts) / np.sum(counts)
    k, p = len(counts), len(counts) + 2

    def function(x):
        w, h = x[: k * p].reshape(k, p), x[k * p :].reshape(p, k)
        z = w @ h
        slope = weights * (softmax(z, axis=0) - np.eye(k))
        value = -weights @ np.diag(log_softmax(z, axis=0)) + 0.5 * multiplier * (x @ x)
        return value, np.concatenate([(slope @ h.T).ravel(), (w.T @ slope).ravel()]) + multiplier * x

    bounds = [(None, None)] * (k * p) + [(0, None)] * (p * k)
    starts = (np.abs(np.random.default_rng(seed).normal(size=2 * k * p)) for seed in range(seeds))
    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-14, "gtol": 1e-9}
    return min(minimize(function, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun for x in starts)


@pytest.mark.parametrize(
    ("counts", "multiplier"),
    [([5, 5, 5], 0.05), ([50, 20, 8], 0.03), ([100, 100, 10, 10], 0.02), ([400, 90, 30, 7, 2], 0.01)],
)
def test_penalised_optimum(counts, multiplier) -> None:
    found = solve_relu(np.array(counts, float), restraint(len(counts), multiplier=multiplier))
    ours = found.objective + multiplier * found.norm
    theirs = nonconvex(counts, multiplier)
    # Descent ends above the optimum, never below it; its gradient tolerance leaves about 1e-8.
    assert theirs >= ours - 1e-10
    assert theirs == pytest.approx(ours, rel=2e-6)


@given(COUNTS, st.floats(-3, 4))
def test_certificate_and_factors(counts, log_energy) -> None:
    energy = math.exp(log_energy)
    solution = solve_relu(np.array(counts, float), restraint(len(counts), feature_energy=energy, weight_energy=2.0))
    assert solution.certificate.relative_gap < 1e-9
    w, h = solution.factors()
    assert np.all(h >= 0)
    np.testing.assert_allclose(w @ h, solution.logits(), atol=1e-9)
    assert (h**2).sum() / len(counts) == pytest.approx(energy, rel=1e-9)
    assert (w**2).sum() / len(counts) == pytest.approx(2.0, rel=1e-9)
    np.testing.assert_allclose(np.linalg.norm(w, axis=1), solution.classifier_norms, atol=1e-9)
    everyone = np.ones(len(counts), dtype=bool)
    units = w / np.linalg.norm(w, axis=1, keepdims=True)
    pairs = (units @ units.T)[np.triu_indices(len(counts), 1)]
    assert solution.mean_cosine(everyone) == pytest.approx(pairs.mean(), abs=1e-9)


@given(COUNTS, st.floats(-2, 3))
def test_restricting_features_never_helps(counts, log_energy) -> None:
    energy = math.exp(log_energy)
    free = collapse(counts, feature_energy=energy, weight_energy=1)
    relu = collapse(counts, feature_energy=energy, weight_energy=1, features="relu")
    assert relu.solution.objective >= free.solution.objective * (1 - 1e-9)


def test_threshold() -> None:
    forecast = collapse("300*6,10*4", feature_energy=5, weight_energy=1, features="relu")
    edge = forecast.two_sizes.ratio_threshold
    for factor, expected in ((1 - 1e-9, []), (1 + 1e-9, [6, 7, 8, 9])):
        counts = [edge * factor] * 6 + [1.0] * 4
        assert collapse(counts, feature_energy=5, weight_energy=1, features="relu").collapsed == expected
    penalised = collapse("300*6,10*4", multiplier=0.01, features="relu")
    edge = penalised.two_sizes.ratio_threshold
    for factor, expected in ((1 - 1e-9, []), (1 + 1e-9, [6, 7, 8, 9])):
        assert collapse([edge * factor] * 6 + [1.0] * 4, multiplier=0.01, features="relu").collapsed == expected


def test_a_million_classes() -> None:
    counts = np.round(np.random.default_rng(0).pareto(1.2, 10**6) * 10) + 1
    forecast = collapse(counts, feature_energy=5, weight_energy=1, features="relu")
    assert forecast.relative_gap < 1e-10
    assert len(forecast.collapsed) == int((counts <= forecast.count_needed).sum())


def test_model_is_named() -> None:
    assert "ReLU" in collapse([3, 2], tau=2, features="relu").to_dict()["model"]
    assert "free" in collapse([3, 2], tau=2).to_dict()["model"]
