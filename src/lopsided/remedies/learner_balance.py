"""What a learner does about imbalance by itself: class weights, a sampler in its pipeline, balanced ensembles.

Such a learner estimates probabilities under the prior that it saw, proportional to f_k n_k, and not under that of the
data, n_k. Remedies that move decisions by the prior have to start from there: logit adjustment over a learner that is
balanced already would otherwise count the imbalance twice (with SMOTE in a pipeline, this cost 27 points of balanced
accuracy). The factors f_k are those that its parameters state; a forest of pure leaves heeds class weights less.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from lopsided.core.validation import FloatArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.learners.named_learner import steps_of

_BY_CLASS = ("class_weight", "sampling_strategy")  # parameters that are dicts by label in scikit-learn and its kin


def by_codes(estimator: Any, names: tuple[str, ...]) -> Any:
    """A fresh copy whose dicts by label are rewritten for codes, which is what it is fitted on."""
    estimator = clone(estimator)
    code = {name: place for place, name in enumerate(names)}
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] in _BY_CLASS and isinstance(value, Mapping):
            translated = {code[str(label)]: wanted for label, wanted in value.items() if str(label) in code}
            if len(translated) == len(value):
                estimator.set_params(**{name: translated})
    return estimator


def own_factors(learner: Any, training: LabelledSet) -> tuple[FloatArray | None, str]:
    """f_k, by class, and what the learner does, in words; None if it does not rebalance."""
    if not hasattr(learner, "get_params"):
        return None, ""
    counts = np.maximum(training.classes.counts, 1).astype(float)
    parameters = learner.get_params(deep=True)
    seen, words = _resampled(learner, training, counts)
    if any(type(part).__module__.startswith("imblearn.ensemble") for part in (learner, *parameters.values())):
        seen, words = np.full(counts.size, counts.mean()), "resamples the classes"
    for name, value in parameters.items():
        weights = _weights(name.rpartition("__")[2], value, seen)
        if weights is not None:
            seen, words = seen * weights, words or "weights the classes"
            break  # parts of an ensemble each have the parameter: it acts once
    factors = seen / counts
    if np.allclose(factors, factors[0]):
        return None, ""
    return np.asarray(factors / factors.mean()), words


def _weights(name: str, value: Any, counts: FloatArray) -> FloatArray | None:
    balanced = counts.sum() / (counts.size * counts)
    if name == "class_weight" and isinstance(value, Mapping):
        return np.array([float(value.get(code, 1.0)) for code in range(counts.size)])
    if name == "class_weight" and isinstance(value, str):  # balanced, or balanced_subsample of forests
        return np.asarray(balanced)
    if name == "scale_pos_weight" and counts.size == 2 and isinstance(value, (int, float)):  # XGBoost, LightGBM
        return np.array([1.0, float(value)])
    if (name == "is_unbalance" and value is True) or (name == "auto_class_weights" and value == "Balanced"):
        return np.asarray(balanced)  # LightGBM; CatBoost
    return None


def _resampled(learner: Any, training: LabelledSet, counts: FloatArray) -> tuple[FloatArray, str]:
    """Examples of every class that the last step of a pipeline with samplers is fitted on."""
    steps = [step for _, step in steps_of(learner)[:-1]]
    if not any(hasattr(step, "fit_resample") for step in steps):
        return counts, ""
    features, codes = training.features, training.classes.codes
    for step in steps:
        if hasattr(step, "fit_resample"):
            features, codes = clone(step).fit_resample(features, codes)
        elif hasattr(step, "transform"):
            features = clone(step).fit_transform(features, codes)
    return np.maximum(np.bincount(codes, minlength=counts.size), 1).astype(float), "resamples the classes"
