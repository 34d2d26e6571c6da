"""Activations as probabilities: phi rises from 0 to 1, phi(-z) = 1 - phi(z), phi' is even (footnote 3 of the paper).

The network's output (1/K) sum_j phi(z_j) is a probability, so tanh and erf enter as (1 + tanh z)/2 and (1 + erf z)/2;
the paper names the functions and leaves this step to the reader.
"""

from typing import Any, Literal, get_args

import numpy as np

from lopsided.core.validation import FloatArray, check_choice

Activation = Literal["sigmoid", "tanh", "erf"]
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)
_ROOT_PI = float(np.sqrt(np.pi))


def check_activation(name: object) -> Activation:
    """One of the three names."""
    found: Any = check_choice(name, ACTIVATIONS, "an activation")
    kept: Activation = found
    return kept


def log_value(z: FloatArray, activation: Activation) -> FloatArray:
    """log phi(z), exact to rounding also where phi(z) itself underflows."""
    from scipy import special

    if activation == "erf":
        return np.asarray(special.log_ndtr(z * np.sqrt(2.0)), dtype=np.float64)
    scale = 2.0 if activation == "tanh" else 1.0
    return np.asarray(special.log_expit(scale * z), dtype=np.float64)


def value(z: FloatArray, activation: Activation) -> FloatArray:
    """phi(z)."""
    from scipy import special

    if activation == "erf":
        return np.asarray(special.ndtr(z * np.sqrt(2.0)), dtype=np.float64)
    return np.asarray(special.expit(2.0 * z if activation == "tanh" else z), dtype=np.float64)


def slope(z: FloatArray, activation: Activation) -> FloatArray:
    """phi'(z), an even function."""
    if activation == "erf":
        return np.asarray(np.exp(-np.square(z)) / _ROOT_PI)
    scale = 2.0 if activation == "tanh" else 1.0
    decay = np.exp(-np.abs(scale * z))
    return np.asarray(scale * decay / np.square(1.0 + decay))


def sides_and_slope(z: FloatArray, activation: Activation) -> tuple[FloatArray, FloatArray, FloatArray]:
    """phi(z), phi(-z) and phi'(z), from one exponential where the activation allows it."""
    if activation == "erf":
        return value(z, activation), value(-z, activation), slope(z, activation)
    scale = 2.0 if activation == "tanh" else 1.0
    decay = np.exp(-np.abs(scale * z))
    large = 1.0 / (1.0 + decay)  # phi(|z|); phi(-|z|) is the decay times this, without cancellation
    small = decay * large
    right = z >= 0
    return np.where(right, large, small), np.where(right, small, large), scale * small * large


def hazard(z: FloatArray, activation: Activation) -> FloatArray:
    """phi'(z) / phi(z) = d log phi / dz, finite also where both underflow."""
    from scipy import special

    if activation == "erf":
        # erfc(-z) = exp(-z^2) erfcx(-z), and exp(-z^2) cancels; for z > 0 nothing underflows that matters.
        negative = 2.0 / (_ROOT_PI * special.erfcx(np.maximum(-z, 0.0)))
        return np.asarray(np.where(z < 0, negative, slope(z, "erf") / special.ndtr(np.maximum(z, 0) * np.sqrt(2.0))))
    scale = 2.0 if activation == "tanh" else 1.0
    return np.asarray(scale * special.expit(-scale * z))
