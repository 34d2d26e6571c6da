"""A scikit-learn classifier with a remedy around it: what the trial trains is what a plan exports.

    rates          oversampling: each class is seen rate times its size (exact copies plus a random fraction)
    noise          the copies get Gaussian noise, `noise` times the deviation of their class in every column
    class_weights, group_weights   of the loss, multiplied, with mean 1 over the examples
    offsets        added to the logarithms of the predicted probabilities, class by class
    tuned_for      offsets chosen by cross-validation inside the training data to maximise that metric
    dro            group DRO: the step of its weights over groups; DRO_ROUNDS rounds of refits (see `dro_refits`)
    standardise    "centre" or "whiten": columns to unit deviation, then every group by its own mean (and covariance);
                   predict needs the groups then

Dictionaries are keyed by the label or group as text; what is left out keeps rate 1, weight 1, offset 0.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lopsided.core.errors import InputError
from lopsided.core.folds import deal
from lopsided.core.seeds import generator
from lopsided.core.validation import BoolArray, FloatArray, IntArray, check_labels, check_matrix
from lopsided.learners.learner_probabilities import learner_probabilities
from lopsided.learners.named_learner import (
    gives_probabilities,
    learner_name,
    make_learner,
    takes_weights,
    weight_argument,
)
from lopsided.remedies.dro_refits import dro_weights
from lopsided.remedies.group_standardiser import GroupStandardiser
from lopsided.remedies.offset_search import best_offsets
from lopsided.remedies.resampling import resampling_plan

TUNING_FOLDS = 3
DRO_ROUNDS = 4


class MendedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """fit(X, y[, groups]), predict, predict_proba, as in scikit-learn; `estimator` is one, or a learner's name."""

    def __init__(
        self,
        estimator: Any = "logistic",
        *,
        rates: Mapping[str, float] | None = None,
        noise: float = 0.0,
        class_weights: Mapping[str, float] | None = None,
        group_weights: Mapping[str, float] | None = None,
        offsets: Mapping[str, float] | None = None,
        tuned_for: str | None = None,
        dro: float | None = None,
        standardise: str | None = None,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.rates = rates
        self.noise = noise
        self.class_weights = class_weights
        self.group_weights = group_weights
        self.offsets = offsets
        self.tuned_for = tuned_for
        self.dro = dro
        self.standardise = standardise
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> "MendedClassifier":
        """Train the estimator under the remedy."""
        features = check_matrix(X, "features")
        labels = np.asarray(y)
        labels = labels.astype(str) if labels.dtype.kind == "O" else labels
        codes, names = check_labels(labels, length=features.shape[0])
        self.classes_ = np.unique(labels)
        self.n_features_in_ = features.shape[1]
        group_names = None if groups is None else np.asarray(groups).astype(str)
        if group_names is None and (self.group_weights, self.dro, self.standardise) != (None, None, None):
            raise InputError("groups for a remedy of groups", "none", "give one group per example to fit")
        if self.standardise is not None:
            features = self._fit_standardiser(features, group_names)
        shift = np.array([float((self.offsets or {}).get(name, 0.0)) for name in names])
        if self.tuned_for is not None:
            shift = shift + self._tune(features, codes, names, group_names)
        self.offsets_ = shift
        self.estimator_ = self._train(features, codes, names, group_names)
        return self

    def predict_proba(self, X: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Probabilities with the offsets applied, columns in the order of `classes_`."""
        return shifted(self._probabilities(self.estimator_, self._prepared(X, groups)), self.offsets_)

    def predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Any:
        """The most probable class after the remedy; `groups` where it standardises them."""
        features = self._prepared(X, groups)
        if not np.any(self.offsets_):
            return self.classes_[np.asarray(self.estimator_.predict(features), dtype=np.int64)]
        return self.classes_[shifted(self._probabilities(self.estimator_, features), self.offsets_).argmax(axis=1)]

    def _prepared(self, X: ArrayLike, groups: ArrayLike | None) -> FloatArray:
        check_is_fitted(self, "estimator_")
        features = check_matrix(X, "features", columns=self.n_features_in_)
        if self.standardise is None:
            return features
        if groups is None:
            raise InputError("groups of the examples to predict", "none", "give one group per example")
        return self.standardiser_.transform((features - self.centre_) / self.scale_, np.asarray(groups).astype(str))

    def _fit_standardiser(self, features: FloatArray, groups: Any) -> FloatArray:
        if self.standardise not in ("centre", "whiten"):
            raise InputError("standardise='centre' or 'whiten'", repr(self.standardise), "choose one of the two")
        deviation = features.std(axis=0)
        self.centre_, self.scale_ = features.mean(axis=0), np.where(deviation > 0, deviation, 1.0)
        self.standardiser_ = GroupStandardiser(whiten=self.standardise == "whiten")
        return self.standardiser_.fit_transform((features - self.centre_) / self.scale_, groups)

    def _probabilities(self, fitted: Any, features: FloatArray) -> FloatArray:
        """n x K; a class that a part of the data lacked has probability 0."""
        if not gives_probabilities(fitted):
            raise InputError(
                "a learner with predict_proba for offsets", type(fitted).__name__, "choose another learner or remedy"
            )
        found = np.zeros((features.shape[0], len(self.classes_)))
        chances = learner_probabilities(fitted, features, learner_name(self.estimator))
        found[:, np.asarray(fitted.classes_, dtype=np.int64)] = chances
        return found

    def _train(self, features: FloatArray, codes: IntArray, names: list[str], groups: Any) -> Any:
        weights = self._weights(codes, names, groups)
        if self.rates is not None:
            rates = np.array([float(self.rates.get(name, 1.0)) for name in names])
            present, compact = np.unique(codes, return_inverse=True)
            chosen = np.sort(resampling_plan(compact, rates[present]).indices(self.seed, shuffle=False))
            original = features
            features, codes = features[chosen], codes[chosen]
            weights = None if weights is None else weights[chosen]
            if self.noise > 0:
                features = self._noisy(features, codes, chosen, original)
        if self.dro is not None:
            weights = self._dro(features, codes, groups)
        return self._fitted(features, codes, weights)

    def _fitted(self, features: FloatArray, codes: IntArray, weights: FloatArray | None) -> Any:
        learner = make_learner(self.estimator, self.seed) if isinstance(self.estimator, str) else clone(self.estimator)
        options = {} if weights is None else {weight_argument(learner): weights}
        if weights is not None and not takes_weights(learner):
            raise InputError(
                "a learner whose fit takes sample_weight", type(learner).__name__, "use oversampling instead of weights"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is the training budget
            warnings.filterwarnings("ignore", "The number of unique classes")  # labels were said to be classes
            learner.fit(features, codes, **options)
        return learner

    def _dro(self, features: FloatArray, codes: IntArray, groups: Any) -> FloatArray:
        """Weights of the last fit; `group_shares_` are the groups' shares in it."""
        members = np.unique(groups, return_inverse=True)[1].astype(np.int64)

        def train(rows: BoolArray, weights: FloatArray) -> Any:
            return self._fitted(features[rows], codes[rows], weights[rows])

        def chances(model: Any, rows: BoolArray) -> FloatArray:
            return self._probabilities(model, features[rows])

        assert self.dro is not None
        weights, self.group_shares_ = dro_weights(
            codes, members, rounds=DRO_ROUNDS, step=self.dro, seed=self.seed, train=train, chances=chances
        )
        return weights

    def _weights(self, codes: IntArray, names: list[str], groups: Any) -> FloatArray | None:
        if self.class_weights is None and self.group_weights is None:
            return None
        weights = np.array([float((self.class_weights or {}).get(name, 1.0)) for name in names])[codes]
        if self.group_weights is not None:
            known, members = np.unique(groups, return_inverse=True)
            weights = weights * np.array([float(self.group_weights.get(name, 1.0)) for name in known])[members]
        return np.asarray(weights / weights.mean())

    def _noisy(self, features: FloatArray, codes: IntArray, chosen: IntArray, original: FloatArray) -> FloatArray:
        """Originals stay as they are; every further copy of an example moves."""
        copies = np.concatenate([[False], chosen[1:] == chosen[:-1]])
        random = generator(self.seed, "noise on copies")
        moved = features.copy()
        for code in np.unique(codes[copies]):
            own = copies & (codes == code)
            spread = original[np.unique(chosen[codes == code])].std(axis=0)
            moved[own] += self.noise * spread * random.standard_normal((int(own.sum()), features.shape[1]))
        return moved

    def _tune(self, features: FloatArray, codes: IntArray, names: list[str], groups: Any) -> FloatArray:
        """Offsets that maximise the metric on probabilities that were predicted for rows held out of the fit."""
        group_codes = None if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.int64)
        fold = deal(codes, group_codes, TUNING_FOLDS, self.seed, 0)
        held_out = np.zeros((codes.size, len(names)))
        for number in range(TUNING_FOLDS):
            inside = fold != number
            if np.unique(codes[inside]).size < 2:
                continue
            own = None if groups is None else groups[inside]
            inner = self._train(features[inside], codes[inside], names, own)
            held_out[~inside] = self._probabilities(inner, features[~inside])
        assert self.tuned_for is not None
        return best_offsets(held_out, codes, group_codes, self.tuned_for)


def shifted(probabilities: FloatArray, offsets: FloatArray) -> FloatArray:
    """p_k e^{o_k}, normalised."""
    raised = probabilities * np.exp(offsets - offsets.max())
    return np.asarray(raised / np.maximum(raised.sum(axis=1, keepdims=True), 1e-300))
