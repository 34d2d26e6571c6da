"""2^c classes by c binary outputs (Li et al. 2024, eq 59-60): class k is the bit vector of k, a network for each bit.

The loss (60) is a sum over bits and the networks share no weights, so it is minimised bit by bit, and every binary
result applies to each; the class probability is the product over bits, because the bits are independent given x.
"""

from collections.abc import Callable

import numpy as np

from lopsided.core.activation import Activation
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.learners.teacher_student import TrainingSet, probability, training_set


def bits_needed(classes: int) -> int:
    """c with 2^c >= classes."""
    if classes < 2:
        raise InputError("at least two classes", classes)
    return int(classes - 1).bit_length()


def class_bits(labels: IntArray, bits: int) -> FloatArray:
    """Codes 0..2^c - 1 to bit vectors (n, c), lowest bit first."""
    return ((np.asarray(labels, dtype=np.int64)[:, None] >> np.arange(bits)) & 1).astype(np.float64)


def fit_bits(
    features: FloatArray,
    labels: IntArray,
    bits: int,
    fit: Callable[[TrainingSet, int], FloatArray],
    activation: Activation,
) -> list[FloatArray]:
    """One network per bit; `fit(data, bit)` returns its weights (d, K)."""
    targets = class_bits(labels, bits)
    return [fit(training_set(features, targets[:, bit], activation), bit) for bit in range(bits)]


def class_probability(weights: list[FloatArray], features: FloatArray, activation: Activation) -> FloatArray:
    """P(class | x), shape (n, 2^c): the product of the bits' probabilities."""
    chances = np.ones((len(features), 1))
    for matrix in reversed(weights):  # highest bit first, so that the columns end up in the order of the codes
        yes = probability(matrix, features, activation)[:, None]
        chances = np.stack([chances * (1.0 - yes), chances * yes], axis=2).reshape(len(features), -1)
    return chances
