"""`Oversampler`: oversampling of arrays with the interface of imbalanced-learn, by rate or by sampling_strategy.

It derives from scikit-learn alone. imbalanced-learn's pipelines look for `fit_resample` and nothing else, so
importing its base classes would add a dependency and nothing more; its estimator checks pass
(tests/remedies/test_oversampler.py). Against `RandomOverSampler`: copies are whole copies plus a random fraction
without replacement, so no example of a class is favoured by chance; a `rate` may be a multiple, a forecast or a rule
instead of full balance; and rows are taken by position, never through an array, so that a data frame keeps the types
of its columns.

imbalanced-learn's `sampling_strategy` is converted to the number of examples to add to each class.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.utils import InputTags, Tags, TargetTags, _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray, check_count, check_in_range
from lopsided.remedies.cells import Cells, cells_of
from lopsided.remedies.rates import Rate, Rates, rates_for
from lopsided.remedies.recipe import Recipe
from lopsided.remedies.resampling import resampling_plan

Strategy = str | float | Mapping[Any, int] | Callable[[Any], Mapping[Any, int]]


def examples_to_add(strategy: Strategy, labels: Any, counts: Mapping[Hashable, int]) -> dict[Hashable, int]:
    """Class -> examples to add, with the meanings of imbalanced-learn's user guide.

    'auto' and 'not majority', 'minority', 'not minority', 'all': raise those classes to the largest; a number (two
    classes): the size of the minority over the majority afterwards; a dict, or a function of the labels that gives one:
    the size of each class afterwards.
    """
    largest, smallest = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
    if callable(strategy):
        strategy = strategy(labels)
    if isinstance(strategy, Mapping):
        return _by_class(strategy, counts)
    if isinstance(strategy, str):
        left_out = {"auto": {largest}, "not majority": {largest}, "all": set(), "not minority": {smallest}}
        left_out["minority"] = set(counts) - {smallest}
        if strategy not in left_out:
            raise InputError(f"a sampling_strategy among {', '.join(left_out)}", repr(strategy), "or give a dict")
        return {label: counts[largest] - size for label, size in counts.items() if label not in left_out[strategy]}
    share = check_in_range(strategy, "sampling_strategy", 0.0, 1.0, remedy="it is minority over majority")
    if len(counts) != 2:
        raise InputError("two classes for a number as sampling_strategy", f"{len(counts)} classes", "give a dict")
    added = int(counts[largest] * share - counts[smallest])
    if added <= 0:
        raise InputError(
            f"a sampling_strategy above {counts[smallest] / counts[largest]:.3g}, the ratio now", share, "raise it"
        )
    return {smallest: added}


def _by_class(strategy: Mapping[Any, int], counts: Mapping[Hashable, int]) -> dict[Hashable, int]:
    unknown = [label for label in strategy if label not in counts]
    if unknown:
        raise InputError("classes that occur in sampling_strategy", unknown[0])
    added: dict[Hashable, int] = {}
    for label, wanted in strategy.items():
        if check_count(wanted, f"the size of class {label}") < counts[label]:
            raise InputError(f"at least the {counts[label]} examples of class {label}", wanted, "this only adds copies")
        added[label] = int(wanted) - counts[label]
    return added


@dataclass(slots=True)
class _SamplerTags:
    """As in imbalanced-learn, whose checks read it."""

    sample_indices: bool = True


@dataclass(slots=True)
class _SamplerInputTags(InputTags):  # type: ignore[misc]
    dataframe: bool = True


@dataclass(slots=True)
class _TagsOfSampler(Tags):  # type: ignore[misc]
    sampler_tags: _SamplerTags = field(default_factory=_SamplerTags)


class Oversampler(OneToOneFeatureMixin, BaseEstimator):  # type: ignore[misc]
    """Repeat examples of small classes with `fit_resample(X, y)`. Rates below 1 leave rows out.

    Parameters
    ----------
    rate : "forecast", "balanced", "sqrt", float or dict, optional
        The rule (the forecast needs a `recipe`), a number of copies of the minority, or a number by label. By default,
        `sampling_strategy` decides.
    sampling_strategy : str, float, dict or callable, default "auto"
        As in imbalanced-learn's over-samplers; the default balances.
    recipe : Recipe or dict, optional
        Settings of the forecast.
    group_columns : str, int or list of these, optional
        Columns of X whose values make groups; rates are then by cell of class and group. Use this in a pipeline, which
        passes no `groups` to `fit_resample`.
    random_state : int, RandomState or None, default None
        An int makes the result repeatable.

    Attributes
    ----------
    rates_ : Rates
        The rates, with the reason in words.
    sampling_strategy_ : dict
        Examples added per class.
    sample_indices_ : ndarray
        All examples in their order, then the copies.
    """

    def __init__(
        self,
        rate: Rate | None = None,
        *,
        sampling_strategy: Strategy = "auto",
        recipe: Recipe | Mapping[str, Any] | None = None,
        group_columns: str | int | Sequence[str | int] | None = None,
        random_state: Any = None,
    ) -> None:
        self.rate = rate
        self.sampling_strategy = sampling_strategy
        self.recipe = recipe
        self.group_columns = group_columns
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> "Oversampler":
        """Choose the rates without resampling."""
        labels = self._checked(X, y)
        self.rates_, _ = self._rates(labels, self._groups(X, groups))
        return self

    def fit_resample(self, X: Any, y: Any, groups: ArrayLike | None = None) -> tuple[Any, Any]:
        """X and y with the copies, in the containers they came in. `groups` makes cells of class and group."""
        labels = self._checked(X, y)
        self.rates_, cells = self._rates(labels, self._groups(X, groups))
        seed = self._seed()
        taken = resampling_plan(cells.codes, self.rates_.rates).indices(seed, shuffle=False)
        self.sample_indices_ = _originals_first(taken, labels.shape[0])
        return _rows(X, self.sample_indices_), _rows(y, self.sample_indices_)

    def _checked(self, X: Any, y: Any) -> Any:
        """One label per row; the number and names of the columns are kept, values are not looked at."""
        for name, value in (("X", X), ("y", y)):
            if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
                got = f"{name} of type {type(value).__name__}"
                raise InputError("a table of examples and a label for each", got, "give arrays, lists or frames")
            if _num_samples(value) == 0:
                raise InputError("at least one example", f"{name} of length 0")
        try:
            check_classification_targets(y)
            several = type_of_target(y) == "multilabel-indicator"
        except TypeError:  # of sorting: labels such as None beside strings
            raise InputError("labels of one type", "types that cannot be sorted", "make all of them strings") from None
        if several:
            indicators = np.asarray(y)
            if np.any(indicators.sum(axis=1) != 1):
                raise InputError(
                    "one class per example",
                    "several or none",
                    "encode combinations as classes: Multilabel and multioutput targets are not supported",
                )
            labels = indicators.argmax(axis=1)
        else:
            labels = column_or_1d(y)
        if isinstance(X, Mapping):  # of which scikit-learn asks for entry 0
            raise InputError("rows of features", f"a {type(X).__name__}", "give a matrix or a frame")
        given = np.asarray(X) if isinstance(X, list) else X
        names = [str(name) for name in getattr(given, "columns", ())]
        if len(set(names)) < len(names):  # scikit-learn's reading of frames ends in an error of its own here
            raise InputError("columns of different names", f"{max(names, key=names.count)} twice", "rename them")
        validate_data(self, X=given, y=labels, reset=True, skip_check_array=True)
        if _num_samples(X) != labels.shape[0]:
            raise InputError(f"{labels.shape[0]} rows, one per label", _num_samples(X), "X and y must belong together")
        return labels

    def _seed(self) -> int:
        try:
            random = check_random_state(self.random_state)
        except ValueError:
            expected, remedy = "a whole number from 0 to 2^32 - 1 as random_state", "give such a number, or None"
            raise InputError(expected, repr(self.random_state), remedy) from None
        return int(random.randint(2**31 - 1))

    def _groups(self, X: Any, groups: ArrayLike | None) -> ArrayLike | None:
        if self.group_columns is None:
            return groups
        if groups is not None:
            raise InputError("groups or group_columns", "both", "leave one of them out")
        several = isinstance(self.group_columns, Sequence) and not isinstance(self.group_columns, str)
        columns = list(self.group_columns) if several else [self.group_columns]  # type: ignore[arg-type]
        values = [_column(X, column) for column in columns]
        return values[0] if len(values) == 1 else [" | ".join(map(str, row)) for row in zip(*values, strict=True)]

    def _rates(self, labels: Any, groups: ArrayLike | None) -> tuple[Rates, Cells]:
        cells = cells_of(labels, groups)
        # labels as they were given, by the cell they are in: a dict of the user has those as keys
        _, first = np.unique(cells.codes, return_index=True)
        given = np.asarray(labels)[first].tolist()
        sizes = cells.counts
        counts: dict[Any, int] = dict.fromkeys(given, 0)
        for label, size in zip(given, sizes.tolist(), strict=True):
            counts[label] += size
        if len(counts) < 2:
            raise InputError("at least two classes", "one class", "there is nothing to balance")
        if self.rate is not None:
            if self.sampling_strategy != "auto":
                raise InputError("a rate or a sampling_strategy", "both", "leave one of them out")
            rates, cells = rates_for(labels, groups, self.rate, recipe=self.recipe)
            self.sampling_strategy_ = dict.fromkeys(counts, 0)
            for label, added in zip(given, np.rint(rates.effective_counts) - rates.counts, strict=True):
                self.sampling_strategy_[label] += int(added)
            return rates, cells
        if groups is not None:
            raise InputError("a rate with groups", "a sampling_strategy", "give rate='balanced' or another rate")
        self.sampling_strategy_ = examples_to_add(self.sampling_strategy, labels, counts)
        grown = np.array([1 + self.sampling_strategy_.get(label, 0) / counts[label] for label in given])
        why = "Oversamples classes as sampling_strategy says."
        return Rates(cells.names, sizes.astype(np.float64), grown, "sampling_strategy", why), cells

    def __sklearn_tags__(self) -> Tags:
        allowed = _SamplerInputTags(sparse=True, string=True, allow_nan=True)
        return _TagsOfSampler(estimator_type="sampler", target_tags=TargetTags(required=True), input_tags=allowed)


def _originals_first(taken: IntArray, rows: int) -> IntArray:
    """Every row that was taken once, in order, then the copies."""
    times = np.bincount(taken, minlength=rows)
    return np.concatenate([np.flatnonzero(times), np.repeat(np.arange(rows), np.maximum(times - 1, 0))])


def _column(X: Any, column: Any) -> Any:
    """One column of whatever holds the features, as a flat array."""
    try:
        if issparse(X):
            return X.tocsc()[:, [column]].toarray().ravel()
        return np.asarray(_safe_indexing(np.asarray(X) if isinstance(X, list) else X, column, axis=1))
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise InputError(f"a column {column!r} in X", "none", "name a column, or give its position") from error


def _rows(container: Any, indices: IntArray) -> Any:
    """Rows by position; pandas objects get a fresh index, sparse matrices that cannot be indexed become csr."""
    if issparse(container) and container.format not in ("csr", "csc"):
        container = container.tocsr()
    found = _safe_indexing(container, indices)
    return found.reset_index(drop=True) if hasattr(found, "reset_index") else found
