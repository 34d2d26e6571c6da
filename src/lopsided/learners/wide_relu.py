"""The two-layer ReLU network of Li and Liang (2018), Section 3, and its gradient, eq (1).

    f_i(x) = sum_r a_{i,r} ReLU(<w_r, x>),     L = -(1/N) sum_s log softmax(f(x_s))_{y_s}
    dL(w, x, y)/dw_r = (sum_i a_{i,r} (o_i(x, w) - 1_{i = y})) 1_{<w_r, x> >= 0} x                       (1)

Only w is learned; a keeps its initial values. The pseudo gradient uses the indicator at the start, 1_{<w_r^(0), x> >=
0}, but the outputs o of f; the pseudo network g_i(x) = sum_r a_{i,r} <w_r, x> 1_{<w_r^(0), x> >= 0} is a third process,
"not exactly the same" (Section 5). Arrays hold examples as rows: preactivations and coefficients are (n, m).
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import logsumexp

from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray, check_choice, check_count

Array = NDArray[Any]  # float32 or float64
Process = Literal["gradient", "pseudo gradient", "pseudo network"]

INITIALISATIONS = {
    "A3": "w_r ~ N(0, sigma^2 I) with sigma = 1/sqrt(m): standard deviation 1/sqrt(m), as in (A3)",
    "section 7": "N(0, 1/sqrt(m)) with 1/sqrt(m) read as the variance: standard deviation m^(-1/4)",
}
PROCESSES: dict[Process, str] = {
    "gradient": "eq (1): indicators and outputs at the current weights",
    "pseudo gradient": "indicators at the initial weights, outputs of the true network f",
    "pseudo network": "indicators at the initial weights, outputs of the pseudo network g: its true gradient",
}


@dataclass(frozen=True)
class WideNetwork:
    """Initial hidden weights w^(0), (m, d), and the fixed top layer a, (k, m)."""

    hidden: Array
    top: Array

    @property
    def width(self) -> int:
        """m."""
        return int(self.hidden.shape[0])


def initial_deviation(width: int, initialisation: str = "A3") -> float:
    """Standard deviation of an initial weight under the named reading."""
    check_choice(initialisation, INITIALISATIONS, "an initialisation")
    return 1 / math.sqrt(width) if initialisation == "A3" else width**-0.25


def random_network(
    width: int,
    dimension: int,
    classes: int,
    rng: np.random.Generator,
    *,
    initialisation: str = "A3",
    dtype: DTypeLike = np.float64,
) -> WideNetwork:
    """Draw w^(0) and a ~ N(0, 1); float32 and float64 networks of one stream agree up to rounding."""
    check_count(width, "the width")
    check_count(dimension, "the dimension")
    check_count(classes, "the number of classes", at_least=2)
    deviation = initial_deviation(width, initialisation)
    hidden = np.empty((width, dimension), dtype=dtype)
    for first in range(0, width, 1024):  # never a full float64 copy next to a float32 matrix
        block = hidden[first : first + 1024]
        block[...] = rng.standard_normal(block.shape) * deviation
    return WideNetwork(hidden, rng.standard_normal((classes, width)).astype(dtype))


def network_outputs(preactivations: Array, top: Array) -> Array:
    """f(x), (n, k), from <w_r, x>, (n, m)."""
    return np.asarray(np.maximum(preactivations, 0) @ top.T)


def pseudo_outputs(preactivations: Array, initial: Array, top: Array) -> Array:
    """g(x), (n, k): the indicator of each unit is that of its initial preactivation."""
    return np.asarray((preactivations * (initial >= 0)) @ top.T)


def error_signals(outputs: Array, labels: IntArray, weights: Array) -> Array:
    """weights_s (o_i(x_s) - 1_{i = y_s}), (n, k): the derivative of sum_s weights_s L(x_s, y_s) by the outputs."""
    signals = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    signals /= signals.sum(axis=1, keepdims=True)
    signals[np.arange(len(labels)), labels] -= 1
    signals *= weights[:, None]
    return np.asarray(signals)


def gradient_coefficients(
    preactivations: Array,
    initial: Array | None,
    top: Array,
    labels: IntArray,
    weights: Array,
    process: Process = "gradient",
) -> Array:
    """The c with gradient of w_r = sum_s c_{s,r} x_s, (n, m): eq (1) or one of its pseudo forms.

    `initial` holds <w_r^(0), x_s> and is needed by the pseudo processes only.
    """
    if process == "gradient":
        outputs, pattern = network_outputs(preactivations, top), preactivations >= 0
    else:
        if initial is None:
            raise InputError("initial preactivations for a pseudo gradient", None, "pass <w^(0), x>")
        pattern = initial >= 0
        of_true = process == "pseudo gradient"
        outputs = network_outputs(preactivations, top) if of_true else pseudo_outputs(preactivations, initial, top)
    coefficients = error_signals(outputs, labels, weights) @ top
    coefficients *= pattern
    return np.asarray(coefficients)


def cross_entropy(outputs: Array, labels: IntArray) -> float:
    """Mean of -log o_y, computed from logits in float64."""
    logits = outputs.astype(np.float64)
    return float((logsumexp(logits, axis=1) - logits[np.arange(len(labels)), labels]).mean())


def accuracy(outputs: Array, labels: IntArray) -> float:
    """Share of examples with f_y > f_j for every other j, as in Theorem 4.1: a tie is an error."""
    own = outputs[np.arange(len(labels)), labels]
    others = outputs.copy()
    others[np.arange(len(labels)), labels] = -np.inf
    return float((own > others.max(axis=1)).mean())
