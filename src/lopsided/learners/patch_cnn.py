"""The two-layer ReLU network of Xu and Chen 2025, eq (1), and its descent, eq (4), with gradients in closed form.

    F_k(W, x) = (1/m) sum_r sum_j relu(<w_{k,r}, x^(j)>),        example i = (u_{y_i}, xi_i)
    - dL/dw_{k,r} = (1/mn) sum_i (1[y_i = k] - p_k(x_i)) sum_j 1[<w_{k,r}, x_i^(j)> > 0] x_i^(j)         (eq 60)

Every step moves W inside the span of the K features and n noise patches, so the run keeps the coefficients of W there
and computes pre-activations from the Gram matrix of the patches. An epoch then costs one n x n x Km product for any
dimension and batch size, instead of two n x d x Km products. If n > 2 d, it is cheaper to keep the weights themselves;
both ways give the same iterates, and `train` takes the cheaper one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_count, check_positive

PatchForm = Literal["span", "weights"]


@dataclass(frozen=True)
class Training:
    """How to train: step eta, passes over the data, batch size (None = full batch), and when to stop early.

    `scale_step_by_width` multiplies eta by m, which undoes the 1/m of eq (1) in the step.
    """

    step: float = 0.05
    epochs: int = 20
    batch: int | None = None
    scale_step_by_width: bool = False
    stop_at_loss: float | None = None


# "GD with a learning rate 0.05 over 20 epochs" (Section 5.1) can be read in three ways; only the first is GD as in eq
# (4), and it does not fit the training set. `converged` trains to convergence, as Theorem 1 assumes.
READINGS: dict[str, Training] = {
    "full batch": Training(),
    "mini-batch": Training(batch=10),
    "scaled step": Training(scale_step_by_width=True),
    "converged": Training(step=1.0, epochs=2000, scale_step_by_width=True, stop_at_loss=0.01),
}


@dataclass(frozen=True)
class Trajectory:
    """What happened, one entry per recorded epoch (the first before any step); K columns where per class."""

    epochs: IntArray
    loss: FloatArray  # mean cross entropy over the training set
    class_loss: FloatArray  # the same per class
    accuracy: FloatArray  # training accuracy
    coefficient_low: FloatArray  # min_i 1 - p_{y_i}, the smallest gradient coefficient
    coefficient_high: FloatArray  # max_i
    active: FloatArray  # per class: mean share of the class's own neurons that its noise patches activate


@dataclass(frozen=True)
class PatchFit:
    """Trained weights (K x m x d), the start, the trajectory, and b(S_k) of eq (8)."""

    weights: FloatArray
    initial: FloatArray
    trajectory: Trajectory
    coefficients: FloatArray  # n, sum of 1 - p_{y_i} over the steps that use the example, as in eq (8)
    balance: FloatArray  # K, b(S_k) = sqrt(sum of squares of those over the class)
    steps: int
    status: str

    def outputs(self, features: FloatArray, noise: FloatArray, labels: IntArray) -> FloatArray:
        """F (n x K) on examples (u_y, xi)."""
        return outputs(self.weights, features, noise, labels)


def initial_weights(
    random: np.random.Generator, classes: int, width: int, dimension: int, *, deviation: float | None = None
) -> FloatArray:
    """K x m x d weights: N(0, deviation^2), or PyTorch's default U(-1/sqrt d, 1/sqrt d) where no deviation is given."""
    shape = (check_count(classes, "classes", at_least=2), check_count(width, "width"), check_count(dimension, "d"))
    if deviation is None:
        edge = 1.0 / np.sqrt(dimension)
        return random.uniform(-edge, edge, shape)
    return check_positive(deviation, "the initial deviation") * random.standard_normal(shape)


def _shapes(weights: FloatArray, features: FloatArray, noise: FloatArray, labels: IntArray) -> None:
    K, _, d = weights.shape
    if features.shape != (K, d) or noise.ndim != 2 or noise.shape[1] != d or labels.shape != noise.shape[:1]:
        expected = f"features ({K}, {d}), noise (n, {d}) and n labels"
        got = f"shapes {features.shape}, {noise.shape}, {labels.shape}"
        raise InputError(expected, got)
    if labels.size == 0 or labels.min() < 0 or labels.max() >= K:
        raise InputError(f"labels from 0 to {K - 1}", "others")


def outputs(weights: FloatArray, features: FloatArray, noise: FloatArray, labels: IntArray) -> FloatArray:
    """F (n x K) of eq (1) on examples (u_y, xi)."""
    _shapes(weights, features, noise, labels)
    run = _Run(weights, features, noise, "weights")
    return run.outputs(run.noise_activations(slice(None)), labels)


def probabilities(logits: FloatArray) -> FloatArray:
    """softmax by rows, eq (3)."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


class _Run:
    """The weights while they move, as coefficients of the patches or as they are (module docstring).

    Activations are example-major, b x Km, so that a batch reads and writes whole rows.
    """

    def __init__(self, weights: FloatArray, features: FloatArray, noise: FloatArray, form: PatchForm) -> None:
        self.K, self.m, d = weights.shape
        self.features, self.noise, self.form = features, noise, form
        self.flat = weights.reshape(self.K * self.m, d).copy()
        self.on_features = features @ self.flat.T  # K x Km
        self.feature_gram = features @ features.T
        self.cross = noise @ features.T  # zero for the paper's data, kept for any other
        lengths = np.linalg.norm(noise, axis=1).max() * np.linalg.norm(features, axis=1).max()
        self.crossing = bool(np.abs(self.cross).max() > 1e-13 * lengths)  # below, it is rounding
        if form == "span":
            self.start = noise @ self.flat.T  # n x Km
            self.gram = noise @ noise.T
            self.noise_weights = np.zeros_like(self.start)
            self.feature_weights = np.zeros_like(self.on_features)

    def noise_activations(self, rows: slice | IntArray) -> FloatArray:
        """<w, xi> for every neuron and the noise patches in `rows`."""
        if self.form == "weights":
            return np.asarray(self.noise[rows] @ self.flat.T)
        result: FloatArray = self.gram[rows] @ self.noise_weights
        result += self.start[rows]
        if self.crossing:
            result += self.cross[rows] @ self.feature_weights
        return result

    def outputs(self, activations: FloatArray, labels: IntArray) -> FloatArray:
        """F of eq (1) from the activations of noise patches and the labels that name the feature patches."""
        from_noise = np.maximum(activations, 0.0).reshape(-1, self.K, self.m).mean(axis=2)
        from_features = np.maximum(self.on_features, 0.0).reshape(self.K, self.K, self.m).mean(axis=2)
        return np.asarray(from_noise + from_features[labels])

    def move(self, rows: slice | IntArray, by_noise: FloatArray, by_features: FloatArray) -> None:
        """W += by_noise^T X[rows] + by_features^T U, in the form in which W is kept."""
        if self.form == "weights":
            self.flat += by_noise.T @ self.noise[rows] + by_features.T @ self.features
            self.on_features = self.features @ self.flat.T
            return
        self.noise_weights[rows] += by_noise
        self.feature_weights += by_features
        self.on_features += self.feature_gram @ by_features
        if self.crossing:
            self.on_features += self.cross[rows].T @ by_noise

    def weights(self) -> FloatArray:
        """W as K x m x d."""
        flat = self.flat
        if self.form == "span":
            flat = flat + self.noise_weights.T @ self.noise + self.feature_weights.T @ self.features
        return flat.reshape(self.K, self.m, -1)


def train(
    weights: FloatArray,
    features: FloatArray,
    noise: FloatArray,
    labels: IntArray,
    training: Training,
    random: np.random.Generator,
    *,
    record: Sequence[int] | None = None,
    form: PatchForm | None = None,
) -> PatchFit:
    """Descend eq (4) from `weights`; `random` shuffles the batches of every epoch.

    record: epochs after which the trajectory is kept, in addition to the first and the last; with `stop_at_loss` the
    loss is checked after those epochs. By default, every tenth.
    """
    _shapes(weights, features, noise, labels)
    n = labels.size
    check_positive(training.step, "the learning rate")
    check_count(training.epochs, "epochs", at_least=0)
    size = n if training.batch is None else min(check_count(training.batch, "the batch size"), n)
    step = training.step * (weights.shape[1] if training.scale_step_by_width else 1)
    run = _Run(weights, features, noise, form or ("span" if n <= 2 * noise.shape[1] else "weights"))
    looks = range(0, training.epochs, 10) if record is None and training.stop_at_loss is not None else record
    marks = {0, training.epochs, *(looks or ())}
    history: list[tuple[FloatArray, ...]] = []
    seen: list[int] = []
    coefficients = np.zeros(n)
    status, steps, epoch = "finished", 0, 0
    for epoch in range(training.epochs + 1):
        if epoch in marks:
            seen.append(epoch)
            history.append(_snapshot(run, labels))
            loss = float(history[-1][0])
            if not np.isfinite(loss):
                status = "diverged"
                break
            if training.stop_at_loss is not None and loss <= training.stop_at_loss:
                status = f"loss {training.stop_at_loss:g} reached"
                break
        if epoch == training.epochs:
            break
        order = np.arange(n) if size == n else random.permutation(n)
        for start in range(0, n, size):
            rows: slice | IntArray = slice(None) if size == n else order[start : start + size]
            coefficients[rows] += _descend(run, rows, labels, step)
            steps += 1
    if training.stop_at_loss is not None and status == "finished":
        status = f"loss {training.stop_at_loss:g} not reached"
    balance = np.sqrt(np.bincount(labels, weights=coefficients**2, minlength=weights.shape[0]))
    columns = [np.array(column) for column in zip(*history, strict=True)]
    trajectory = Trajectory(np.array(seen, dtype=np.int64), *columns)
    return PatchFit(run.weights(), weights, trajectory, coefficients, balance, steps, status)


def _descend(run: _Run, rows: slice | IntArray, labels: IntArray, step: float) -> FloatArray:
    """One step on the batch `rows`; returns its coefficients 1 - p_y before the step."""
    K, m = run.K, run.m
    activations = run.noise_activations(rows)
    y = labels[rows]
    places = np.arange(y.size)
    residual = -probabilities(run.outputs(activations, y))
    residual[places, y] += 1.0  # 1[y = k] - p_k
    lost: FloatArray = residual[places, y].copy()
    residual *= step / (m * y.size)
    by_noise = ((activations > 0).reshape(-1, K, m) * residual[:, :, None]).reshape(-1, K * m)
    # Examples of one class share their feature patch, so their residuals add up: K features x K outputs.
    shared = np.eye(K)[y].T @ residual
    by_features = ((run.on_features > 0).reshape(K, K, m) * shared[:, :, None]).reshape(K, K * m)
    run.move(rows, by_noise, by_features)
    return lost


def _snapshot(run: _Run, labels: IntArray) -> tuple[FloatArray, ...]:
    K, m = run.K, run.m
    activations = run.noise_activations(slice(None))
    logits = run.outputs(activations, labels)
    rows = np.arange(labels.size)
    losses = logsumexp(logits, axis=1) - logits[rows, labels]
    lost = -np.expm1(-losses)
    own_share = (activations.reshape(-1, K, m)[rows, labels] > 0).mean(axis=1)
    counts = np.maximum(np.bincount(labels, minlength=K), 1)

    def by_class(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(labels, weights=values, minlength=K) / counts)

    right = (logits.argmax(axis=1) == labels).mean()
    return losses.mean(), by_class(losses), right, lost.min(), lost.max(), by_class(own_share)
