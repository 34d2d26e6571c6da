"""Errata of the Layer-Peeled Model, derived a second time: NumPy and SciPy alone, nothing of lopsided."""

import numpy as np
import pytest
from scipy.optimize import minimize


def cross_entropy(logits, share):
    """sum_k share_k CE(column k, class k) and its gradient."""
    top = logits.max(axis=0)
    odds = np.exp(logits - top)
    chance = odds / odds.sum(axis=0)
    loss = float(share @ (np.log(odds.sum(axis=0)) + top - np.diag(logits)))
    return loss, (chance - np.eye(len(share))) * share


def onto_ball(matrix, radius):
    """The nearest matrix with nuclear norm at most `radius`."""
    left, values, right = np.linalg.svd(matrix)
    if values.sum() > radius:
        sums = (np.cumsum(values) - radius) / np.arange(1, len(values) + 1)
        values = np.maximum(values - sums[np.flatnonzero(values > sums)[-1]], 0.0)
    return left * values @ right


def best_logits(counts, radius, steps=20_000):
    """Program (91) by accelerated projected gradients; stops where the duality gap is 1e-9 of the loss."""
    share = np.array(counts, dtype=float) / np.sum(counts)
    point = last = np.zeros((len(share), len(share)))
    pace = 1.0
    rate = 1.0 / (0.5 * share.max())  # the softmax has curvature at most 1/2
    for _ in range(steps):
        loss, slope = cross_entropy(point, share)
        new = onto_ball(point - rate * slope, radius)
        if np.sum((point - new) * (new - last)) > 0:
            pace = 1.0
        ahead = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        point, last, pace = new + (pace - 1) / ahead * (new - last), new, ahead
        loss, slope = cross_entropy(new, share)
        if np.sum(slope * new) + radius * np.linalg.norm(slope, 2) < 1e-9 * loss:
            return new, slope
    raise AssertionError("not converged")


def test_the_fourth_root_and_the_factor_k_keep_the_energies():
    stream = np.random.default_rng(0)
    classes, of_weights, of_features = 5, 2.0, 9.0
    logits = stream.standard_normal((classes, classes))
    left, values, right = np.linalg.svd(logits)
    scale = classes * np.sqrt(of_weights * of_features) / values.sum()  # with the factor K, as (91) needs
    values = values * scale
    for power, weight_energy in ((0.25, of_weights), (0.5, of_weights * np.sqrt(of_weights / of_features))):
        ratio = (of_weights / of_features) ** power
        weights, features = ratio * left * np.sqrt(values), np.sqrt(values)[:, None] * right / ratio
        assert np.allclose(weights @ features, scale * logits)
        assert np.sum(weights**2) / classes == pytest.approx(weight_energy)
    # without the factor K the energies that any factors need are K times smaller than allowed
    bare = np.linalg.svd(logits, compute_uv=False)
    bare *= np.sqrt(of_weights * of_features) / bare.sum()
    assert bare.sum() / classes == pytest.approx(np.sqrt(of_weights * of_features) / classes)


def test_descents_do_not_beat_a_frame_of_equal_entries():
    """K = 4, p = 6, q = 4: |h|_q^q <= p r^q bounds |h|_2 by power means, with equality for entries of one size."""
    frame = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float).T
    features = np.vstack([frame, frame])  # p = 6, entries +-1
    cosines = features.T @ features / 6
    assert np.allclose(cosines, np.eye(4) * 4 / 3 - 1 / 3)
    share, q = np.full(4, 0.25), 4

    def unpack(flat):
        weights, inputs = flat[:24].reshape(4, 6), flat[24:].reshape(6, 4)
        weights = weights * np.sqrt(4.0 / np.sum(weights**2))
        return weights, inputs * (24.0 / np.sum(inputs**q)) ** (1 / q)  # on both constraints

    def loss(flat):
        weights, inputs = unpack(flat)
        return cross_entropy(weights @ inputs, share)[0]

    best = loss(np.concatenate([features.T.ravel(), features.ravel()]))
    stream = np.random.default_rng(1)
    ends = [minimize(loss, stream.standard_normal(48), options={"maxiter": 80}).fun for _ in range(3)]
    assert min(ends) >= best - 1e-7  # finite differences
    assert min(ends) < best * 1.2  # the descents come near, so that the comparison says something


def test_the_learning_rates_of_reweighting_and_oversampling():
    """Mean and second moment of one update, by drawing batches: rates in proportion N_w/N_s give equal means."""
    stream = np.random.default_rng(2)
    majority, minority, rate = 60, 6, 10
    gradients = np.concatenate([stream.normal(1.0, 1.0, majority), stream.normal(-2.0, 1.0, minority)])
    weights = np.concatenate([np.ones(majority), np.full(minority, rate)])
    draws, batch = 40_000, 4
    reweighted = stream.choice(weights * gradients, (draws, batch)).mean(axis=1)
    copies = np.repeat(gradients, weights.astype(int))
    oversampled = stream.choice(copies, (draws, batch)).mean(axis=1)
    # (1/N_w) sum w g against (1/N_s) sum w g with N_w = 66 drawn from and N_s = 120
    factor = len(gradients) / len(copies)
    exact = [float(np.mean(weights * gradients)) * factor, float(np.mean(copies))]
    assert exact[0] == pytest.approx(exact[1])  # the inverse of the printed ratio
    error = 4 * reweighted.std() / np.sqrt(draws)
    assert abs(reweighted.mean() * factor - oversampled.mean()) < error
    printed = reweighted.mean() / factor
    assert printed / oversampled.mean() == pytest.approx(factor**-2, rel=0.1)
    assert np.mean((factor * reweighted) ** 2) > 2 * np.mean(oversampled**2)  # the second moment is the larger one


def test_the_minority_classifiers_vanish_beyond_the_second_threshold():
    """(K_A, K_B) = (7, 3), E_H = 5: R0 = 4.0005 and R1 = 5.7053 by the closed forms."""
    radius = 10 * np.sqrt(5.0)
    sizes = {}
    for ratio in (3.8, 4.2, 5.5, 6.0):
        logits, _ = best_logits([ratio] * 7 + [1.0] * 3, radius)
        left, values, _ = np.linalg.svd(logits)
        weights = left * np.sqrt(values)
        lengths = np.linalg.norm(weights[7:], axis=1)
        apart = np.linalg.norm(weights[7] - weights[8])
        sizes[ratio] = apart, lengths[0]
    assert sizes[3.8][0] > 1e-2
    assert sizes[4.2][0] < 1e-4 < 1e-2 < sizes[4.2][1]  # equal, and not zero: collapse at a finite R
    assert sizes[5.5][1] > 1e-2
    assert sizes[6.0][1] < 1e-2


def test_equal_classes_collapse_below_the_multiplier():
    """Three sizes: two classes of one size have one classifier exactly when n <= |gradient|_op N."""
    for small in (2.0, 12.0, 25.0, 45.0):
        counts = [100.0, 100.0, 60.0, small, small]
        logits, slope = best_logits(counts, 5 * np.sqrt(2.0))
        left, values, _ = np.linalg.svd(logits)
        apart = float(np.linalg.norm((left[3] - left[4]) * np.sqrt(values)))
        needed = np.linalg.norm(slope, 2) * sum(counts)
        assert (apart < 1e-4) == (small <= needed), (small, needed, apart)
        assert abs(small - needed) > 0.5  # none of the cases is a close call


def test_a_frame_of_lower_rank_beats_the_simplex_in_two_linear_layers():
    """Rank r with equal singular values: each of three factors has its energy in r directions, so
    sigma = (K E_W / 2r) sqrt(K E_H / r). For K = 4 two antipodal pairs win at energies of 1 and lose at 4."""
    share, pair = np.full(4, 0.25), np.array([[1, 0, -1, 0], [0, 1, 0, -1]]) / np.sqrt(2)

    def loss(directions, rank, energy):
        sigma = 4 * energy / (2 * rank) * np.sqrt(4 * energy / rank)
        return cross_entropy(sigma * directions, share)[0]

    for energy, wins in ((1.0, True), (4.0, False)):
        assert (loss(pair.T @ pair, 2, energy) < loss(np.eye(4) - 0.25, 3, energy)) == wins
