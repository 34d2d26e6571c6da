"""The best any classifier can do on the two-patch data of Xu and Chen 2025, with Gaussian noise.

A feature u_k != 0, however short, identifies its class without error: the feature patch takes K values and the noise
patch almost surely none of them, so the Bayes accuracy is 1. The paper's "near-optimal" at |u| -> 0 can only refer to
the noise patch alone, xi ~ N(0, A_k A_k^T), for which the Bayes rule is the quadratic discriminant

    argmax_k  log pi_k - (1/2) xi^T (A_k A_k^T)^+ xi - (1/2) log det^+ (A_k A_k^T).

For A_k = base P + (l - base) v_k v_k^T and equal priors this is argmax |v_k^T xi| (l > base), with accuracy

    E[(2 Phi((l / base) |t|) - 1)^(K-1)],   t ~ N(0, 1).

For other noise laws the same rule is the best that uses second moments only; their own Bayes rule can be better.
"""

from dataclasses import dataclass

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, check_count, check_positive


@dataclass(frozen=True)
class Accuracy:
    """An accuracy with its standard error, which is 0 for a quadrature."""

    value: float
    standard_error: float
    per_class: FloatArray


def one_direction_accuracy(classes: int, eigenvalue: float, base: float = 0.5) -> Accuracy:
    """The closed form for A_k = base P + (l - base) v_k v_k^T, l >= base, by quadrature."""
    from scipy.integrate import quad
    from scipy.special import erf

    K = check_count(classes, "classes", at_least=2)
    slope = check_positive(eigenvalue, "the eigenvalue") / check_positive(base, "the bulk eigenvalue") / np.sqrt(2.0)
    if eigenvalue < base:
        raise InputError("an eigenvalue of at least the bulk's", eigenvalue, "raise it")
    half = quad(
        lambda t: np.exp(-(t**2) / 2.0) * erf(slope * t) ** (K - 1), 0.0, 40.0, limit=200, points=[0.01, 0.1, 1, 5]
    )
    value = 2.0 * half[0] / np.sqrt(2.0 * np.pi)
    return Accuracy(float(value), 0.0, np.full(K, value))
