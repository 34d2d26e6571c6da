import math

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.data.clusters import ClusterSpec, component_points, hexagon_mixture, random_mixture
from lopsided.learners.wide_descent import WideDescent, full_batches
from lopsided.learners.wide_relu import accuracy, gradient_coefficients, network_outputs, random_network
from lopsided.measure.coupling import coupled_fraction
from lopsided.theory.wide_bounds import (
    coupling_bound,
    gradient_bound,
    gradient_energy_bound,
    likely_gradient_bound,
    pattern_kernel,
    unit_gradient_bounds,
)


def test_unit_gradients_stay_below_the_range_of_the_top_layer_but_not_below_its_largest_entry() -> None:
    # The proof of Lemma A.1 takes max |a|; a confidently wrong example reaches the range.
    top = np.array([[2.0], [-2.0]])
    point = np.array([[1.0, 0.0]])
    hidden = np.array([[3.0, 0.0]])
    coefficients = gradient_coefficients(point @ hidden.T, None, top, np.array([1]), np.ones(1))
    length = float(np.abs(coefficients[0, 0]))
    assert length > np.abs(top).max()
    assert length <= unit_gradient_bounds(top)[0]


def test_coupling_bound_holds_and_the_union_form_is_sharper() -> None:
    classes, components, width, steps = 2, 1, 20_000, 20
    spec = ClusterSpec(classes=classes, components=components, dimension=20, shape="point")
    corners = component_points(random_mixture(spec, generator(0)))
    network = random_network(width, 20, classes, generator(1))
    rate = 0.02 / width
    bound = coupling_bound(
        classes=classes,
        components=components,
        width=width,
        deviation=width**-0.5,
        rate=rate,
        steps=steps,
        gradient_bound=float(unit_gradient_bounds(network.top).max()),
    )
    run = WideDescent(network, corners.points, corners.labels, full_batches(2, steps), rate, probe=corners.points)
    for _ in run:
        pass
    measured = coupled_fraction(run.probe_initial_preactivations, run.probe_preactivations())
    assert bound.stated > 0
    assert bound.stated < bound.union
    assert measured >= bound.union - bound.sampling_margin


def test_union_bound_is_the_probability_of_its_event() -> None:
    # One pair and sigma = 1: P(|N| > tau / 2), by Monte Carlo.
    bound = coupling_bound(
        classes=2, components=1, width=1, deviation=1.0, rate=0.05, steps=1, gradient_bound=2.0, confidence=0.99
    )
    share = (np.abs(generator(0).standard_normal((200_000, 2))) <= bound.tau / 2).mean() * 2
    assert 1 - bound.union == pytest.approx(share, abs=4 * 2 * math.sqrt(share / 2 / 400_000))


def test_likely_bound_covers_the_top_layer() -> None:
    exceeded = 0
    for seed in range(200):
        network = random_network(50, 1, 4, generator(seed))
        exceeded += unit_gradient_bounds(network.top).max() > likely_gradient_bound(4, 50, 0.9)
    # At most 20 of 200 in expectation; a union bound, so far fewer.
    assert exceeded <= 20


def test_pattern_kernel_by_monte_carlo() -> None:
    points = generator(0).standard_normal((3, 5))
    weights = generator(1).standard_normal((200_000, 5))
    on = (weights @ points.T >= 0).astype(float)
    shares = on.T @ on / len(weights)
    # Standard error of a share is at most 0.5/sqrt(200000) = 0.0011, times inner products of at most |x|^2.
    scale = np.abs(points @ points.T)
    assert (np.abs(pattern_kernel(points) - shares * (points @ points.T)) <= 4 * 0.0012 * scale).all()


def test_energy_bound_is_attained_and_is_zero_on_the_hexagon() -> None:
    points = component_points(random_mixture(ClusterSpec(classes=3, dimension=30), generator(0))).points
    bound = gradient_energy_bound(points)
    kernel = pattern_kernel(points)
    rng = generator(1)
    for _ in range(200):
        signal = rng.uniform(-1, 1, len(points))
        signal /= np.abs(signal).max()
        assert signal @ kernel @ signal >= bound
    inverse = np.linalg.inv(kernel)
    worst = int(np.diag(inverse).argmax())
    attained = inverse[worst] / inverse[worst, worst]
    assert attained[worst] == pytest.approx(1)
    assert attained @ kernel @ attained == pytest.approx(bound)
    assert gradient_energy_bound(component_points(hexagon_mixture()).points) == 0
    assert gradient_energy_bound(component_points(hexagon_mixture(normalisation="lifted")).points) > 0.01


def test_no_pseudo_gradient_on_the_hexagon_whatever_the_width() -> None:
    # Equal errors on the six corners: sum over a triangle of unit vectors at 120 degrees is 0 (Lemma 5.2 fails).
    corners = component_points(hexagon_mixture())
    network = random_network(3000, 2, 2, generator(0))
    initial = corners.points @ network.hidden.T
    outputs = np.zeros_like(initial)  # a network that says nothing: o = 1/2 everywhere
    coefficients = gradient_coefficients(
        outputs, initial, network.top, corners.labels, np.full(6, 1 / 6), "pseudo gradient"
    )
    gradients = coefficients.T @ corners.points
    # Rounding of six terms of size |a|/12, |a| < 5.
    assert np.abs(gradients).max() < 1e-15
    assert np.abs(coefficients).max() > 0.1


def test_no_network_without_bias_classifies_the_hexagon_and_with_one_it_learns() -> None:
    flat, lifted = component_points(hexagon_mixture()), component_points(hexagon_mixture(normalisation="lifted"))
    for seed in range(300):  # any weights whatever: one corner of six is always wrong
        network = random_network(40, 2, 2, generator(seed))
        assert accuracy(network_outputs(flat.points @ network.hidden.T, network.top), flat.labels) <= 5 / 6
    network = random_network(500, 3, 2, generator(0))
    run = WideDescent(network, lifted.points, lifted.labels, full_batches(6, 500), 10 / 500, probe=lifted.points)
    for _ in run:
        pass
    assert accuracy(run.probe_outputs(), lifted.labels) == 1


def test_gradient_bound_holds_for_signals_fixed_in_advance() -> None:
    spec = ClusterSpec(classes=3, components=2, dimension=40, shape="point")
    corners = component_points(random_mixture(spec, generator(0)))
    gaps = np.linalg.norm(corners.points[:, None] - corners.points[None], axis=2)
    delta = gaps[corners.labels[:, None] != corners.labels[None]].min()
    network = random_network(4000, 40, 3, generator(1))
    initial = corners.points @ network.hidden.T
    gradients = (
        gradient_coefficients(initial, initial, network.top, corners.labels, np.full(6, 1 / 6), "pseudo gradient").T
        @ corners.points
    )
    bound = gradient_bound(classes=3, components=2, delta=delta, largest=1 / 9, deviation=4000**-0.5)
    share = (np.linalg.norm(gradients, axis=1) >= bound.size).mean()
    assert 0 < bound.fraction <= share


def test_bad_input_is_refused_in_a_sentence() -> None:
    for call in (
        lambda: gradient_bound(classes=2, components=1, delta=-1, largest=1, deviation=1),
        lambda: pattern_kernel([[0.0, 0.0]]),
    ):
        with pytest.raises(InputError):
            call()
