"""A scikit-learn classifier with a remedy around it: what a trial trains is what a plan exports."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lopsided.core.errors import InputError
from lopsided.core.folds import Design
from lopsided.core.partition import Partition
from lopsided.core.validation import FloatArray, check_labels, check_matrix
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import Rows, as_rows, is_matrix, take, width
from lopsided.remedies.contract import Remedy
from lopsided.remedies.learner import Learner, encoder_for, why_no_numbers
from lopsided.remedies.plain import Plain
from lopsided.remedies.recalibration import Recalibration

FOLDS = 5  # of the recalibration


class MendedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """fit(X, y[, groups]), predict, predict_proba, as in scikit-learn.

    Parameters
    ----------
    estimator : classifier or str
        A scikit-learn classifier, or the name of a learner (logistic, boosting, network, deep).
    remedy : Remedy or None
        What is done about imbalance; None trains plainly.
    seed : int
        Of everything that is drawn.
    recalibrate : bool
        Fit the probabilities to the data on held-out rows, which costs five more fits; decisions stay the remedy's.

    Attributes
    ----------
    classes_ : the labels, sorted.
    estimator_ : the fitted estimator; it knows the labels by their place in `classes_`.
    offsets_ : what is added to the log probability of every class.
    group_shares_ : every group's share of the weights, where groups were given.
    """

    def __init__(
        self,
        estimator: Any = "logistic",
        remedy: Remedy | None = None,
        *,
        seed: int = 0,
        recalibrate: bool = False,
    ) -> None:
        self.estimator = estimator
        self.remedy = remedy
        self.seed = seed
        self.recalibrate = recalibrate

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
    ) -> "MendedClassifier":
        """Train the estimator under the remedy, whose weights multiply those of the samples."""
        features = as_rows(X, "features")
        labels = np.asarray(y)
        labels = labels.astype(str) if labels.dtype.kind == "O" else labels
        codes, names = check_labels(labels, length=features.shape[0])
        partition = None
        if groups is not None:
            known, members = np.unique(np.asarray(groups).astype(str), return_inverse=True)
            partition = Partition("group", members.astype(np.int64), tuple(known.tolist()))
        classes = Partition("class", codes, tuple(names))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        rows, design = np.arange(features.shape[0]), Design(weights=weights)
        training = LabelledSet(rows, classes, partition, features, design=design)
        return self.fit_set(training, np.unique(labels))

    def fit_set(self, training: LabelledSet, classes: Any = None) -> "MendedClassifier":
        """The same on a labelled set; `predict` gives codes unless `classes` says what they stand for."""
        remedy = self.remedy if self.remedy is not None else Plain()
        if remedy.needs_groups and training.groups is None:
            raise InputError("groups for a remedy of groups", "none", "give one group per example to fit")
        self.recalibration_ = self._recalibration(training) if self.recalibrate else None
        self.classes_ = np.arange(len(training.classes.names)) if classes is None else classes
        self.n_features_in_ = width(training.features)
        why = why_no_numbers(self.estimator, training.features) if remedy.needs_numbers or remedy.makes_rows else None
        if why is not None and remedy.makes_rows:  # between codes of categories there is nothing
            training, remedy = remedy.draw(training, self.seed), Plain()
        elif why is not None:
            raise InputError(f"features of finite numbers for {remedy.name}", why.rstrip("."), "choose another remedy")
        self.encoder_ = encoder_for(self.estimator, training.features)
        self.takes_matrix_ = is_matrix(training.features) and not np.isnan(training.features).any()
        if self.encoder_ is not None:
            training = training.with_features(self.encoder_.fit_transform(training.features))
        self.preparation_ = remedy.prepare(training)
        if self.preparation_ is not None:
            groups = None if training.groups is None else np.array(training.groups.names)[training.groups.codes]
            training = training.with_features(self._prepared(training.features, groups))
        learner = self._learner()
        self.offsets_ = remedy.shift(training, learner, self.seed)
        weights = remedy.weigh(training, learner, self.seed)
        if weights is not None and training.groups is not None:
            self.group_shares_ = np.bincount(training.group_codes, weights=weights) / weights.sum()
        self.estimator_ = remedy.train(training, learner, weights, self.seed)
        return self

    def predict_proba(self, X: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Probabilities with the offsets applied, recalibrated where asked; columns in the order of `classes_`."""
        found = self._chances(X, groups)
        return found if self.recalibration_ is None else self.recalibration_.apply(found)

    def _recalibration(self, training: LabelledSet) -> Recalibration:
        held_out, dealt = np.zeros((training.size, len(training.classes.names))), training.folds(FOLDS, self.seed)
        groups = None if training.groups is None else np.array(training.groups.names)[training.groups.codes]
        for number in range(FOLDS):
            inside, outside = np.flatnonzero(dealt.inside(number)), np.flatnonzero(dealt.fold == number)
            if outside.size and np.unique(training.classes.codes[inside]).size > 1:
                part = MendedClassifier(self.estimator, self.remedy, seed=self.seed).fit_set(training.subset(inside))
                asked = None if groups is None else groups[outside]
                held_out[outside] = part.predict_proba(take(training.features, outside), asked)
        known = held_out.sum(axis=1) > 0
        return Recalibration().fit(held_out[known], training.classes.codes[known])

    def _chances(self, X: ArrayLike, groups: ArrayLike | None) -> FloatArray:
        check_is_fitted(self, "estimator_")
        features = self._prepared(self._encoded(X), groups)
        plain = self._learner().probabilities(self.estimator_, features, len(self.classes_))
        return shifted(plain, self.offsets_)

    def predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Any:
        """The most probable class after the remedy; `groups` where it standardises them."""
        check_is_fitted(self, "estimator_")
        if np.any(self.offsets_):
            return self.classes_[self._chances(X, groups).argmax(axis=1)]
        features = self._prepared(self._encoded(X), groups)
        return self.classes_[np.asarray(self.estimator_.predict(features), dtype=np.int64)]

    def _learner(self) -> Learner:
        return Learner(self.estimator, self.seed, None if self.encoder_ is None else self.encoder_.categorical_)

    def _encoded(self, X: ArrayLike) -> Rows:
        """The rows to predict, as the estimator takes them."""
        if self.encoder_ is not None:
            return self.encoder_.transform(as_rows(X, "features"))
        rows = as_rows(X, "features")
        return check_matrix(rows, "features", columns=self.n_features_in_) if self.takes_matrix_ else rows

    def _prepared(self, features: Rows, groups: ArrayLike | None) -> Rows:
        if self.preparation_ is None:
            return features
        if groups is None:
            raise InputError("groups of the examples to predict", "none", "give one group per example")
        return np.asarray(self.preparation_.transform(features, np.asarray(groups).astype(str)))


def shifted(probabilities: FloatArray, offsets: FloatArray) -> FloatArray:
    """p_k e^{o_k}, normalised."""
    raised = probabilities * np.exp(offsets - offsets.max())
    return np.asarray(raised / np.maximum(raised.sum(axis=1, keepdims=True), 1e-300))
