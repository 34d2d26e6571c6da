"""A scikit-learn classifier with a remedy around it; a trial trains it, and a plan exports it.

The public `lopsided.MendedClassifier`, which also chooses the remedy by a trial, is made of this one in `checkup`.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from lopsided.core.errors import InputError
from lopsided.core.folds import Design
from lopsided.core.partition import Partition
from lopsided.core.validation import FloatArray, check_labels, check_matrix, check_weights
from lopsided.data.frames import is_frame
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import Rows, as_rows, is_matrix, is_sparse, take
from lopsided.learners.named_learner import BUILT_IN, check_learner, gives_probabilities
from lopsided.remedies.contract import Proposal
from lopsided.remedies.learner import Learner, encoder_for, why_no_numbers
from lopsided.remedies.plain import Plain
from lopsided.remedies.recalibration import Recalibration

FOLDS = 5  # of the recalibration


def _has_probabilities(model: "RemediedClassifier") -> bool:
    learner = getattr(model, "estimator_", model.estimator)
    return isinstance(learner, str) or gives_probabilities(learner)


class RemediedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What `Remedy.wrap` gives: an estimator (or the name of a learner) trained under one remedy, None for none.

    `fit` leaves the attributes that `lopsided.MendedClassifier` documents, which chooses the remedy as well.
    """

    def __init__(
        self, estimator: Any = "logistic", remedy: Any = None, *, recalibrate: bool = False, seed: int = 0
    ) -> None:
        self.estimator = estimator
        self.remedy = remedy
        self.recalibrate = recalibrate
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.estimator).input_tags
        elif self.estimator in BUILT_IN:  # their rows are encoded
            tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose the remedy and train the estimator under it; its weights multiply those of the samples.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            The examples.
        y : array of shape (n_samples,)
            Their classes.
        groups : array of shape (n_samples,), optional
            Their groups, for remedies and metrics of groups.
        sample_weight : array of shape (n_samples,), optional
            The weight of each example, in training and in the metric by which the remedy is chosen.
        """
        features = self._rows(X)
        labels = column_or_1d(y, warn=True)
        labels = np.array(labels.tolist()) if labels.dtype.kind == "O" else labels
        if labels.dtype.kind == "f":
            check_classification_targets(labels)
        codes, names = check_labels(labels, "y", length=features.shape[0])
        if len(names) < 2:
            raise InputError("two classes or more in y", f"one class, {names[0]!r}")
        partition = None
        if groups is not None:
            known, members = np.unique(_group_names(groups, codes.size), return_inverse=True)
            partition = Partition("group", members.astype(np.int64), tuple(known.tolist()))
        classes = Partition("class", codes, tuple(names))
        weights = None if sample_weight is None else check_weights(sample_weight, codes.size)
        rows, design = np.arange(codes.size), Design(weights=weights)
        training = LabelledSet(rows, classes, partition, features, "the training data", design)
        return self.fit_set(training, labels[np.unique(codes, return_index=True)[1]])

    def fit_set(self, training: LabelledSet, classes: Any = None) -> Self:
        """The same on a labelled set; `predict` gives codes unless `classes` says what they stand for."""
        if not isinstance(self.estimator, str):
            check_learner(self.estimator)
        choice = self._choice(training)
        self.remedy_, self.why_, self.recommendation_ = choice.remedy, choice.why, choice.advice
        remedy, self.learner_ = self.remedy_, self.remedy_.learner_for(self.estimator)
        if remedy.needs_groups and training.groups is None:
            raise InputError("groups for this remedy", "none", "give one group per example to fit")
        self.recalibration_ = self._recalibration(training) if self.recalibrate else None
        self.classes_ = np.arange(len(training.classes.names)) if classes is None else classes
        validate_data(self, training.features, reset=True, skip_check_array=True)
        why = why_no_numbers(self.learner_, training.features) if remedy.needs_numbers or remedy.makes_rows else None
        if why is not None and remedy.makes_rows:  # between codes of categories there is nothing
            training, remedy = remedy.draw(training, self.seed), Plain()
        elif why is not None:
            raise InputError(f"features of finite numbers for {remedy.name}", why.rstrip("."), "choose another remedy")
        self.encoder_ = encoder_for(self.learner_, training.features)
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

    def _choice(self, training: LabelledSet) -> Proposal:
        """The remedy, as given."""
        return Proposal(self.remedy or Plain(), "As given.")

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
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
                part = RemediedClassifier(self.estimator, self.remedy_, seed=self.seed).fit_set(training.subset(inside))
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
        return Learner(self.learner_, self.seed, None if self.encoder_ is None else self.encoder_.categorical_)

    def _rows(self, X: ArrayLike) -> Rows:
        """Rows as they were given, arrays checked as scikit-learn does."""
        if is_frame(X) or is_sparse(X):
            return as_rows(X, "X")
        try:
            return check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", estimator=self, input_name="X")
        except OverflowError:
            raise InputError("numbers in X", "some too large for a float", "scale them or leave them out") from None

    def _encoded(self, X: ArrayLike) -> Rows:
        """The rows to predict, as the estimator takes them."""
        rows = self._rows(X)
        validate_data(self, rows, reset=False, skip_check_array=True)
        if self.encoder_ is not None:
            return self.encoder_.transform(rows)
        return check_matrix(rows, "X") if self.takes_matrix_ and is_matrix(rows) else rows

    def _prepared(self, features: Rows, groups: ArrayLike | None) -> Rows:
        if self.preparation_ is None:
            return features
        if groups is None:
            raise InputError("groups of the examples to predict", "none", "give one group per example")
        return np.asarray(self.preparation_.transform(features, _group_names(groups, features.shape[0])))


def _group_names(groups: ArrayLike, rows: int) -> Any:
    names = np.asarray(groups).astype(str)
    if names.shape != (rows,):
        raise InputError(f"one group for each of {rows:,} rows", f"shape {names.shape}")
    return names


def shifted(probabilities: FloatArray, offsets: FloatArray) -> FloatArray:
    """p_k e^{o_k}, normalised."""
    raised = probabilities * np.exp(offsets - offsets.max())
    return np.asarray(raised / np.maximum(raised.sum(axis=1, keepdims=True), 1e-300))
