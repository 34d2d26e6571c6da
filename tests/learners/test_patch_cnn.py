"""The network of eq (1) against PyTorch autograd, finite differences and its own two forms."""

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.learners.patch_cnn import READINGS, Training, initial_weights, outputs, probabilities, train


def problem(seed=0, K=3, m=4, d=7, n=11):
    random = generator(seed, "cnn")
    labels = random.integers(0, K, n)
    return initial_weights(random, K, m, d), random.standard_normal((K, d)), random.standard_normal((n, d)), labels


def gradient(weights, features, noise, labels):
    """(loss, dL/dW) of eq (2) and eq (60) by the plain formulas; the reference for `train`."""
    K, m, d = weights.shape
    logits = outputs(weights, features, noise, labels)
    p = probabilities(logits)
    rows = np.arange(labels.size)
    loss = float(-np.log(p[rows, labels]).mean())
    residual = p.copy()
    residual[rows, labels] -= 1.0
    residual /= m * labels.size
    flat = weights.reshape(K * m, d)
    on_noise = (flat @ noise.T > 0).reshape(K, m, -1) * residual.T[:, None, :]
    per_feature = np.stack([residual[labels == k].sum(axis=0) for k in range(K)], axis=1)  # K outputs x K features
    on_features = (flat @ features.T > 0).reshape(K, m, K) * per_feature[:, None, :]
    slope = np.einsum("kmn,nd->kmd", on_noise, noise, optimize=True) + on_features @ features
    return loss, slope


def torch_loss(torch, W, features, noise, labels):
    x = torch.stack([features[labels], noise], dim=1)
    logits = torch.relu(torch.einsum("kmd,npd->nkmp", W, x)).mean(dim=2).sum(dim=2)
    return torch.nn.functional.cross_entropy(logits, labels), logits


def as_tensors(torch, *arrays):
    return [torch.tensor(array) for array in arrays]


@pytest.mark.parametrize("seed", range(5))
def test_gradient_is_autograds(seed) -> None:
    torch = pytest.importorskip("torch")
    W, features, noise, labels = problem(seed)
    ours, slope = gradient(W, features, noise, labels)
    Wt, *rest = as_tensors(torch, W, features, noise, labels)
    Wt.requires_grad_()
    loss, logits = torch_loss(torch, Wt, *rest)
    loss.backward()
    # Two float64 evaluations of the same sums.
    np.testing.assert_allclose(ours, loss.item(), rtol=1e-13)
    np.testing.assert_allclose(slope, Wt.grad.numpy(), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(outputs(W, features, noise, labels), logits.detach().numpy(), rtol=1e-12)


def test_gradient_by_finite_differences() -> None:
    W, features, noise, labels = problem(9)
    _, slope = gradient(W, features, noise, labels)
    direction = generator(1, "direction").standard_normal(W.shape)
    h = 1e-6
    up, down = (gradient(W + sign * h * direction, features, noise, labels)[0] for sign in (1, -1))
    # Central differences: h^2 truncation and 1e-16/h rounding, both about 1e-10.
    np.testing.assert_allclose((up - down) / (2 * h), np.sum(slope * direction), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("batch", [None, 4, 1])
@pytest.mark.parametrize("form", ["span", "weights"])
def test_iterates_are_those_of_autograd(batch, form) -> None:
    torch = pytest.importorskip("torch")
    W, features, noise, labels = problem(2)
    training = Training(step=0.7, epochs=6, batch=batch, scale_step_by_width=True)
    fit = train(W, features, noise, labels, training, generator(5, "order"), form=form)
    Wt, ft, nt, lt = as_tensors(torch, W, features, noise, labels)
    order = generator(5, "order")
    for _ in range(6):
        rows = np.arange(labels.size) if batch is None else order.permutation(labels.size)
        for part in np.split(rows, range(batch or labels.size, labels.size, batch or labels.size)):
            Wt = Wt.detach().requires_grad_()
            index = torch.tensor(part)
            loss, _ = torch_loss(torch, Wt, ft, nt[index], lt[index])
            loss.backward()
            Wt = Wt - 0.7 * W.shape[1] * Wt.grad
    # Dozens of steps of float64 sums in another order; a neuron that flips by rounding would differ in the first digit.
    np.testing.assert_allclose(fit.weights, Wt.detach().numpy(), rtol=1e-9, atol=1e-12)
    assert fit.steps == 6 * -(-labels.size // (batch or labels.size))


def test_both_forms_give_the_same_trajectory() -> None:
    W, features, noise, labels = problem(4, K=2, m=5, d=30, n=20)
    fits = [
        train(W, features, noise, labels, Training(step=2.0, epochs=30), generator(0, "x"), record=[3, 10], form=form)
        for form in ("span", "weights")
    ]
    assert fits[0].trajectory.epochs.tolist() == [0, 3, 10, 30]
    for name in ("loss", "class_loss", "accuracy", "coefficient_low", "coefficient_high", "active"):
        first, second = (getattr(fit.trajectory, name) for fit in fits)
        np.testing.assert_allclose(first, second, rtol=1e-10)  # the same sums in another order


def test_records_mean_what_they_say() -> None:
    W, features, noise, labels = problem(6, K=3, m=5, d=12, n=15)
    fit = train(W, features, noise, labels, Training(step=1.0, epochs=3), generator(0, "x"), record=[1, 2])
    weights, lost = W, np.zeros(15)
    for _ in range(3):
        p = probabilities(outputs(weights, features, noise, labels))
        lost += 1 - p[np.arange(15), labels]
        weights = weights - gradient(weights, features, noise, labels)[1]
    np.testing.assert_allclose(fit.coefficients, lost, rtol=1e-12)
    np.testing.assert_allclose(fit.balance, [np.sqrt(np.square(lost[labels == k]).sum()) for k in range(3)], rtol=1e-12)
    last = {name: getattr(fit.trajectory, name)[-1] for name in fit.trajectory.__dataclass_fields__}
    F = outputs(fit.weights, features, noise, labels)
    loss = -np.log(probabilities(F)[np.arange(15), labels])
    np.testing.assert_allclose(last["loss"], loss.mean(), rtol=1e-10)
    np.testing.assert_allclose(last["class_loss"], [loss[labels == k].mean() for k in range(3)], rtol=1e-10)
    assert last["accuracy"] == (F.argmax(axis=1) == labels).mean()
    np.testing.assert_allclose(last["coefficient_high"], (1 - np.exp(-loss)).max(), rtol=1e-10)
    np.testing.assert_allclose(last["coefficient_low"], (1 - np.exp(-loss)).min(), rtol=1e-10)
    share = [(noise[labels == k] @ fit.weights[k].T > 0).mean() for k in range(3)]
    np.testing.assert_allclose(last["active"], share, rtol=1e-12)


def test_initial_weights() -> None:
    pytest.importorskip("torch")
    import torch

    layer = torch.nn.Linear(400, 500, bias=False)
    ours = initial_weights(generator(0, "w"), 5, 100, 400)
    assert abs(ours).max() <= 1 / np.sqrt(400)
    # 200,000 uniform draws: the deviation's relative standard error is 0.1%.
    np.testing.assert_allclose(ours.std(), layer.weight.detach().numpy().std(), rtol=0.01)
    np.testing.assert_allclose(initial_weights(generator(0, "w"), 5, 100, 400, deviation=0.3).std(), 0.3, rtol=0.01)


def test_stopping_and_refusals() -> None:
    W, features, noise, labels = problem(1, K=2, m=5, d=40, n=10)
    training = Training(step=5.0, epochs=2000, stop_at_loss=0.05)
    fit = train(W, features, noise, labels, training, generator(0, "x"), record=range(0, 2000, 5))
    assert fit.status == "loss 0.05 reached"
    assert fit.trajectory.loss[-1] <= 0.05 < fit.trajectory.loss[-2]
    unasked = train(W, features, noise, labels, training, generator(0, "x"))
    assert unasked.trajectory.epochs[-1] % 10 == 0
    assert fit.trajectory.epochs[-1] <= unasked.trajectory.epochs[-1] < fit.trajectory.epochs[-1] + 10
    short = train(W, features, noise, labels, Training(epochs=1, stop_at_loss=1e-9), generator(0, "x"))
    assert short.status == "loss 1e-09 not reached"
    with pytest.raises(InputError, match=r"but got shapes"):
        train(W, features[:, :3], noise, labels, Training(), generator(0, "x"))
    with pytest.raises(InputError, match="labels from 0"):
        train(W, features, noise, labels + 5, Training(), generator(0, "x"))
    assert set(READINGS) == {"full batch", "mini-batch", "scaled step", "converged"}
