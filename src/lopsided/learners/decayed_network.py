"""scikit-learn's network with one hidden ReLU layer, trained to the end under a true weight decay.

    minimise mean cross entropy + (wd / 2) |weights|^2

scikit-learn divides its `alpha` by the number of examples; here it is multiplied first, so the decay stays what it is
when folds, copies or weights change that number. Full-batch L-BFGS, so equal seeds give equal networks.
"""

from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier

from lopsided.core.validation import FloatArray


class DecayedNetwork(MLPClassifier):  # type: ignore[misc]
    """`hidden_units` ReLU units, `steps` of L-BFGS at most."""

    def __init__(
        self, *, hidden_units: int = 64, weight_decay: float = 1e-3, steps: int = 100, random_state: Any = None
    ) -> None:
        super().__init__((hidden_units,), solver="lbfgs", max_iter=steps, random_state=random_state)
        self.hidden_units = hidden_units
        self.weight_decay = weight_decay
        self.steps = steps

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DecayedNetwork":
        """Train; with weights the mean and the decay are over their sum."""
        self.hidden_layer_sizes, self.max_iter = (self.hidden_units,), self.steps
        self.alpha = self.weight_decay * (len(y) if sample_weight is None else float(np.sum(sample_weight)))
        super().fit(X, y, sample_weight)
        return self

    def last_layer(self, X: Any) -> FloatArray:
        """Features that the classifier sees, n x hidden_units."""
        return np.asarray(np.maximum(np.asarray(X) @ self.coefs_[0] + self.intercepts_[0], 0.0))
