"""From what a person has to `Evidence`: parts are found by their usual names or by the names given.

If a part that was asked for by name is missing, the error lists what is there. The rows of a classifier and the columns
of probabilities follow the sorted class names, or `classes` where given; columns that are named for the classes are
matched by name.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.arguments import shared_parameters
from lopsided.checkup.inputs.class_scores import class_probabilities
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.left_out import columns_of, describing, reserved_names
from lopsided.checkup.inputs.missing import missing_values, usable
from lopsided.checkup.inputs.outcomes import (
    BIAS_NAMES,
    CLASSIFIER_NAMES,
    DECAY_NAMES,
    checked_decay,
    design_of,
    is_test_row,
    predicted_codes,
    weight_and_bias,
    with_classifier,
)
from lopsided.checkup.inputs.partitions import check_filled, group_columns, group_partitions, idle_groups, partition
from lopsided.checkup.inputs.parts import Finder, column_names, find_part, is_name, settled, usual_names
from lopsided.checkup.inputs.sources import DataSource, open_source
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError, cut
from lopsided.core.partition import Partition
from lopsided.core.seeds import check_seed
from lopsided.core.validation import BoolArray, FloatArray, IntArray, check_classes, check_in_range
from lopsided.data.encoded_tables import sparse_table
from lopsided.data.frames import frame_columns, frame_table, is_frame
from lopsided.data.rows import is_sparse
from lopsided.data.tables import (
    GROUP_NAMES,
    LABEL_NAMES,
    PREDICTION_NAMES,
    SPLIT_NAMES,
    ColumnChoice,
    Table,
    array_table,
)


@shared_parameters
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
    split_by: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    weight_decay: float | str | None = None,
    classes: Sequence[Any] | None = None,
    seed: int = 0,
    many_classes: bool = False,
    name: str | None = None,
    times: IntArray | None = None,
    drawn: bool = False,
) -> Evidence:
    """Check and name what was given: a name in `data` or an array each; a list of one word per row is an array.

    Parameters
    ----------
    {inputs}
    times : array of shape (n,), optional
        How many examples each row stands for, where equal rows were counted instead of kept.
    drawn : bool, default False
        Whether the rows are a sample, in which a group may be alone although it is not in the data.

    Returns
    -------
    Evidence
    """
    single = [predictions, split, split_by, time, sample_weight]
    whole = classifier is None  # the columns of a classifier are those of numbers
    source, beside = _opened(data, features, labels, groups, single, [probabilities, logits], whole)
    labels, groups = settled(labels, source), settled(groups, source)
    predictions, split, split_by, time, sample_weight = (settled(part, source) for part in single)
    notes: list[str] = [] if source.table is None else list(source.table.notes)
    found = Finder(source, notes)
    usual_labels = _label_names(source) if labels is None else []
    label_values = find_part(source, labels, usual_labels, "labels")
    rows = _rows(source, label_values)
    known = None if label_values is None else _classes(label_values, rows, labels, source, classes, times)
    if known is not None and not many_classes:
        check_classes(label_values, len(known.names))
    if known is None and source.names():
        usual = ", ".join(LABEL_NAMES[:4])
        notes.append(f"No labels were found under a usual name ({usual}); say which of {source.listed(8)} holds them.")
    chosen = _groups(found, groups, rows, labels, times, drawn)
    table = usable(source.table) if source.table is not None and source.table.width else None
    chances = _chances(found, probabilities, logits, known, rows, classes is not None)
    judged = found.part(
        predictions, PREDICTION_NAMES, "predictions", partial(_predicted, known=known, rows=rows, times=times)
    )
    if judged is None and chances is not None:
        judged = chances.argmax(axis=1).astype(np.int64)
    evidence = Evidence(
        source=name or source.name,
        rows=rows,
        classes=known,
        groups=chosen,
        table=table,
        missing=missing_values(table),
        probabilities=chances,
        predictions=judged,
        is_test=found.part(split, SPLIT_NAMES, "split", partial(_in_test, rows=rows, times=times)),
        weight_decay=_decay(found, weight_decay),
        design=design_of(found, rows, split_by, time, sample_weight),
        described_by=describing(source, [name for name in beside if name not in column_names(groups, several=True)]),
        seed=check_seed(seed),
        times=times,
    )
    evidence = _with_head(found, evidence, classifier, bias)
    roles = {
        "label": usual_labels[:1] if labels is None else _named(labels),
        "groups": column_names(groups, several=True),
        "split": _named(split),
        "rows kept together by": _named(split_by),
        "time": _named(time),
        "weights": _named(sample_weight),
        "predictions": [name for part in (predictions, probabilities, logits) for name in _named(part)],
    }
    for name, what in found.read.items():
        roles[what] = [*roles.get(what, []), name]
    read = columns_of(replace(source, table=table if table is not None else source.table), roles)
    if features is not None:  # whoever names the features has left out the others
        asked = set(column_names(features, several=True))
        read = replace(read, ignored=tuple(entry for entry in read.ignored if entry[0] in asked))
        for column, why in read.ignored:
            found.leave(f"The column {column!r} was named as a feature and is not used: {why}.", asked=True)
    return replace(
        evidence,
        notes=tuple(map(cut, notes)),
        columns=read,
        aside=tuple(map(cut, found.aside)),
        unmet=tuple(map(cut, found.unmet)),
    )


def _named(part: Any) -> list[str]:
    """The names of columns that an argument gives, or the name of the series that it is."""
    name = getattr(part, "name", None)
    return column_names(part, several=True) or ([name] if isinstance(name, str) else [])


def _rows(source: DataSource, labels: NDArray[Any] | None) -> int:
    if source.table is not None:
        return source.table.rows
    if labels is None:
        raise InputError("data or labels to audit", "neither", "give a file, a frame, features or labels")
    return int(labels.shape[0])


def _classes(
    values: NDArray[Any], rows: int, given: Any, source: DataSource, order: Sequence[Any] | None, times: IntArray | None
) -> Partition:
    name = given if isinstance(given, str) and source.find(given) is not None else "class"
    found = partition(values, "labels", rows, times)
    if order is None:
        return replace(found, name=name)
    wanted = [str(entry) for entry in plain_array(order, "classes").ravel()]
    if sorted(wanted) != sorted(found.names):
        odd = sorted(set(wanted) ^ set(found.names))
        got = f"a difference in {', '.join(odd[:6]) or 'repeats'}"
        raise InputError("class names that are the labels, each once", got)
    place = np.array([wanted.index(entry) for entry in found.names], dtype=np.int64)
    return Partition(name, place[found.codes], tuple(wanted), times)


def _opened(
    data: Any, features: Any, labels: Any, groups: Any, single: Sequence[Any], several: Sequence[Any], whole: bool
) -> tuple[DataSource, list[str]]:
    """The source, and the names of columns that were asked for as something else than features."""
    beside = [name for part in (labels, *single) for name in column_names(part)]
    beside += [name for part in several for name in column_names(part, several=True)]
    if is_frame(data):  # labels=df["income"] beside df
        own = set(frame_columns(data))
        beside += [part.name for part in (labels, *single) if getattr(part, "name", None) in own]
    grouping = column_names(groups, several=True)
    array = features is not None and not is_name(features)
    if array and data is not None and not isinstance(data, (str, os.PathLike)) and not is_frame(data):
        raise InputError("features either as data or as features=", "both", "give one of the two")
    chosen = None if array else features
    asked = ColumnChoice(chosen, beside + grouping, reserved_names(labels, groups), chosen is not None, whole)
    source = open_source(data, asked)
    if grouping and not is_name(settled(groups, source)):  # one word per row, some of which may be names of columns
        source = open_source(data, replace(asked, beside=beside, reserved=reserved_names(labels, None)))
        grouping = []
    if array:
        source = DataSource(_with_features(features, source), source.others, source.name)
    return source, beside + grouping


def _predicted(values: Any, known: Partition | None, rows: int, times: IntArray | None) -> IntArray:
    check_filled(values, "predictions", times)
    return predicted_codes(values, known, rows)


def _in_test(values: Any, rows: int, times: IntArray | None) -> BoolArray:
    check_filled(values, "split", times)
    return is_test_row(values, rows)


def _label_names(source: DataSource) -> list[str]:
    """Usual names of labels in the source, those of fractions last: a coordinate may be called y."""
    found = usual_names(source, LABEL_NAMES)
    return sorted(found, key=lambda name: _has_fractions(source.find(name)))


def _has_fractions(values: NDArray[Any] | None) -> bool:
    return values is not None and values.dtype.kind == "f" and bool((values != np.floor(values)).any())


def _with_features(features: Any, source: DataSource) -> Table:
    columns = {} if source.table is None else dict(source.table.columns)
    if is_sparse(features):
        return sparse_table(features, columns, source.name)
    if is_frame(features):
        table = frame_table(features, ColumnChoice(reserved=(), whole=True))
        return replace(table, columns={**table.columns, **columns}, source=source.name)
    return array_table(plain_array(features, "the features"), columns, source.name)


def _groups(
    found: Finder, given: Any, rows: int, labels: Any, times: IntArray | None, drawn: bool
) -> dict[str, Partition]:
    def read(columns: dict[str, Any]) -> dict[str, Partition]:
        parts, told = group_partitions(columns, rows, times)
        found.notes.extend(told)
        return parts

    if given is not None:
        columns = group_columns(found.source, given, labels)
        parts = read(columns)
        for sentence in () if drawn else idle_groups([parts[name] for name in columns]):
            found.leave(sentence, asked=True)
        return parts
    return found.part(None, GROUP_NAMES, "groups", lambda part: read({"group": part})) or {}


def _chances(
    found: Finder, probabilities: Any, logits: Any, known: Partition | None, rows: int, stated: bool
) -> FloatArray | None:
    try:
        chances, told = class_probabilities(found.source, probabilities, logits, known, rows, stated=stated)
    except InputError as error:
        if probabilities is not None or logits is not None:
            raise
        found.leave(f"Probabilities or logits with a usual name are ignored: {error}")
        return None
    found.notes.extend(told)
    return chances


def _decay(found: Finder, given: float | str | None) -> float | None:
    if given is None or isinstance(given, str):
        return found.part(given, DECAY_NAMES, "weight decay", checked_decay)
    return check_in_range(given, "the weight decay", 0.0, 1e3) or None


def _with_head(found: Finder, evidence: Evidence, classifier: Any, bias: Any) -> Evidence:
    """With the classifier that was given, or with one of a usual name that fits."""
    offset = find_part(found.source, bias, BIAS_NAMES, "bias")

    def read(part: Any) -> Evidence:
        weight, own = weight_and_bias(part)
        return with_classifier(evidence, weight, offset if offset is not None else own)

    if classifier is not None:
        return read(find_part(found.source, classifier, (), "classifier"))
    for name in usual_names(found.source, CLASSIFIER_NAMES):
        part = found.source.find(name)
        if part is not None and part.ndim == 2 and part.dtype.kind in "fiu":  # no column, such as sample weights
            return found.part(None, (name,), "classifier", read) or evidence
    return evidence
