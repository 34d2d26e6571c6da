"""The certified solver against cvxpy with Clarabel on the programs (15) and (91).

Tolerance 1e-6 relative: Clarabel's default accuracy is 1e-8 on scaled residuals, and its objective error on these
exponential-cone programs was measured at up to a few 1e-7.
"""

import warnings

import numpy as np
import pytest

from lopsided.theory.collapse import collapse
from tests.theory.layer_peeled.reference import nuclear_form, penalised_form, semidefinite_form

RELATIVE = 1e-6
CASES = [
    ([7, 3], 1.5),
    ([100, 10, 1], 3.0),
    ([50, 50, 20, 5], 1.0),
    ([900, 30, 30, 7, 7, 7], 5.0),
    ([300, 200, 200, 40, 11, 11, 3, 3], 2.0),
    ([1000, 700, 500, 300, 150, 80, 40, 20, 10, 5], 5.0),
    ([64, 64, 64, 32, 32, 16, 16, 8, 8, 4, 4, 2], 4.0),
]


@pytest.fixture(autouse=True)
def _quiet_cvxpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy warns about its own internals
        yield


@pytest.mark.parametrize(("counts", "energy"), CASES)
def test_nuclear_form(counts, energy) -> None:
    forecast = collapse(counts, feature_energy=energy, weight_energy=1)
    value, logits = nuclear_form(counts, forecast.tau)
    assert forecast.solution.objective == pytest.approx(value, rel=RELATIVE)
    # Logits: f is strongly convex here only along directions it sees, with curvature of about the multiplier, so an
    # objective error e leaves logits uncertain by sqrt(2 e / multiplier).
    slack = np.sqrt(2 * RELATIVE * value / forecast.multiplier * len(counts))
    assert np.abs(forecast.solution.logits() - logits).max() < max(slack, 1e-3)


@pytest.mark.parametrize(("counts", "energy"), CASES[:6])
def test_semidefinite_form(counts, energy) -> None:
    forecast = collapse(counts, feature_energy=energy, weight_energy=2)
    value, _ = semidefinite_form(counts, energy, 2.0)
    assert forecast.solution.objective == pytest.approx(value, rel=RELATIVE)


@pytest.mark.parametrize(("counts", "multiplier"), [([7, 3], 0.05), ([100, 10, 1], 0.02), ([90, 30, 30, 7, 7], 0.01)])
def test_penalised_form(counts, multiplier) -> None:
    forecast = collapse(counts, multiplier=multiplier)
    value, _ = penalised_form(counts, multiplier)
    assert forecast.solution.objective + multiplier * forecast.tau == pytest.approx(value, rel=RELATIVE)


@pytest.mark.parametrize("seed", range(6))
def test_random_sizes(seed) -> None:
    generator = np.random.default_rng(seed)
    counts = np.ceil(np.exp(generator.uniform(0, 7, size=generator.integers(2, 8))))
    energy = float(np.exp(generator.uniform(-2, 2)))
    forecast = collapse(counts, feature_energy=energy, weight_energy=1)
    value, _ = nuclear_form(counts, forecast.tau)
    assert forecast.solution.objective == pytest.approx(value, rel=RELATIVE)
    assert forecast.relative_gap < 1e-9
