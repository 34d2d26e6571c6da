"""The classifier that was given: an array, a PyTorch layer or a scikit-learn model, checked against the classes."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.validation import check_finite, check_matrix

CLASSIFIER_NAMES = ("classifier", "classifier_weight", "classifier_weights", "w", "fc.weight", "head.weight", "coef")
BIAS_NAMES = ("bias", "classifier_bias", "b", "fc.bias", "head.bias", "intercept")


def weight_and_bias(value: Any) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """(W, b) of an array, a PyTorch layer or a scikit-learn model."""
    for weight, bias in (("weight", "bias"), ("coef_", "intercept_")):
        if value is not None and not isinstance(value, np.ndarray) and hasattr(value, weight):
            own = getattr(value, bias, None)
            matrix = plain_array(getattr(value, weight), "the classifier")
            offset = None if own is None else plain_array(np.atleast_1d(own) if weight == "coef_" else own, "the bias")
            if matrix.shape[0] == 1 and weight == "coef_":  # one row stands for two classes
                return np.concatenate([-matrix, matrix]) / 2, None if offset is None else np.array([-1, 1]) * offset / 2
            return matrix, offset
    return value, None


def with_classifier(evidence: Evidence, weight: Any, bias: Any) -> Evidence:
    """The evidence with a classifier of one row per class; unchanged where there is none."""
    if weight is None:
        return evidence
    if evidence.classes is None:
        raise InputError("labels beside a classifier", "none", "give labels=")
    classes = len(evidence.classes.names)
    matrix = check_matrix(weight, "the classifier", columns=evidence.table.width if evidence.table else None)
    if matrix.shape[0] != classes:
        raise InputError(
            f"{classes} rows in the classifier, one per class of the labels", matrix.shape[0], "leave out other classes"
        )
    offset = None
    if bias is not None:
        try:
            offset = np.asarray(bias, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise InputError("numbers as the bias", "other values", "give one number per class") from None
        if offset.shape != (classes,):
            raise InputError(f"{classes} biases, one per class", offset.shape[0], "give one number per class")
        check_finite(offset, "the bias")
    return replace(evidence, classifier=matrix, bias=offset)
