"""Corrections of a finished classifier head, logits = W h + b, by features h and classes of held-out examples.

    post hoc     b - tau log pi                                    (Menon et al. 2021), pi: the training prior
    tau-norm     W_k s / |W_k|^tau, b_k likewise                   (Kang et al. 2020), s: the mean of |W_k|^tau
    refitted     argmin  mean CE(scores + log rho, y) + |change|^2 / (2 n v)

Refitting starts from a given head, with a Gaussian prior around it: `v` is the prior variance of the change of a logit.
What may change is the offset of every class, its scale and offset (learnable weight scaling, Kang et al.), or all of W
and b (classifier retraining). rho is the prior of the examples that are fitted: with it inside the softmax (Ren et al.
2020) the fitted head is one for equally frequent classes, without weights of 1/n_k, with which a class of one or two
examples would dominate the fit. Deviation from Kang et al.: they retrain on class-balanced batches from scratch, and
leave out the bias in tau-norm.
"""

from typing import Literal, NamedTuple

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, check_in_range, check_positive

Free = Literal["offsets", "scales", "all"]
_STEPS = 100  # of L-BFGS: the prior makes the problem strongly convex, and fits end earlier
_DIRECTIONS = 64  # a few hundred examples cannot say more, and a fit of 1,000 classes stays one of seconds


class HeadWeights(NamedTuple):
    """W (classes x features) and b (classes)."""

    weight: FloatArray
    bias: FloatArray

    def scores(self, features: FloatArray) -> FloatArray:
        """Logits of rows of features."""
        return np.asarray(features @ self.weight.T + self.bias)


def shifted(head: HeadWeights, offsets: FloatArray) -> HeadWeights:
    """The head with offsets added to its biases."""
    return HeadWeights(head.weight, head.bias + offsets)


def tau_normalised(head: HeadWeights, tau: float = 1.0) -> HeadWeights:
    """Rows of W, with their biases, divided by |W_k|^tau; the mean length of the divisors is kept at 1."""
    power = check_in_range(tau, "tau", 0.0, 10.0)
    lengths = np.linalg.norm(head.weight, axis=1)
    if not (lengths > 0).all():
        got = f"zero weights for class {int(np.argmin(lengths))}"
        raise InputError("a classifier with weights for every class", got, "train it first")
    factors = np.mean(lengths**power) / lengths**power
    return HeadWeights(head.weight * factors[:, None], head.bias * factors)


def refitted(
    head: HeadWeights,
    features: FloatArray,
    codes: IntArray,
    *,
    free: Free = "all",
    variance: float = 1.0,
    log_prior: FloatArray | None = None,
    directions: FloatArray | None = None,
) -> HeadWeights:
    """Refit a head to examples, with a Gaussian prior around the given one.

    Parameters
    ----------
    head : HeadWeights
        The start of the fit and the centre of the prior.
    features, codes : arrays
        Features (n x p) and classes 0 to K - 1 of examples.
    free : {"offsets", "scales", "all"}
        What may change.
    variance : float
        v, the prior variance of the change of a logit: at 0.01 the head hardly changes, at 100 the examples decide.
    log_prior : array of K, optional
        log rho, added to the logits during the fit only; without it, the head takes on the class frequencies of the
        examples.
    directions : array, optional
        Orthonormal rows along which W may change. By default, `leading_directions` of the features.
    """
    from scipy.optimize import minimize

    allowed = check_positive(variance, "the variance")
    classes, rows = head.bias.size, codes.size
    start = head.scores(features) + (0.0 if log_prior is None else log_prior)
    plain = features @ head.weight.T  # what scales multiply
    axes, basis = np.zeros((0, features.shape[1])), features
    if free == "all":  # in units in which a change of unit length moves a logit by about one
        unit = max(float(np.sqrt(np.square(features).sum(axis=1).mean())), 1e-300)
        axes = (leading_directions(features) if directions is None else directions) / unit
        basis = features @ axes.T  # coordinates along the leading directions
    spread = max(float(plain.std()), 1e-300)
    target = np.zeros_like(start)
    target[np.arange(rows), codes] = 1.0

    def loss(change: FloatArray) -> tuple[float, FloatArray]:
        scores, rest = start + change[:classes], change[classes:]
        if free == "scales":
            scores = scores + plain * (rest / spread)
        elif free == "all":
            scores = scores + basis @ rest.reshape(classes, -1).T
        scores = scores - scores.max(axis=1, keepdims=True)
        totals = np.exp(scores).sum(axis=1, keepdims=True)
        value = float(np.log(totals).sum() - scores[target > 0].sum()) + 0.5 * float(change @ change) / allowed
        gap = np.exp(scores) / totals - target
        slopes = [gap.sum(axis=0)]
        if free == "scales":
            slopes.append((gap * plain).sum(axis=0) / spread)
        elif free == "all":
            slopes.append((gap.T @ basis).ravel())
        return value / rows, (np.concatenate(slopes) + change / allowed) / rows

    width = {"offsets": 0, "scales": classes, "all": classes * axes.shape[0]}[free]
    found = minimize(loss, np.zeros(classes + width), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x
    offsets, rest = found[:classes], found[classes:]
    weight = head.weight
    if free == "scales":
        weight = weight * (1.0 + rest / spread)[:, None]
    elif free == "all":
        weight = weight + rest.reshape(classes, -1) @ axes
    return HeadWeights(np.asarray(weight), head.bias + offsets)


def leading_directions(features: FloatArray) -> FloatArray:
    """Orthonormal directions in which the features are largest, at most `_DIRECTIONS` of them (rows)."""
    if features.shape[1] <= _DIRECTIONS:
        return np.eye(features.shape[1])
    if features.shape[0] < features.shape[1]:  # the smaller of the two Gram matrices
        return np.asarray(np.linalg.svd(features, full_matrices=False)[2][:_DIRECTIONS])
    return np.asarray(np.linalg.eigh(features.T @ features)[1][:, -_DIRECTIONS:].T)
