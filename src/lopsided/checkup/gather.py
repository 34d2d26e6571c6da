"""From what a person has to `Evidence`: parts are found by their usual names or by the names given.

Nothing is guessed twice: a part that was asked for by name and is not there ends in a sentence that lists what is. The
rows of a classifier and the columns of probabilities follow the sorted class names, or `classes` where given; columns
that are named for the classes are matched by name.
"""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.class_scores import LOGIT_NAMES, PROBABILITY_NAMES, class_scores
from lopsided.checkup.evidence import Evidence, Partition
from lopsided.checkup.partitions import group_partitions, partition
from lopsided.checkup.parts import find_part, is_name
from lopsided.checkup.sources import Source, open_source
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.seeds import check_seed
from lopsided.core.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_finite,
    check_in_range,
    check_labels,
    check_matrix,
)
from lopsided.data.frames import is_frame
from lopsided.data.tables import GROUP_NAMES, LABEL_NAMES, PREDICTION_NAMES, ROW_NAMES, SPLIT_NAMES, Table
from lopsided.measure.class_moments import LARGEST_FEATURE

CLASSIFIER_NAMES = ("classifier", "classifier_weight", "classifier_weights", "w", "fc.weight", "head.weight", "coef")
BIAS_NAMES = ("bias", "classifier_bias", "b", "fc.bias", "head.bias", "intercept")
DECAY_NAMES = ("weight_decay", "wd")
_TEST_WORDS = frozenset({"test", "testing", "val", "valid", "validation", "dev", "holdout", "held-out", "eval"})
_TRAIN_WORDS = frozenset({"train", "training", "fit"})


def gather(
    data: Any = None,
    *,
    labels: Any = None,
    groups: Any = None,
    features: Any = None,
    classifier: Any = None,
    bias: Any = None,
    probabilities: Any = None,
    logits: Any = None,
    predictions: Any = None,
    split: Any = None,
    weight_decay: float | str | None = None,
    classes: Sequence[Any] | None = None,
    seed: int = 0,
) -> Evidence:
    """Check and name what was given.

    data: a path (npz, npy, parquet, csv, tsv, a folder of pictures), a pandas or Polars frame, a mapping of arrays, an
    array or a tensor of features, or nothing where the arrays below say it all. Every other argument is the name of a
    column or array in `data`, or the array itself. groups: one or several names (a list, or a mapping of arrays, or a
    frame). classifier: K x p, or an object with `weight` and `bias` (PyTorch) or `coef_` and `intercept_`
    (scikit-learn). split: words such as train and test, or True for test rows. classes: the order of the classifier's
    rows and of the columns of probabilities, where it is not the sorted one.
    """
    beside = _named(labels) + _named(groups) + _named(predictions) + _named(split) + _named(probabilities)
    beside += _named(logits)
    if features is not None and not is_name(features):
        if data is not None and not isinstance(data, (str, os.PathLike)) and not is_frame(data):
            raise InputError("features either as data or as features=", "both", "give one of the two")
        source = open_source(data, features=None, beside=beside)
        source = Source(_with_features(features, source), source.others, source.name)
    else:
        source = open_source(data, features=features, beside=beside)
    label_values = find_part(source, labels, LABEL_NAMES, "labels")
    rows = _rows(source, label_values)
    known = None if label_values is None else _classes(label_values, rows, labels, source, classes)
    chosen, notes = _groups(source, groups, rows, labels)
    notes += _ignored(source, beside)
    if known is None and source.names():
        usual = ", ".join(LABEL_NAMES[:4])
        notes.append(f"No labels were found under a usual name ({usual}); say which of {source.listed(8)} holds them.")
    head = find_part(source, classifier, CLASSIFIER_NAMES, "classifier")
    if classifier is None and head is not None and (head.ndim != 2 or head.dtype.kind not in "fiu"):
        head = None  # a column that happens to be called so, such as sample weights
    weight, inner_bias = _head(head)
    bias_values = find_part(source, bias, BIAS_NAMES, "bias")
    table = source.table if source.table is not None and source.table.width else None
    if table is not None:
        _check_finite_blocks(table)
    chances, told = class_scores(source, probabilities, logits, known, rows, stated=classes is not None)
    notes += told
    given = find_part(source, predictions, PREDICTION_NAMES, "predictions")
    evidence = Evidence(
        source=source.name,
        rows=rows,
        classes=known,
        groups=chosen,
        table=table,
        probabilities=chances,
        predictions=_predictions(given, chances, known, rows),
        is_test=_is_test(find_part(source, split, SPLIT_NAMES, "split"), rows),
        weight_decay=_decay(source, weight_decay),
        described_by=tuple(_describing(source, [labels, predictions, split, probabilities, logits])),
        notes=tuple(notes),
        seed=check_seed(seed),
    )
    return _with_classifier(evidence, weight, bias_values if bias_values is not None else inner_bias)


def _named(value: Any) -> list[str]:
    """Names of columns among the arguments; arrays of words are not names."""
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, (list, tuple)) and is_name(value) and len(value) < 200 else []


def _rows(source: Source, labels: NDArray[Any] | None) -> int:
    if source.table is not None:
        return source.table.rows
    if labels is None:
        raise InputError("data or labels to audit", "neither", "give a file, a frame, features or labels")
    return int(labels.shape[0])


def _classes(values: NDArray[Any], rows: int, given: Any, source: Source, order: Sequence[Any] | None) -> Partition:
    name = given if isinstance(given, str) and source.find(given) is not None else "class"
    found = partition(values, "labels", rows)
    if order is None:
        return Partition(name, found.codes, found.names)
    wanted = [str(entry) for entry in plain_array(order, "classes").ravel()]
    if sorted(wanted) != sorted(found.names):
        odd = sorted(set(wanted) ^ set(found.names))
        raise InputError(
            "class names that are the labels, each once",
            f"a difference in {', '.join(odd[:6]) or 'repeats'}",
            "mend it",
        )
    place = np.array([wanted.index(entry) for entry in found.names], dtype=np.int64)
    return Partition(name, place[found.codes], tuple(wanted))


def _groups(source: Source, given: Any, rows: int, labels: Any) -> tuple[dict[str, Partition], list[str]]:
    columns: dict[str, Any] = {}
    if given is None:
        found = find_part(source, None, GROUP_NAMES, "groups")
        columns = {} if found is None else {"group": found}
    elif isinstance(given, str) or is_name(given):
        for name in [given] if isinstance(given, str) else given:
            columns[name] = find_part(source, name, (), "groups")
    elif isinstance(given, Mapping):
        columns = {str(name): plain_array(values, f"the groups {name}") for name, values in given.items()}
    elif is_frame(given):
        from lopsided.data.frames import frame_table

        names = [str(name) for name in given.columns]
        frame = frame_table(given, features=None, beside=names, need_features=False)
        columns = {name: frame.column(name) for name in names}
    else:
        array = plain_array(given, "groups")
        if array.ndim == 2:
            columns = {f"group {place + 1}": array[:, place] for place in range(array.shape[1])}
        else:
            columns = {"group": array}
    usual = {name for name in columns if labels is None and name.lower() in LABEL_NAMES}
    for name in [labels] if isinstance(labels, str) and labels in columns else sorted(usual):
        raise InputError("groups that are not the labels", repr(name), "name another column")
    return group_partitions(columns, rows)


_OUTCOMES = {*LABEL_NAMES, *PREDICTION_NAMES, *SPLIT_NAMES, *PROBABILITY_NAMES, *LOGIT_NAMES, *ROW_NAMES, "file"}


def _describing(source: Source, outcomes: Sequence[Any]) -> list[str]:
    """Columns that are neither labels, predictions, split nor names of rows: groups, and words left out of features."""
    if source.table is None:
        return []
    named = {name for given in outcomes for name in _named(given)}
    return [name for name in source.table.columns if name not in named and name.lower() not in _OUTCOMES]


def _ignored(source: Source, beside: Sequence[str]) -> list[str]:
    """Columns of words that nobody named: they stay out of the features, and the report says so."""
    if source.table is None or (source.table.width and not source.table.feature_names):
        return []
    left = [
        name for name in source.table.columns if name not in beside and name.lower() not in {*_OUTCOMES, *GROUP_NAMES}
    ]
    if not left:
        return []
    some = ", ".join(left[:6]) + (f" and {len(left) - 6} more" if len(left) > 6 else "")
    if not source.table.width:
        return [f"No column holds numbers, so there are no features; if these should, convert them: {some}."]
    return [f"Columns that hold no numbers are not features: {some}."]


def _with_features(features: Any, source: Source) -> Table:
    from lopsided.data.tables import array_table

    array = plain_array(features, "the features")
    columns = {} if source.table is None else dict(source.table.columns)
    return array_table(array, columns, source.name)


def _head(value: Any) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
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


def _with_classifier(evidence: Evidence, weight: Any, bias: Any) -> Evidence:
    from dataclasses import replace

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


def _predictions(
    given: NDArray[Any] | None, chances: FloatArray | None, classes: Partition | None, rows: int
) -> IntArray | None:
    if given is None:
        return None if chances is None else chances.argmax(axis=1).astype(np.int64)
    if classes is None:
        raise InputError("labels beside predictions", "none", "give labels=")
    codes, names = check_labels(given, "predictions", length=rows)
    place = {name: code for code, name in enumerate(classes.names)}
    if not set(names) & set(place):
        some = ", ".join(names[:4])
        raise InputError(
            f"predictions that are labels such as {', '.join(classes.names[:4])}", some, "use the same names in both"
        )
    return np.array([place.get(name, -1) for name in names], dtype=np.int64)[codes]


def _is_test(values: NDArray[Any] | None, rows: int) -> BoolArray | None:
    if values is None:
        return None
    codes, names = check_labels(values, "split", length=rows)
    words = [name.strip().lower() for name in names]
    if all(word in _TEST_WORDS | _TRAIN_WORDS for word in words):
        test = np.array([word in _TEST_WORDS for word in words])
    elif all(word in ("0", "1", "false", "true") for word in words):
        test = np.array([word in ("1", "true") for word in words])
    else:
        raise InputError("train and test, or True for test rows, as split", ", ".join(names[:6]), "rename them")
    chosen: BoolArray = test[codes]
    if chosen.all() or not chosen.any():
        raise InputError("training and test rows in the split", f"only {names[int(codes[0])]}", "leave the split out")
    return chosen


def _decay(source: Source, given: float | str | None) -> float | None:
    if given is None or isinstance(given, str):
        found = find_part(source, given, DECAY_NAMES, "weight decay")
        if found is None or np.size(found) != 1:
            return None
        given = float(np.ravel(found)[0])
    return check_in_range(given, "the weight decay", 0.0, 1e3) or None


def _check_finite_blocks(table: Table) -> None:
    """Every feature is a finite number; asked once, so that no check has to."""
    start = 0
    for block in table.blocks():
        if block.dtype.kind != "f" or not block.size:
            start += len(block)
            continue
        largest = float(np.abs(block).max())  # NaN where any entry is
        if math.isfinite(largest) and largest > LARGEST_FEATURE:
            raise InputError(
                f"features of at most {LARGEST_FEATURE:.0e} in size in {table.source}",
                f"{largest:.2g}",
                "rescale them: their squares leave the doubles",
            )
        if not math.isfinite(largest):
            bad = ~np.isfinite(block)
            if bad.any():
                row, column = (int(at) for at in np.argwhere(bad)[0])
                name = f" ({table.feature_names[column]})" if table.feature_names else ""
                raise InputError(
                    f"finite numbers as features in {table.source}",
                    f"{block[row, column]} in row {start + row}, column {column}{name}",
                    "remove or fill such entries first",
                )
        start += len(block)
