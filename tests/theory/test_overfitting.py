"""Condition 1, Theorem 1 and the Bayes rule: hand-computed cases, brute force, Monte Carlo."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data.patches import FAMILIES, draw_patches, patch_distribution
from lopsided.theory.overfitting_bounds import (
    Cell,
    Region,
    Terms,
    TheoremConstants,
    check_constants,
    fit_constants,
    loss_bounds,
    regions,
    theorem_terms,
)
from lopsided.theory.overfitting_conditions import condition_one
from lopsided.theory.patch_bayes import one_direction_accuracy
from tests.theory.noise_bayes_rule import noise_bayes_rule


def report(distribution, **changes):
    settings = {"examples": 40, "width": 30, "step": 0.01, "deviation": 0.02, "steps": 500, "failure": 0.1}
    settings["noise_threshold"] = 0.25
    return condition_one(distribution.geometry(), distribution.feature_norms, **{**settings, **changes})


def test_every_line_of_condition_one_by_brute_force() -> None:
    distribution, _ = patch_distribution([10, 30], 24, feature_norms=[0.5, 2.0], ratios=[[1, 3], [2, 1]])
    found = {line.name: line.constant for line in report(distribution).lines}
    A = [matrix.dense() for matrix in distribution.matrices]
    u = distribution.feature_norms
    n, m, eta, sigma, T, delta, K, d = 40, 30, 0.01, 0.02, 500, 0.1, 2, 24
    F = np.array([[np.linalg.norm(a.T @ b) for b in A] for a in A])
    op = np.array([[np.linalg.norm(a.T @ b, 2) for b in A] for a in A])
    trace = np.array([np.trace(a.T @ a) for a in A])
    pairs = [(i, j) for i in range(K) for j in range(K)]
    singular = [np.linalg.svd(a, compute_uv=False) for a in A]
    alive = [s[s > 1e-9] for s in singular]
    log = np.log
    expected = {
        "a1": min(trace[i] / (n * F[i, j] * log(n**2 / delta)) for i, j in pairs),
        "a2": min(F[i, j] / op[i, j] / np.sqrt(log(K / delta)) for i, j in pairs),
        "a3": max(max(F[i, k] for k in range(K) if k != j) / F[i, j] for i, j in pairs),
        "b1": m / log(n / delta) / max((s[0] / s[-1]) ** 2 for s in alive),
        "b2": n / log(m / delta),
        "b3": m * n * sigma**2 / (log(n / delta) * log(T) ** 2),
        "b4": min((min(m, d, len(s)) - 0.9 * m) / n for s in alive),
        "b5": d / log(m * n / delta),
        "c1": 1 / (eta * max(u[k] + np.sqrt(1.5 * trace[k]) for k in range(K)) ** 2),
        "c2": min(m * n * log(T) / trace) / eta,
        "c3": min(F.min(), (u**2).min())
        / (
            n
            * sigma
            * max(max(np.sqrt(log(K * m / delta)) * u[k], log(K * m / delta) * np.sqrt(trace[k])) for k in range(K))
        ),
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, err_msg=name)


def test_condition_one_reports_what_binds() -> None:
    distribution, _ = patch_distribution([100] * 5, 1000, feature_norms=1.0, ratios=1.0)
    settings = {"examples": 500, "width": 100, "step": 0.05, "steps": 20, "deviation": 1 / np.sqrt(3000)}
    paper = condition_one(
        distribution.geometry(), distribution.feature_norms, noise_threshold=FAMILIES["gaussian"].threshold, **settings
    )
    assert paper.largest < 0.01  # the paper's own setting: "a sufficiently large constant" would have to be tiny
    assert not paper.holds(1.0)
    assert min(line.constant for line in paper.lines if line.upper) == paper.largest
    assert not report(distribution, noise_threshold=None).holds(paper.largest)
    distribution, _ = patch_distribution([2] * 2, 4000, feature_norms=1.0, base=1.0)
    easy = report(distribution, examples=8, width=2000, step=1e-6, deviation=1.0, steps=2, failure=1.0)
    assert {line.name for line in easy.lines if not line.admits(1.0)} == {"c3"}  # sigma_0 = 1 is too large for it


def test_terms_of_the_theorem() -> None:
    sizes = np.array([10.0, 40.0])
    distribution, _ = patch_distribution([10, 40], 30, feature_norms=[2.0, 1.0], ratios=5.0)
    terms = theorem_terms(distribution.geometry(), distribution.feature_norms, sizes)
    A = [matrix.dense() for matrix in distribution.matrices]
    direct = 10**2 * 2.0**4 / (40 * np.linalg.norm(A[0].T @ A[1]) ** 2)
    np.testing.assert_allclose(terms.signal[0, 1], direct, rtol=1e-10)
    np.testing.assert_allclose(terms.weakest_signal()[0], direct, rtol=1e-10)
    np.testing.assert_allclose(terms.weakest_ratio(), [5.0, 5.0], rtol=1e-9)
    constants = TheoremConstants(C1=direct, C2=6.0, C3=0.1, C3_signal=0.1, c1=0.5, c2=0.3, c3=0.4)
    by_features, by_noise = loss_bounds(terms, constants, tail=2.0)
    np.testing.assert_allclose(by_features[0], min(1.0, np.exp(-0.5 * direct)), rtol=1e-10)
    np.testing.assert_allclose(by_noise, np.exp(-0.3 * 4 * 5.0), rtol=1e-8)


def test_bounds_without_signal_or_constant_are_vacuous() -> None:
    constants = TheoremConstants(C1=1, C2=1, C3=1, C3_signal=1, c1=np.inf, c2=0.1, c3=0.4)
    by_features, by_noise = loss_bounds(terms_of(0.0, 2.0), constants)
    assert by_features.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(by_noise, min(1.0, 2 * np.exp(-0.2)))


def terms_of(signal, ratio, K=3):
    return Terms(np.full((K, K), float(signal)), np.full((K, K), float(ratio)))


def test_regions() -> None:
    constants = TheoremConstants(C1=10, C2=5, C3=2, C3_signal=2, c1=1, c2=1, c3=0.5)
    cases = {(20, 1): Region.FEATURES, (1, 8): Region.NOISE, (1, 1): Region.HARMFUL, (3, 1): Region.UNDECIDED}
    for (signal, ratio), region in cases.items():
        assert regions(terms_of(signal, ratio), constants) == [region] * 3


def test_constants_are_fitted_and_can_be_refuted() -> None:
    random = generator(0, "cells")
    cells = []
    for _ in range(60):
        signal, ratio = np.exp(random.uniform(-3, 6)), np.exp(random.uniform(0, 6))
        loss = min(0.6, 2 * np.exp(-0.2 * signal), 2 * np.exp(-0.1 * ratio))
        cells.append(Cell(terms_of(signal, ratio), np.full(3, loss), 2000))
    constants = fit_constants(cells[:30], benign=0.1, harmful=0.4)
    # 2 exp(-0.2 s) is exactly the bound with c1 = 0.2 and so on: the fit must find both.
    assert constants.c1 == pytest.approx(0.2, rel=1e-6)
    assert constants.c2 == pytest.approx(0.1, rel=1e-6)
    by_signal = sorted((cell.terms.signal[0, 0], cell.loss[0]) for cell in cells[:30])
    assert all(loss <= 0.1 for signal, loss in by_signal if signal >= constants.C1)
    assert max(signal for signal, loss in by_signal if loss > 0.1) == max(
        signal for signal, _ in by_signal if signal < constants.C1
    )
    corner = [
        c for c in cells[:30] if c.terms.ratio[0, 0] <= constants.C3 and c.terms.signal[0, 0] <= constants.C3_signal
    ]
    assert len(corner) >= 3
    assert all(cell.loss[0] >= 0.4 for cell in corner)
    quality = check_constants(cells[30:], constants, benign=0.1)
    assert quality.share_kept() > 0.9
    shuffled = [Cell(cell.terms, cells[(7 * i + 3) % 30 + 30].loss, 2000) for i, cell in enumerate(cells[30:])]
    assert check_constants(shuffled, constants, benign=0.1).share_kept() < 0.8
    inverted = [Cell(cell.terms, 0.6 - cell.loss, 2000) for cell in cells[30:]]
    wrong = check_constants(inverted, constants, benign=0.1)
    assert wrong.share_kept() < 0.2
    assert wrong.bound_broken > 0
    with pytest.raises(InputError):
        fit_constants([], benign=0.1, harmful=0.4)


def test_fit_without_support_leaves_the_region_empty() -> None:
    cells = [Cell(terms_of(1, 1), np.full(3, 0.3), 100)]
    constants = fit_constants(cells, benign=0.1, harmful=0.4)
    assert constants.C1 == constants.C2 == np.inf
    assert constants.C3 == constants.C3_signal == 0
    assert check_constants(cells, constants, benign=0.1).share_kept() is None


def sampled_bayes_accuracy(matrices, random, draws):
    """Accuracy of the Bayes rule by Monte Carlo over the joint span, a chi-square for the rest; its standard error."""
    rule, K = noise_bayes_rule(matrices), len(matrices)
    each = draws // K + 1
    right = np.zeros(K)
    for k, A in enumerate(matrices):
        # A maps the span into itself and acts as a scalar outside, so xi's two parts are independent.
        inside = random.standard_normal((each, rule.basis.shape[1])) @ (rule.basis.T @ A.apply(rule.basis.T).T).T
        outside = A.scale**2 * random.chisquare(rule.rest, each) if rule.rest else np.zeros(each)
        right[k] = (rule._scores(inside, outside).argmax(axis=1) == k).mean()
    return right.mean(), np.sqrt(np.sum(right * (1 - right) / each)) / K


@pytest.mark.parametrize("ratio", [1.0, 5.0, 100.0, 1400.0])
def test_bayes_accuracy_three_ways(ratio) -> None:
    distribution, built = patch_distribution([10] * 5, 1000, ratios=ratio, feature_norms=0.0)
    values, _ = distribution.matrices[0].singular_values()
    closed = one_direction_accuracy(5, max(float(values.max()), 0.5))
    sampled, standard_error = sampled_bayes_accuracy(distribution.matrices, generator(0, "bayes"), 200_000)
    assert abs(closed.value - sampled) < 4 * standard_error + 1e-12
    # And on samples in all 1000 dimensions, by the rule and by argmax |v_k^T x|.
    sample = draw_patches(distribution, 0, "bayes", sizes=[400] * 5)
    right = (noise_bayes_rule(distribution.matrices).predict(sample.noise) == sample.labels).mean()
    simple = (np.abs(sample.noise @ built.directions).argmax(axis=1) == sample.labels).mean()
    error = np.sqrt(closed.value * (1 - closed.value) / 2000)
    assert abs(simple - closed.value) < 4 * error
    if ratio > 1:
        assert right == pytest.approx(simple, abs=1e-12)
    expected = {1.0: 0.2, 100.0: 0.944, 1400.0: 0.979}  # what independent numerics gave
    if ratio in expected:
        assert closed.value == pytest.approx(expected[ratio], abs=6e-4)


def test_bayes_rule_is_the_gaussian_posterior() -> None:
    from scipy.stats import multivariate_normal

    priors = np.array([0.7, 0.2, 0.1])
    distribution, _ = patch_distribution([20, 30, 40], 12, ratios=6.0, feature_norms=0.0)
    noise = draw_patches(distribution, 0, "posterior").noise
    scores = noise_bayes_rule(distribution.matrices, priors).scores(noise)
    Q = distribution.matrices[0].avoided
    basis = np.linalg.qr(np.hstack([Q, np.eye(12)]))[0][:, 3:]  # where all noise lives
    direct = np.stack(
        [
            np.log(p) + multivariate_normal(cov=basis.T @ A.dense() @ A.dense().T @ basis).logpdf(noise @ basis)
            for p, A in zip(priors, distribution.matrices, strict=True)
        ],
        axis=1,
    )
    difference = scores - direct
    # Equal up to the constant of the density; float64 sums of 9 terms divided by eigenvalues of about 0.2.
    np.testing.assert_allclose(difference, difference[0, 0], atol=1e-9)
    with pytest.raises(InputError, match="at least the bulk"):
        one_direction_accuracy(5, 0.2)
