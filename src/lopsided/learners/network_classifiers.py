"""Networks as scikit-learn classifiers: the learners `network` and `deep` of a trial. Equal seeds give equal networks.

`DecayedNetwork` is scikit-learn's network with one hidden ReLU layer, trained to convergence with a true weight decay:

    minimise mean cross entropy + (wd / 2) |weights|^2

scikit-learn divides its `alpha` by the number of examples; here it is multiplied first, so the decay does not change
when folds, copies or weights change that number. The optimiser is full-batch L-BFGS.

`DeepClassifier` is a PyTorch perceptron of `learners.deep` with two hidden layers and batch normalisation, trained by
SGD with momentum as in the papers; weights of examples multiply the loss, or another loss replaces it.
"""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neural_network import MLPClassifier

from lopsided.core.validation import FloatArray


class DeepClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """fit(X, y[, sample_weight][, loss]), predict_proba, predict."""

    def __init__(
        self, *, network: str = "mlp", steps: int = 600, weight_decay: float = 5e-4, random_state: int = 0
    ) -> None:
        self.network = network
        self.steps = steps
        self.weight_decay = weight_decay
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, loss: Any = None) -> "DeepClassifier":
        """Train a new network; `loss` takes logits and codes of a batch and cannot be combined with sample_weight."""
        from lopsided.learners.deep.networks import build
        from lopsided.learners.deep.recipe import TrainingRecipe
        from lopsided.learners.deep.training import train

        inputs = np.asarray(X, dtype=np.float32)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        made = build(self.network, inputs.shape[1:], self.classes_.size, seed=self.random_state)
        recipe = TrainingRecipe(
            steps=self.steps, batch_size=_batch_size(inputs.shape[0]), weight_decay=self.weight_decay
        )
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        told = {"example_weights": weights, "loss": loss}
        self.trained_ = train(made, inputs, codes, recipe, seed=self.random_state, threads=1, **told)
        return self

    def epochs(self, examples: int) -> float:
        """The number of epochs for this many examples."""
        return self.steps * _batch_size(examples) / examples

    def predict_proba(self, X: Any) -> FloatArray:
        """Softmax of the logits."""
        logits = self.trained_.logits(np.asarray(X, dtype=np.float32))
        return np.asarray(softmax(np.asarray(logits, dtype=np.float64), axis=1))

    def predict(self, X: Any) -> Any:
        """The most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _batch_size(examples: int) -> int:
    return min(128, max(2, examples))


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
