"""Recalibrates probabilities after a remedy: undoes what weights, copies and offsets did to them.

    p' ~ softmax(a log p + b)      a and b_k by maximum likelihood on rows held out of the fit; for two classes Platt's
    p'_k ~ an isotonic map of p_k  where the smallest class has a thousand examples, one class against the others

The first has K + 1 parameters with weak priors (log a ~ N(0, 1), b_k ~ N(0, 10)), so perfectly separated rows do not
drive it to infinity. Decisions do not change: `MendedClassifier.predict` does not use these.
"""

from typing import Any

import numpy as np
from scipy.special import softmax

from lopsided.core.validation import FloatArray, IntArray

ISOTONIC_FROM = 1000  # examples of the smallest class; with fewer an isotonic map overfits (scikit-learn's guide)
LEAST = 1e-9  # of a probability whose logarithm is taken


class Recalibration:
    """fit(probabilities, codes), then apply(probabilities); n x K both."""

    def fit(self, probabilities: FloatArray, codes: IntArray) -> "Recalibration":
        """On held-out rows."""
        from scipy.optimize import minimize
        from sklearn.isotonic import IsotonicRegression

        classes = probabilities.shape[1]
        hit = np.eye(classes)[codes]
        self.maps_: list[Any] = []
        if np.bincount(codes, minlength=classes).min() >= ISOTONIC_FROM:
            self.maps_ = [
                IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(probabilities[:, k], hit[:, k])
                for k in range(classes)
            ]
            return self
        logs = np.log(np.maximum(probabilities, LEAST))

        def loss(given: FloatArray) -> tuple[float, FloatArray]:
            scale, biases = np.exp(given[0]), given[1:]
            found = softmax(scale * logs + biases, axis=1)
            value = -np.log(np.maximum(found[np.arange(codes.size), codes], 1e-300)).sum()
            left = found - hit
            slope = np.concatenate([[(left * logs).sum() * scale + given[0]], left.sum(axis=0) + biases / 100.0])
            return float(value + given[0] ** 2 / 2 + (biases**2).sum() / 200.0), slope

        limits = [(-5.0, 5.0), *[(None, None)] * classes]
        found = minimize(loss, np.zeros(classes + 1), jac=True, method="L-BFGS-B", bounds=limits)
        self.scale_, self.biases_ = float(np.exp(found.x[0])), found.x[1:] - found.x[1:].mean()
        return self

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """The recalibrated probabilities."""
        if not self.maps_:
            scores = self.scale_ * np.log(np.maximum(probabilities, LEAST)) + self.biases_
            return np.asarray(softmax(scores, axis=1))
        found = np.column_stack([one.predict(probabilities[:, k]) for k, one in enumerate(self.maps_)])
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1.0), probabilities))
