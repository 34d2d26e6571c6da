"""The part of the evidence that plan and trial train on: features, classes, one partition into groups, no test rows."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.partitions import order_of
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import IntArray, check_matrix, name_one_of
from lopsided.data.columns import Columns
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import Rows, select
from lopsided.data.tables import Table

# A partition into groups is used by default only if each of its groups has this many examples: with fewer, the lowest
# accuracy is that of the smallest group's luck.
GROUP_SIZE_WANTED = 50


def training_set(evidence: Evidence, *, group: str | None = None, own: bool = False) -> LabelledSet:
    """Features and labels are needed; `group` names the partition whose worst group counts.

    Without it: of the partitions of which every group has `GROUP_SIZE_WANTED` training examples the one with the most
    groups, else the column whose smallest group is largest. The order and the names of columns do not matter.
    own: the learner is the user's, and gets the columns of the user's frame as they are.
    """
    if evidence.classes is None:
        raise InputError("labels to plan for", "none", "say which column or array holds them")
    if evidence.table is None:
        raise InputError("features to train on", "none", "give them beside the labels")
    features = _features(evidence.table, own)
    rows = np.arange(evidence.rows) if evidence.is_test is None else np.flatnonzero(~evidence.is_test)
    present, sizes = np.unique(evidence.classes.codes[rows], return_counts=True)
    if present.size < 2:
        raise InputError("at least two classes among the training rows", present.size, "check the labels and the split")
    if sizes.max() < 2:  # one to learn from and one to test on
        got = f"{present.size:,} classes of one example each"
        raise InputError("two training examples of a class", got, "check which column holds the labels")
    chosen = _partition(evidence, rows, group)
    columns = _columns(evidence.columns, evidence.table, own)
    everything = LabelledSet(
        np.arange(evidence.rows), evidence.classes, chosen, features, evidence.source, evidence.design, columns
    )
    return everything if rows.size == evidence.rows else everything.subset(rows)


def _columns(known: Columns, table: Table, own: bool) -> Columns:
    """What is used: by the user's own learner also the columns that the others have nothing from."""
    if not own or table.frame is None or table.used is None:
        return known
    given = {name for name, _ in table.ignored}
    used = (*known.used, *(name for name, _ in known.ignored if name in given))
    return replace(known, used=used, ignored=tuple(one for one in known.ignored if one[0] not in given))


def _features(table: Table, own: bool) -> Rows:
    """A float matrix where all features are finite numbers, else what came; a file with words is a pandas frame to the
    user's learner where pandas is installed."""
    frame = table.frame
    if frame is None or (table.used is not None and table.origins is None and not own):
        return check_matrix(table.features(), "features", rows=table.rows)
    if table.used is None:  # a sparse matrix, or one with NaN
        return frame
    if not own:
        return select(frame, table.used)
    return frame.to_pandas() if hasattr(frame, "to_batches") and find_spec("pandas") is not None else frame


def _partition(evidence: Evidence, rows: IntArray, group: str | None) -> Partition | None:
    if group is not None:
        if group not in evidence.groups:
            have = ", ".join(evidence.groups) or "none"
            raise InputError(f"groups named {group!r}", f"the groups: {have}", name_one_of(evidence.groups, group))
        return evidence.groups[group]
    if not evidence.groups:
        return None
    sizes = {name: np.unique(part.codes[rows], return_counts=True)[1] for name, part in evidence.groups.items()}
    able = [part for name, part in evidence.groups.items() if sizes[name].min() >= GROUP_SIZE_WANTED]
    if able:
        return max(able, key=lambda part: (sizes[part.name].size, int(sizes[part.name].min()), order_of(part)))
    columns = [part for part in evidence.groups.values() if part.columns == 1]
    return max(columns, key=lambda part: (int(sizes[part.name].min()), order_of(part)))
