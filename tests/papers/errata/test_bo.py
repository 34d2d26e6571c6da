"""Errata of benign overfitting, derived a second time: NumPy, SciPy and scikit-learn's digits, nothing of lopsided."""

import numpy as np
import pytest

CLASSES = 3


def problem(width=20, dimension=150, per_class=15, feature=1.0, spike=0.5, seed=0):
    """Features e_k, noise 0.5 I off them with one stronger direction a class; weights of PyTorch's size."""
    stream = np.random.default_rng(seed)
    labels = np.repeat(np.arange(CLASSES), per_class)
    noise = 0.5 * stream.standard_normal((labels.size, dimension))
    noise[:, :CLASSES] = 0.0
    noise[np.arange(labels.size), CLASSES + labels] *= spike / 0.5
    features = feature * np.eye(CLASSES, dimension)[labels]
    weights = stream.uniform(-1, 1, (CLASSES, width, dimension)) / np.sqrt(dimension)
    return weights, features, noise, labels


def forward(weights, features, noise):
    flat = weights.reshape(-1, weights.shape[2]).T
    both = [(patch @ flat).reshape(len(patch), *weights.shape[:2]) for patch in (features, noise)]
    return both, sum(np.maximum(part, 0.0).sum(axis=2) for part in both) / weights.shape[1]


def chances(outputs):
    odds = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def descend(weights, features, noise, labels, step, steps):
    """Full-batch descent on the cross entropy; the losses, and 1 - p of every example summed over the steps."""
    losses, sums = [], np.zeros(labels.size)
    for _ in range(steps):
        parts, outputs = forward(weights, features, noise)
        chance = chances(outputs)
        own = chance[np.arange(labels.size), labels]
        losses.append(float(-np.log(own).mean()))
        sums += 1 - own
        push = np.eye(CLASSES)[labels] - chance
        gradient = sum(
            ((push[:, :, None] * (part > 0)).reshape(labels.size, -1).T @ patch).reshape(weights.shape)
            for part, patch in zip(parts, (features, noise), strict=True)
        )
        weights = weights + step / (weights.shape[1] * labels.size) * gradient
    return weights, np.array(losses), sums


def test_condition_1_admits_only_a_small_constant():
    """Tr(A^T A) >= C n |A^T A|_F log(n^2/delta) with A = 0.5 I in d = 1000, n = 500, delta = 0.05."""
    trace, norm, examples = 0.25 * 1000, 0.25 * np.sqrt(1000), 500
    assert trace / (examples * norm * np.log(examples**2 / 0.05)) < 0.01


def test_the_smaller_of_two_constants_serves_both_terms():
    """If signal <= a and ratio <= b imply harm, so do signal <= c and ratio <= c for c = min(a, b)."""
    stream = np.random.default_rng(0)
    signal, ratio = stream.lognormal(0, 2, (2, 100_000))
    for a, b in ((0.1, 3.0), (4.0, 1.5)):
        smaller = min(a, b)
        inside = (signal <= smaller) & (ratio <= smaller)
        assert inside.any()
        assert np.all((signal <= a) & (ratio <= b) | ~inside)


def test_lemma_6_has_no_factor_of_the_width():
    """The response of a class's neurons to its own noise over (eta/n) |A^T A|_F b(S) is alike for two widths."""
    factors = []
    for width in (20, 80):
        weights, features, noise, labels = problem(width=width)
        end, _, sums = descend(weights, features, noise, labels, 0.5 * width, 150)
        fresh = noise[labels == 0]
        reached = np.maximum(np.einsum("md,nd->nm", end[0] - weights[0], fresh), 0).sum(axis=1).mean()
        factors.append(reached / (0.5 * width / labels.size * np.sqrt(np.sum(sums[labels == 0] ** 2))))
    assert 0.5 < factors[1] / factors[0] < 2.0  # with the printed eta m / n it would be a quarter


def test_any_feature_makes_the_bayes_accuracy_one():
    """Features are orthogonal to the noise, so the class can be read off a projection however short they are."""
    _, features, noise, labels = problem(feature=1e-6)
    seen = (features + noise)[:, :CLASSES]
    assert np.array_equal(seen.argmax(axis=1), labels)


def test_twenty_full_batch_steps_do_not_fit():
    """Rate 0.05 as in eq (4): the loss hardly moves in 20 steps; with 40 times as many passes it falls."""
    weights, features, noise, labels = problem(width=40)
    loss = descend(weights, features, noise, labels, 0.05, 20)[1]
    assert loss[-1] > 0.95 * loss[0]
    assert descend(weights, features, noise, labels, 0.05 * 40, 200)[1][-1] < 0.5 * loss[0]


def test_the_first_rate_does_not_last():
    """-d log loss/dt where the loss has halved, over that of the start: 1 for an exponential, 1/2 for 1/(1 + t)."""
    weights, features, noise, labels = problem(width=40)
    loss = descend(weights, features, noise, labels, 0.1 * 40, 300)[1]
    assert loss[-1] < 0.5 * loss[0]
    rates = -np.diff(np.log(loss))
    half = int(np.flatnonzero(loss <= 0.5 * loss[0])[0])
    assert rates[half] / rates[:3].mean() < 0.75


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return pixels / 16, labels


def test_noise_ratios_of_digits_are_small(digits):
    pixels, labels = digits
    covariances = [np.cov(pixels[labels == k], rowvar=False, bias=True) for k in range(10)]
    overlap = np.array([[np.sum(a * b) for b in covariances] for a in covariances])
    ratios = (np.diag(overlap)[:, None] / overlap)[~np.eye(10, dtype=bool)]
    assert np.mean(ratios > 1) > 0.8
    assert 1.5 < np.median(ratios) < 4


def test_high_scores_are_far_from_the_mean(digits):
    """Influence by leaving examples out one by one (eq 10) in one class: the highest tenth lies farther out."""
    pixels, labels = digits
    own = pixels[labels == 3]
    whole = np.sum(np.cov(own, rowvar=False, bias=True) ** 2)
    scores = np.array(
        [whole - np.sum(np.cov(np.delete(own, i, axis=0), rowvar=False, bias=True) ** 2) for i in range(len(own))]
    )
    order = np.argsort(scores)
    far = np.linalg.norm(own - own.mean(axis=0), axis=1)
    tenth = len(own) // 10
    assert far[order[-tenth:]].mean() > far[order[:tenth]].mean() + far.std()
