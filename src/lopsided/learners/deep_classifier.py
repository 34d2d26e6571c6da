"""A PyTorch network of `learners.deep` as a scikit-learn classifier: the learner `deep` of a trial.

A perceptron with two hidden layers and batch normalisation, trained by SGD with momentum as the papers train theirs
(`learners.deep.recipe`); weights of examples multiply the loss. Equal seeds give equal networks.
"""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from lopsided.core.validation import FloatArray


class DeepClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """fit(X, y[, sample_weight]), predict_proba, predict."""

    def __init__(
        self, *, network: str = "mlp", steps: int = 600, weight_decay: float = 5e-4, random_state: int = 0
    ) -> None:
        self.network = network
        self.steps = steps
        self.weight_decay = weight_decay
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "DeepClassifier":
        """Train a fresh network."""
        from lopsided.learners.deep.networks import build
        from lopsided.learners.deep.recipe import TrainingRecipe
        from lopsided.learners.deep.training import train

        inputs = np.asarray(X, dtype=np.float32)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        made = build(self.network, inputs.shape[1:], self.classes_.size, seed=self.random_state)
        recipe = TrainingRecipe(
            steps=self.steps, batch_size=min(128, max(2, inputs.shape[0])), weight_decay=self.weight_decay
        )
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.trained_ = train(made, inputs, codes, recipe, seed=self.random_state, example_weights=weights, threads=1)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Softmax of the logits."""
        logits = self.trained_.logits(np.asarray(X, dtype=np.float32))
        return np.asarray(softmax(np.asarray(logits, dtype=np.float64), axis=1))

    def predict(self, X: Any) -> Any:
        """The most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
