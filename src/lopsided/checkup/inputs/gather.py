"""From what a person has to `Evidence`: parts are found by their usual names or by the names given.

Nothing is guessed twice: a part that was asked for by name and is not there ends in a sentence that lists what is. The
rows of a classifier and the columns of probabilities follow the sorted class names, or `classes` where given; columns
that are named for the classes are matched by name.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.inputs.arguments import shared_parameters
from lopsided.checkup.inputs.class_scores import class_scores
from lopsided.checkup.inputs.design import design_of
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.left_out import describing, notes_on_columns, reserved_names
from lopsided.checkup.inputs.missing import MissingValues, check_finite_blocks, missing_values
from lopsided.checkup.inputs.outcomes import (
    BIAS_NAMES,
    CLASSIFIER_NAMES,
    DECAY_NAMES,
    checked_decay,
    is_test_row,
    predicted_codes,
    weight_and_bias,
    with_classifier,
)
from lopsided.checkup.inputs.partitions import group_columns, group_partitions, partition
from lopsided.checkup.inputs.parts import Finder, column_names, find_part, is_name, settled, usual_names
from lopsided.checkup.inputs.sources import DataSource, open_source
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.seeds import check_seed
from lopsided.core.validation import FloatArray, check_classes, check_in_range
from lopsided.data.frames import frame_columns, is_frame
from lopsided.data.tables import GROUP_NAMES, LABEL_NAMES, PREDICTION_NAMES, SPLIT_NAMES, Table, array_table


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
    set_aside: bool = False,
) -> Evidence:
    """Check and name what was given: a name in `data` or an array each; a list of one word per row is an array.

    Parameters
    ----------
    {inputs}
    set_aside : bool, default False
        Set features with missing values aside, with a record of which, instead of refusing them.

    Returns
    -------
    Evidence
    """
    single = [predictions, split, split_by, time, sample_weight]
    source, beside = _opened(data, features, labels, groups, single, [probabilities, logits])
    labels, groups = settled(labels, source), settled(groups, source)
    predictions, split, split_by, time, sample_weight = (settled(part, source) for part in single)
    notes: list[str] = [] if source.table is None else list(source.table.notes)
    found = Finder(source, notes)
    usual_labels = _label_names(source) if labels is None else []
    label_values = find_part(source, labels, usual_labels, "labels")
    rows = _rows(source, label_values)
    known = None if label_values is None else _classes(label_values, rows, labels, source, classes)
    if known is not None and not many_classes:
        check_classes(label_values, len(known.names))
    if known is None and source.names():
        usual = ", ".join(LABEL_NAMES[:4])
        notes.append(f"No labels were found under a usual name ({usual}); say which of {source.listed(8)} holds them.")
    chosen = _groups(found, groups, rows, labels)
    table = source.table if source.table is not None and source.table.width else None
    table, missing = _usable(table, set_aside and known is not None)
    chances = _chances(found, probabilities, logits, known, rows, classes is not None)
    judged = found.part(predictions, PREDICTION_NAMES, "predictions", lambda part: predicted_codes(part, known, rows))
    if judged is None and chances is not None:
        judged = chances.argmax(axis=1).astype(np.int64)
    evidence = Evidence(
        source=source.name,
        rows=rows,
        classes=known,
        groups=chosen,
        table=table,
        missing=missing,
        probabilities=chances,
        predictions=judged,
        is_test=found.part(split, SPLIT_NAMES, "split", lambda part: is_test_row(part, rows)),
        weight_decay=_decay(found, weight_decay),
        design=design_of(found, rows, split_by, time, sample_weight),
        described_by=describing(source, [name for name in beside if name not in column_names(groups, several=True)]),
        seed=check_seed(seed),
    )
    evidence = _with_head(found, evidence, classifier, bias)
    if features is None:  # whoever names the features has left out the others
        notes += notes_on_columns(source, [*beside, *usual_labels[:1]], found.read)
    return replace(evidence, notes=tuple(notes), aside=tuple(found.aside))


def _usable(table: Table | None, set_aside: bool) -> tuple[Table | None, MissingValues | None]:
    """The table, refused where it holds what is no finite number; or what is missing in it."""
    if table is None:
        return None, None
    try:
        check_finite_blocks(table)
    except InputError:
        missing = missing_values(table) if set_aside else None
        if missing is None:
            raise
        return None, missing
    return table, None


def _rows(source: DataSource, labels: NDArray[Any] | None) -> int:
    if source.table is not None:
        return source.table.rows
    if labels is None:
        raise InputError("data or labels to audit", "neither", "give a file, a frame, features or labels")
    return int(labels.shape[0])


def _classes(values: NDArray[Any], rows: int, given: Any, source: DataSource, order: Sequence[Any] | None) -> Partition:
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


def _opened(
    data: Any, features: Any, labels: Any, groups: Any, single: Sequence[Any], several: Sequence[Any]
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
    source = open_source(data, features=chosen, beside=beside + grouping, reserved=reserved_names(labels, groups))
    if grouping and not is_name(settled(groups, source)):  # one word per row, some of which may be names of columns
        source = open_source(data, features=chosen, beside=beside, reserved=reserved_names(labels, None))
        grouping = []
    if array:
        source = DataSource(_with_features(features, source), source.others, source.name)
    return source, beside + grouping


def _label_names(source: DataSource) -> list[str]:
    """Usual names of labels in the source, those of fractions last: a coordinate may be called y."""
    found = usual_names(source, LABEL_NAMES)
    return sorted(found, key=lambda name: _has_fractions(source.find(name)))


def _has_fractions(values: NDArray[Any] | None) -> bool:
    return values is not None and values.dtype.kind == "f" and bool((values != np.floor(values)).any())


def _with_features(features: Any, source: DataSource) -> Table:
    array = plain_array(features, "the features")
    columns = {} if source.table is None else dict(source.table.columns)
    return array_table(array, columns, source.name)


def _groups(found: Finder, given: Any, rows: int, labels: Any) -> dict[str, Partition]:
    def read(columns: dict[str, Any]) -> dict[str, Partition]:
        parts, told = group_partitions(columns, rows)
        found.notes.extend(told)
        return parts

    if given is not None:
        return read(group_columns(found.source, given, labels))
    return found.part(None, GROUP_NAMES, "groups", lambda part: read({"group": part})) or {}


def _chances(
    found: Finder, probabilities: Any, logits: Any, known: Partition | None, rows: int, stated: bool
) -> FloatArray | None:
    try:
        chances, told = class_scores(found.source, probabilities, logits, known, rows, stated=stated)
    except InputError as error:
        if probabilities is not None or logits is not None:
            raise
        found.leave(f"Probabilities or logits found by their usual name are left aside: {error}")
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
