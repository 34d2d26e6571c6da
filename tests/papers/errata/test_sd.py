"""Errata of SGD on structured data, derived a second time: NumPy alone, nothing of lopsided."""

import gzip
import math

import numpy as np
import pytest


def test_no_pseudo_gradient_on_a_hexagon():
    """Alternating classes: for every direction w the half of the points that w sees sums to zero with signs +-1."""
    angles = np.arange(6) * np.pi / 3
    points, signs = np.column_stack([np.cos(angles), np.sin(angles)]), np.array([1, -1, 1, -1, 1, -1])
    directions = np.random.default_rng(0).standard_normal((1000, 2))
    active = directions @ points.T > 0
    assert np.abs((active * signs) @ points).max() < 1e-12
    squares = points[::2], points[1::2]
    across = np.linalg.norm(squares[0][:, None] - squares[1][None], axis=2)
    assert across.min() == pytest.approx(1.0)  # (A1) with points as components, (A2) with unit length


def test_the_gradient_of_a_unit_exceeds_its_largest_top_weight():
    """Two classes, a = (1, -1), class 0 taken for 1: |sum_i (p_i - y_i) a_i| = 2."""
    top, chance, target = np.array([1.0, -1.0]), np.array([0.0, 1.0]), np.array([1.0, 0.0])
    gradient = abs((chance - target) @ top)
    assert gradient == 2 * np.abs(top).max() == np.ptp(top)


def test_the_number_of_steps_that_the_conclusion_needs():
    """sum v^2 = (kl)^3/(delta^3 eta m) over T must be (kl)^5/(delta^4 sigma m): exponents of kl, delta, sigma, eta."""
    total, mean = np.array([3, -3, 0, -1]), np.array([5, -4, -1, 0])
    needed, printed = np.array([-2, 1, 1, -1]), np.array([-1, 1, 1, -1])
    assert np.array_equal(total - mean, needed)
    assert not np.array_equal(total - mean, printed)


def test_the_margin_that_a_small_error_gives():
    """1 - p <= 1/e against one other class: log(p/(1 - p)) >= log(e - 1), which is below 1."""
    assert (
        math.log((1 - 1 / math.e) / (1 / math.e))
        == pytest.approx(math.log(math.e - 1))
        == pytest.approx(0.541, abs=1e-3)
    )


def clusters(stream, count, means, spread):
    """Section 7: 10 classes of 2 components, covariance spread^2/d, points of length 1."""
    component = stream.integers(20, size=count)
    points = means[component] + spread / np.sqrt(means.shape[1]) * stream.standard_normal((count, means.shape[1]))
    return points / np.linalg.norm(points, axis=1, keepdims=True), component // 2, component


def trained(width, points, labels, steps, rate, stream, batch=16, goal=None, tests=None):
    """SGD of Section 7; |W - W0|/|W0| at the end, or where the accuracy on `tests` first reaches the goal."""
    start = stream.standard_normal((width, points.shape[1])) / np.sqrt(width)
    top = stream.standard_normal((10, width))
    weights = start.copy()
    for step in range(steps):
        some = stream.integers(len(points), size=batch)
        inner = points[some] @ weights.T
        outputs = np.maximum(inner, 0) @ top.T
        chance = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        chance[np.arange(batch), labels[some]] -= 1
        weights -= rate / width / batch * ((chance @ top) * (inner > 0)).T @ points[some]
        if goal is not None and step % 10 == 9:
            right = (np.maximum(tests[0] @ weights.T, 0) @ top.T).argmax(axis=1) == tests[1]
            if right.mean() >= goal:
                break
    return np.linalg.norm(weights - start) / np.linalg.norm(start)


def test_the_distance_falls_with_the_width():
    """At 98 % accuracy: about half over sqrt(m) where the text prints two thirds of sqrt(m)."""
    factors = []
    for width in (500, 2000):
        stream = np.random.default_rng(1)
        means = 5 / np.sqrt(1000) * stream.standard_normal((20, 1000))
        points, labels, _ = clusters(stream, 1000, means, 1.0)
        *tests, _ = clusters(stream, 500, means, 1.0)
        distance = trained(width, points, labels, 400, 10.0, stream, goal=0.98, tests=tests)
        factors.append(distance * np.sqrt(width))
    assert all(0.3 < factor < 1.0 for factor in factors), factors
    assert factors[1] / factors[0] == pytest.approx(1, abs=0.35)


def test_the_data_of_section_7_violate_their_assumption():
    """lambda = largest diameter of a component over the distance between classes must be at most 1/(8 l) = 1/16."""
    for spread, allowed in ((1.0, False), (0.25, True)):
        stream = np.random.default_rng(2)
        means = 5 / np.sqrt(1000) * stream.standard_normal((20, 1000))
        points, labels, component = clusters(stream, 400, means, spread)
        gaps = np.sqrt(np.maximum(2 - 2 * points @ points.T, 0))
        delta = gaps[labels[:, None] != labels].min()
        diameter = gaps[component[:, None] == component].max()
        assert (diameter / delta <= 1 / 16) == allowed, diameter / delta


def test_mnist_leaves_its_start_at_the_printed_rate(data_folder):
    """Learning rate 4 x 10^3/m (Section 7): 100 steps at m = 300 end farther from the start than half its length; at a
    hundredth of that rate they do not."""

    def raw(name, header):
        return np.frombuffer(gzip.decompress((data_folder / "mnist" / name).read_bytes()), np.uint8)[header:]

    count = 5000
    pixels = raw("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:count].astype(float)
    labels = raw("train-labels-idx1-ubyte.gz", 8)[:count]
    pixels /= np.linalg.norm(pixels, axis=1, keepdims=True)
    far, near = (trained(300, pixels, labels, 100, rate, np.random.default_rng(3), batch=64) for rate in (4000.0, 40.0))
    assert far > 0.5 > near, (far, near)
