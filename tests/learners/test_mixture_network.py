"""Loss, gradient, Hessian and descent against finite differences, PyTorch and one another."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import torch
from lopsided.core.activation import ACTIVATIONS, value
from lopsided.core.errors import InputError
from lopsided.learners import teacher_student
from lopsided.learners.mixture_classifier import TeacherStudentClassifier
from lopsided.learners.multi_output import bits_needed, class_bits, class_probability
from lopsided.learners.neuron_matching import match_neurons
from lopsided.learners.teacher_student import (
    loss,
    loss_and_gradient,
    loss_gradient_hessian,
    paper_step,
    probability,
    training_set,
)
from lopsided.learners.teacher_student_descent import DescentOutcome, descend, mean_noise
from lopsided.learners.teacher_student_newton import newton
from tests.mixture_problems import near, plain_problem, random_problem, sample

torch.set_num_threads(1)
BELL = {
    "sigmoid": torch.sigmoid,
    "tanh": lambda z: (1 + torch.tanh(z)) / 2,
    "erf": lambda z: (1 + torch.erf(z)) / 2,
}


def torch_loss(weights, features, labels, activation):
    chance = BELL[activation](torch.as_tensor(features) @ weights).mean(dim=1)
    target = torch.as_tensor(labels)
    return -(target * torch.log(chance) + (1 - target) * torch.log1p(-chance)).mean()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_loss_gradient_and_hessian_match_autograd(activation):
    problem = random_problem(1, dimension=4, neurons=3, activation=activation)
    drawn = sample(problem, 700)
    data = training_set(drawn.features * 0.5, drawn.labels, activation)
    start = near(problem.weights, 0)
    weights = torch.tensor(start, requires_grad=True)
    expected = torch_loss(weights, drawn.features * 0.5, drawn.labels, activation)
    (slope,) = torch.autograd.grad(expected, weights, create_graph=True)
    rows = [
        torch.autograd.grad(slope[a, j], weights, retain_graph=True)[0].T.ravel() for j in range(3) for a in range(4)
    ]
    found, gradient, hessian = loss_gradient_hessian(start, data)
    # float64 sums of 700 terms of order one; autograd divides by 1 - H, which costs a few more digits.
    assert found == pytest.approx(expected.item(), rel=1e-12)
    assert np.allclose(gradient, slope.detach().numpy(), atol=1e-12)
    assert np.allclose(hessian, torch.stack(rows).numpy(), atol=1e-10)
    assert np.allclose(loss_and_gradient(start, data)[1], gradient, atol=1e-15)


def test_both_ways_to_the_hessian_agree(monkeypatch):
    problem = random_problem(2, dimension=5, neurons=3)
    drawn = sample(problem, 5000)
    data = training_set(drawn.features, drawn.labels)
    compiled = loss_gradient_hessian(problem.weights, data)[2]
    monkeypatch.setattr(teacher_student, "FEW_FEATURES", 0)
    products = loss_gradient_hessian(problem.weights, data)[2]
    assert np.allclose(compiled, products, rtol=1e-11, atol=1e-14)  # the same sums in another order


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_nothing_breaks_where_the_activation_underflows(activation):
    """At |z| = 700 phi underflows for every activation; derivatives then follow from log phi ~ z, 2z or -z^2."""
    features = np.array([[-700.0, 1.0], [700.0, 1.0], [-30.0, 1.0], [-3.0, 1.0]])
    data = training_set(features, [1, 0, 1, 1], activation)
    weights = np.array([[1.0, 1.001], [0.0, 0.2]])
    found, gradient, hessian = loss_gradient_hessian(weights, data)
    assert np.isfinite(found)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    for a in range(2):
        for j in range(2):
            step = np.zeros((2, 2))
            step[a, j] = 1e-6
            up, down = loss_and_gradient(weights + step, data), loss_and_gradient(weights - step, data)
            # Loss values reach 5e5 for erf, so a central difference carries 5e5 * 1e-16 / 1e-6 and curvature * step^2.
            assert (up[0] - down[0]) / 2e-6 == pytest.approx(gradient[a, j], rel=1e-5, abs=1e-4)
            change = (up[1] - down[1]) / 2e-6
            assert np.allclose(change.T.ravel(), hessian[2 * j + a], rtol=1e-4, atol=1e-3)


def test_descent_takes_the_same_steps_as_pytorch():
    problem = plain_problem()
    drawn = sample(problem, 1500)
    start = near(problem.weights, 0)
    run = descend(training_set(drawn.features, drawn.labels), start, 5.0, 200, record_every=50)
    weights = torch.tensor(start, requires_grad=True)
    for _ in range(200):
        (slope,) = torch.autograd.grad(torch_loss(weights, drawn.features, drawn.labels, "sigmoid"), weights)
        weights = (weights - 5.0 * slope).detach().requires_grad_()
    # The issue asks for 1e-8; descent contracts rounding, so 200 steps stay near 1e-13.
    assert np.abs(run.weights - weights.detach().numpy()).max() < 1e-11
    assert run.recorded == (0, 50, 100, 150, 200)
    assert np.array_equal(run.trajectory[0], start)
    assert np.array_equal(run.trajectory[-1], run.weights)


def test_descent_says_how_it_ended():
    problem = plain_problem(dimension=3, neurons=2)
    drawn = sample(problem, 500)
    data = training_set(drawn.features, drawn.labels)
    start = near(problem.weights, 1)
    assert descend(data, start, 3.0, 5).outcome is DescentOutcome.ALL_STEPS
    converged = descend(data, start, 3.0, 100_000, tolerance=1e-6)
    assert converged.outcome is DescentOutcome.CONVERGED
    assert converged.gradient_norm <= 1e-6
    assert np.allclose(converged.weights, newton(data, start).weights, atol=1e-2)
    assert descend(data, np.full((3, 2), 1e308), 1e308, 50).outcome is DescentOutcome.DIVERGED


def test_newton_reaches_the_critical_point_with_a_certificate():
    problem = plain_problem()
    drawn = sample(problem, 10_000)
    data = training_set(drawn.features, drawn.labels)
    with ThreadPoolExecutor(max_workers=2) as pool:  # the compiled loops release the interpreter
        points = list(pool.map(lambda seed: newton(data, near(problem.weights, seed)), range(3)))
    for point in points:
        assert point.found
        assert point.gradient_norm < 1e-10
        assert point.least_curvature > 0
        assert np.linalg.norm(loss_and_gradient(point.weights, data)[1]) < 1e-10
        # Gradient 1e-11 over the least curvature of about 3e-4.
        assert np.allclose(point.weights, points[0].weights, atol=1e-6)
    run = descend(data, near(problem.weights, 0), 20.0, 3000)
    assert loss(run.weights, data) >= points[0].loss - 1e-12


def test_noise_has_the_stated_size_and_shifts_descent():
    noise = mean_noise(2.0, 400, 3000, (2, 2), np.random.default_rng(0))
    # Variance xi^2 / (3 n), 12000 draws: 5 standard errors of a standard deviation.
    assert noise.std() == pytest.approx(2.0 / np.sqrt(1200), rel=5 / np.sqrt(2 * 12_000))
    few = mean_noise(2.0, 20, 2000, (2, 2), np.random.default_rng(0))
    assert few.std() == pytest.approx(2.0 / np.sqrt(60), rel=5 / np.sqrt(2 * 8000))
    assert np.abs(few).max() <= 2.0
    problem = plain_problem(dimension=2, neurons=2)
    drawn = sample(problem, 300)
    data = training_set(drawn.features, drawn.labels)
    fixed = (
        0.03 * noise[:1]
    )  # small: a larger constant push sends weights to infinity, where the sigmoid resists no more
    run = descend(data, problem.weights, 3.0, 60_000, noise=fixed, tolerance=0.0)
    # With noise that stays, descent ends where the gradient equals minus the noise.
    assert np.allclose(loss_and_gradient(run.weights, data)[1], -fixed[0], atol=1e-6)


def test_recovery_ignores_the_order_of_neurons():
    teacher = np.random.default_rng(0).standard_normal((6, 5))
    shuffled = teacher[:, [3, 0, 4, 1, 2]] + 1e-3
    match = match_neurons(shuffled, teacher)
    assert np.allclose(match.weights, teacher, atol=2e-3)
    assert match.distance == pytest.approx(1e-3 * np.sqrt(30))


def test_classes_by_bits():
    assert [bits_needed(k) for k in (2, 3, 4, 5, 8)] == [1, 2, 2, 3, 3]
    assert class_bits(np.array([0, 1, 2, 3]), 2).tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    source = np.random.default_rng(1)
    weights = [source.standard_normal((3, 2)) for _ in range(2)]
    features = source.standard_normal((50, 3))
    chances = class_probability(weights, features, "sigmoid")
    low, high = (value(features @ matrix, "sigmoid").mean(axis=1) for matrix in weights)
    assert np.allclose(chances[:, 2], (1 - low) * high)
    assert np.allclose(chances.sum(axis=1), 1)
    labels = source.integers(0, 4, 50)
    # Eq 60 is minus the log-likelihood of the classes.
    likelihood = -np.log(chances[np.arange(50), labels]).mean()
    bits = class_bits(labels, 2).T
    joint = sum(loss(matrix, training_set(features, bit)) for matrix, bit in zip(weights, bits, strict=True))
    assert joint == pytest.approx(likelihood, rel=1e-12)
    assert np.allclose(probability(weights[0], features), low)


def test_the_papers_step():
    assert paper_step(np.array([0.5, 0.5]), np.array([3.0, 1.0]), np.array([1.0, 1.0]), 20.0) == pytest.approx(2.0)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="labels 0 or 1"):
        training_set(np.zeros((3, 2)), [0, 1, 2])
    with pytest.raises(InputError, match="finite"):
        training_set([[np.nan, 1.0]], [1])
    with pytest.raises(InputError, match="3 labels"):
        training_set(np.zeros((3, 2)), [0, 1])
    data = training_set(np.ones((3, 2)), [0, 1, 1])
    with pytest.raises(InputError, match="2 rows"):
        loss(np.ones((3, 1)), data)
    with pytest.raises(InputError, match="step"):
        descend(data, np.ones((2, 1)), -1.0, 5)
    with pytest.raises(InputError, match="noise"):
        descend(data, np.ones((2, 1)), 1.0, 5, noise=np.ones((3, 2, 1)))


def test_a_frame_with_two_columns_of_one_name_is_one_sentence() -> None:
    frame = pd.DataFrame(np.arange(20.0).reshape(10, 2), columns=["x", "x"])
    labels = np.arange(10) % 2
    with pytest.raises(InputError, match="columns of different names in X"):
        TeacherStudentClassifier(steps=1).fit(frame, labels)
    fitted = TeacherStudentClassifier(steps=1, random_state=0).fit(frame.to_numpy(), labels)
    with pytest.raises(InputError, match="columns of different names in X"):
        fitted.predict_proba(frame)


def test_features_of_almost_no_size_are_one_sentence() -> None:
    """Their powers vanish; once a warning, or LinAlgError."""
    features = np.random.default_rng(0).choice([-1e-200, 0.0, 1e-200], size=(24, 2))
    with pytest.raises(InputError, match=r"features whose moments can be decomposed, but got .*; rescale them"):
        TeacherStudentClassifier(1, steps=1, initialisation="tensor", random_state=0).fit(features, np.arange(24) % 2)
