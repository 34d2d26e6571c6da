"""A scikit-learn classifier: the one-hidden-layer network of the mixture papers, initialised and trained as in the
papers."""

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from lopsided.core.activation import Activation, check_activation
from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import Mixture
from lopsided.core.validation import FloatArray, check_count, check_positive
from lopsided.learners.multi_output import bits_needed, class_probability, fit_bits
from lopsided.learners.teacher_student import TrainingSet
from lopsided.learners.teacher_student_descent import descend
from lopsided.learners.teacher_student_newton import newton
from lopsided.learners.tensor_initialisation import tensor_start

# Hessians are bounded by the mean of |x|^2 / 4 (phi' <= 1/4 for the sigmoid), so a step of this over that mean is safe.
_SAFE_STEP = 2.0


class TeacherStudentClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """P(y = 1 | x) = (1/K) sum_j phi(w_j^T x), fitted by maximum likelihood; more than two classes by binary codes.

    Parameters
    ----------
    neurons : int, default 3
        K; at most the number of features if the start is "tensor".
    activation : {"sigmoid", "tanh", "erf"}, default "sigmoid"
        phi.
    initialisation : {"tensor", "random", "given"}, default "random"
        "tensor" is Subroutine 1 on `mixture`; "given" takes `start`.
    optimiser : {"newton", "descent"}, default "newton"
        Damped, to the critical point; or with a constant step.
    start : array of shape (d, K), optional
        The first weights.
    mixture : Mixture, optional
        The mixture of the features, for the tensor start. By default, one Gaussian with the moments of X. Estimate one
        with `lopsided.data.mixture_estimate` where there are several groups.
    intercept : bool, default True
        Append a constant feature. The paper's network has none, but real data usually need one. The tensor start, whose
        mixture cannot have a constant coordinate, sets the intercepts to 0.
    step : float, optional
        The step size of descent. By default, a safe one from the data.
    steps : int, default 2000
        The largest number of steps.
    tolerance : float, default 1e-9
        The length of the gradient at which it stops.
    random_state : int, RandomState or None, default None
        The seed of the random start.
    """

    def __init__(
        self,
        neurons: int = 3,
        *,
        activation: Activation = "sigmoid",
        initialisation: Literal["tensor", "random", "given"] = "random",
        optimiser: Literal["newton", "descent"] = "newton",
        start: FloatArray | None = None,
        mixture: Mixture | None = None,
        intercept: bool = True,
        step: float | None = None,
        steps: int = 2000,
        tolerance: float = 1e-9,
        random_state: Any = None,
    ) -> None:
        self.neurons = neurons
        self.activation = activation
        self.initialisation = initialisation
        self.optimiser = optimiser
        self.start = start
        self.mixture = mixture
        self.intercept = intercept
        self.step = step
        self.steps = steps
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "TeacherStudentClassifier":
        """Fit to features X (n, d) and class labels y."""
        _check_names(X)
        features, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        activation = check_activation(self.activation)
        check_count(self.neurons, "neurons")
        check_count(self.steps, "steps")
        check_positive(self.tolerance, "the tolerance")
        if self.initialisation not in ("tensor", "random", "given"):
            raise InputError("an initialisation tensor, random or given", repr(self.initialisation))
        if self.optimiser not in ("newton", "descent"):
            raise InputError("an optimiser newton or descent", repr(self.optimiser))
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if self.classes_.size < 2:
            # scikit-learn's checks look for the words "one class".
            raise InputError("labels of at least two classes", "one class")
        source = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        # Features far from unit scale would make any start saturated; the fit is done in standardised columns.
        # Divided by a power of two first, which changes no digit and keeps the squares of extreme units in range.
        unit = np.ldexp(1.0, np.frexp(np.abs(features).max(axis=0))[1])
        self.scale_ = unit * np.sqrt(np.mean(np.square(features / unit), axis=0))
        self.scale_ = np.where(self.scale_ > 0, self.scale_, 1.0)
        if self.initialisation != "random":
            self.scale_ = np.ones_like(self.scale_)  # a given start or mixture is in the features' own units
        self.warnings_: list[str] = []
        self.n_iter_ = 0
        self.weights_ = fit_bits(
            self._extended(features),
            codes,
            bits_needed(self.classes_.size),
            lambda data, bit: self._fit_one(data, source),
            activation,
        )
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | x), columns in the order of `classes_`; unused codes are dropped and the rest rescaled."""
        check_is_fitted(self)
        _check_names(X)
        features = validate_data(self, X, reset=False, dtype=np.float64)
        chances = class_probability(self.weights_, self._extended(features), self.activation)[:, : self.classes_.size]
        total = chances.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, chances / np.where(total > 0, total, 1.0), 1.0 / self.classes_.size))

    def predict(self, X: Any) -> Any:
        """The most probable class of every row."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _extended(self, features: FloatArray) -> FloatArray:
        scaled = features / self.scale_
        return np.column_stack([scaled, np.ones(len(scaled))]) if self.intercept else scaled

    def _fit_one(self, data: TrainingSet, source: np.random.Generator) -> FloatArray:
        first = self._start(data, source)
        if self.optimiser == "newton":
            point = newton(data, first, tolerance=self.tolerance, steps=max(1, min(self.steps, 200)), limit=1e3)
            self.n_iter_ = max(self.n_iter_, point.steps, 1)
            if not point.found:
                self.warnings_.append(point.outcome.value)
            return point.weights
        largest = _SAFE_STEP * 4.0 / max(float(np.mean(np.square(data.features).sum(axis=0))), 1e-12)
        run = descend(data, first, self.step or largest, self.steps, tolerance=self.tolerance)
        self.n_iter_ = max(self.n_iter_, run.steps, 1)
        return run.weights

    def _start(self, data: TrainingSet, source: np.random.Generator) -> FloatArray:
        shape = (data.dimension, int(self.neurons))
        if self.initialisation == "given":
            given = np.empty(0) if self.start is None else np.asarray(self.start, dtype=np.float64)
            if given.shape != shape:
                raise InputError(f"a start of shape {shape}", given.shape, "give start=, with the intercept's row")
            return given
        few = data.count < 12 * int(self.neurons)
        if few and self.initialisation == "tensor":
            self.warnings_.append("too few samples for the tensor start; a random one was used")
        if few or self.initialisation == "random":
            return np.asarray(source.standard_normal(shape) / np.sqrt(data.dimension))
        rows = data.features[: data.dimension - 1 if self.intercept else None].T
        mixture = self.mixture or _one_gaussian(rows)
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                answer = tensor_start(
                    rows, (data.signs + 1) / 2, mixture, int(self.neurons), source, activation=self.activation
                )
        except np.linalg.LinAlgError as error:  # powers of features of almost no size vanish
            raise InputError("features whose moments can be decomposed", str(error), "rescale them") from None
        if answer.warning:
            self.warnings_.append(answer.warning)
            warnings.warn(answer.warning, UserWarning, stacklevel=3)
        return np.vstack([answer.weights, np.zeros(int(self.neurons))]) if self.intercept else answer.weights


def _one_gaussian(features: FloatArray) -> Mixture:
    """The moments of X, with a tiny share of the mean variance added to the diagonal so that constant columns work."""
    covariance = np.atleast_2d(np.cov(features.T))
    floor = 1e-9 * max(float(np.trace(covariance)) / len(covariance), 1e-12)
    return Mixture(np.ones(1), features.mean(axis=0)[None], (covariance + floor * np.eye(len(covariance)))[None])


def _check_names(X: Any) -> None:
    """scikit-learn passes on what the library under it says of a frame with two columns of one name."""
    if getattr(getattr(X, "columns", None), "is_unique", True) is False:
        raise InputError("columns of different names in X", "one name more than once", "rename one")
