"""The estimator inside a remedy: fitted on labelled sets, with probabilities for every class.

Invalid probabilities (NaN, a wrong shape, sums other than 1) raise an InputError, because offsets, tuning and group DRO
would otherwise compute with them.
"""

import warnings
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray
from lopsided.data.encoding import TableEncoder
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import Rows, is_matrix, is_sparse, take
from lopsided.learners.named_learner import (
    encoding_of,
    fit_argument,
    gives_probabilities,
    learner_name,
    make_learner,
    takes_weights,
)
from lopsided.remedies.learner_balance import by_codes, own_factors

SUM_SLACK = 0.01  # probabilities rounded to two digits pass, scores do not


def learner_probabilities(fitted: Any, features: Rows, name: str) -> FloatArray:
    """predict_proba of the learner called `name`: n x its classes, finite, none below 0, rows with sum 1."""
    if getattr(fitted, "classes_", None) is None:
        raise InputError(
            f"classes_ of {name}, which name the columns of its predict_proba", "none", "set them in its fit"
        )
    rows, classes = features.shape[0], len(fitted.classes_)
    given = fitted.predict_proba(features)
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused(name, f"a {type(given).__name__} that is not an array of numbers") from None
    if found.shape != (rows, classes):
        raise _refused(name, f"the shape {found.shape} for {rows:,} examples of {classes:,} classes")
    bad = {
        "NaN": np.isnan(found).any(axis=1),
        "infinite values": np.isinf(found).any(axis=1),
        "values below 0": (found < -SUM_SLACK).any(axis=1),
    }
    for what, where in bad.items():
        if where.any():
            raise _refused(name, f"{what} for {int(where.sum()):,} of {rows:,} examples")
    sums = found.sum(axis=1)
    off = np.abs(sums - 1.0)
    if rows and off.max() > SUM_SLACK:
        count = int(np.count_nonzero(off > SUM_SLACK))
        raise _refused(name, f"a sum of {sums[off.argmax()]:.4g} (sums are off for {count:,} of {rows:,} examples)")
    return np.maximum(found, 0.0)


def _refused(name: str, got: str) -> InputError:
    return InputError(f"predict_proba of {name} to give finite probabilities that sum to 1, one per class", got)


def encoder_for(estimator: Any, features: Rows) -> TableEncoder | None:
    """The encoder that turns rows into numbers for the estimator; None if it takes them unchanged."""
    gaps = is_matrix(features) and bool(np.isnan(features).any())
    if is_matrix(features) and not gaps:
        return None
    kind = encoding_of(estimator, sparse=is_sparse(features), gaps=gaps)
    return None if kind is None else TableEncoder(kind)


def why_no_numbers(estimator: Any, features: Rows) -> str | None:
    """Why a remedy cannot compute with the features that the estimator gets; None where they are finite numbers."""
    encoder = encoder_for(estimator, features)
    if encoder is None and is_matrix(features) and not np.isnan(features).any():
        return None
    if encoder is not None and (encoder.categories == "one-hot" or is_sparse(features)):
        return None
    kind = "a sparse matrix" if is_sparse(features) else "missing values" if is_matrix(features) else "whole columns"
    return f"It needs numbers, but {learner_name(estimator)} gets {kind} unchanged."


class Learner:
    """`estimator` is a scikit-learn classifier or a learner's name; every fit is a fresh copy of it. categorical: which
    columns are codes of categories."""

    def __init__(self, estimator: Any, seed: int, categorical: Any = None) -> None:
        self.estimator, self.seed = estimator, seed
        self.categorical = None if categorical is None or not np.any(categorical) else categorical

    def fit(self, training: LabelledSet, weights: FloatArray | None = None, *, loss: Any = None) -> Any:
        """A copy fitted on the codes of the classes; the user's weights multiply those of a remedy. loss: of a network,
        instead of cross entropy."""
        if training.design.weights is not None:
            weights = training.design.weights if weights is None else training.design.weights * weights
        learner = self.fresh(training)
        given = {"sample_weight": weights, "loss": loss}
        options = {fit_argument(learner, name): value for name, value in given.items() if value is not None}
        if weights is not None and not takes_weights(learner):
            raise InputError(
                "a learner whose fit takes sample_weight", type(learner).__name__, "use another learner, or no weights"
            )
        # weights go to the last step of a pipeline by its name, which metadata routing does not know
        with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the number of steps is the training budget
            warnings.filterwarnings("ignore", "The number of unique classes")  # labels were said to be classes
            learner.fit(training.features, training.classes.codes, **options)
        return learner

    def fresh(self, training: LabelledSet) -> Any:
        """An unfitted copy for these rows."""
        if isinstance(self.estimator, str):
            centred = not is_sparse(training.features)
            return make_learner(self.estimator, self.seed, categorical=self.categorical, centred=centred)
        return by_codes(self.estimator, training.classes.names)

    def factors(self, training: LabelledSet) -> FloatArray:
        """What the learner and the user's weights do to the odds of the classes; all 1 where they do nothing."""
        found, _ = own_factors(self.fresh(training), training)
        found = np.ones(len(training.classes.names)) if found is None else found
        if training.design.weights is None:
            return found
        totals = np.bincount(training.classes.codes, training.design.weights, found.size)
        means = totals / np.maximum(training.classes.counts, 1)
        means[means == 0] = means.sum() / means.size  # a class that counts nothing has no odds to correct
        return np.asarray(found * means / means.mean())

    def probabilities(self, fitted: Any, features: Rows, classes: int) -> FloatArray:
        """n x classes; a class that a part of the data lacked has probability 0."""
        if not gives_probabilities(fitted):
            raise InputError(
                "a learner with predict_proba for offsets", type(fitted).__name__, "choose another learner or remedy"
            )
        found = np.zeros((features.shape[0], classes))
        chances = learner_probabilities(fitted, features, learner_name(self.estimator))
        found[:, np.asarray(fitted.classes_, dtype=np.int64)] = chances
        return found

    def held_out(self, training: LabelledSet, folds: int, weights: FloatArray | None = None) -> FloatArray:
        """Probabilities of every example, by a copy that was fitted on the other folds (n x classes).

        0 throughout where the other folds have one class alone, and for the earliest examples where time counts.
        """
        codes, classes = training.classes.codes, len(training.classes.names)
        dealt = training.folds(folds, self.seed)
        found = np.zeros((training.size, classes))
        for number in range(folds):
            inside, outside = np.flatnonzero(dealt.inside(number)), np.flatnonzero(dealt.fold == number)
            if outside.size and np.unique(codes[inside]).size > 1:
                fitted = self.fit(training.subset(inside), None if weights is None else weights[inside])
                found[outside] = self.probabilities(fitted, take(training.features, outside), classes)
        return found
