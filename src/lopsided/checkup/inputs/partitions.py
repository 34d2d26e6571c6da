"""Groups in whatever form they were given, as columns by name; columns to partitions, and their intersections.

Every pair of columns is crossed, and all of them together where there are three or more; of more than
`MOST_INTERSECTIONS` those with the fewest cells, in whatever order the columns come. Cells of an intersection with
fewer than `SMALL_CELL` examples are joined into one part, because a rate over a handful of rows says nothing; the notes
say how many were joined. A column of its own is never joined: its names are the user's.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from lopsided.checkup.inputs.parts import find_part, is_name
from lopsided.checkup.inputs.sources import DataSource
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition, by_appearance, tally
from lopsided.core.validation import IntArray, check_labels, is_missing
from lopsided.data.arrow_tables import time_words
from lopsided.data.frames import frame_table, is_frame
from lopsided.data.tables import LABEL_NAMES, ColumnChoice

SMALL_CELL = 20
MOST_GROUPS = 500  # names in a column; more than that is a measurement, not a grouping
MOST_INTERSECTIONS = 12
CROSS = " × "
MISSING = "(missing)"


def partition(values: Any, name: str, rows: int | None, times: IntArray | None = None) -> Partition:
    """A column of labels or groups as codes and names; `times`: the examples that each row stands for."""
    array = time_words(np.asarray(values))
    check_filled(array, name, times)
    codes, names = check_labels(array, name, length=rows)
    return Partition(name, codes, tuple(names), times)


def check_filled(values: Any, name: str, times: IntArray | None) -> None:
    """Raise an error if a value of counted rows is missing: it tells how many examples, which the row does not."""
    array = np.asarray(values)
    if times is None or array.shape != times.shape or array.dtype.kind not in "Of":
        return
    missing = np.array([is_missing(entry) for entry in array.tolist()], dtype=bool)
    if missing.any():
        got = f"missing values in {int(times[missing].sum()):,} of {int(times.sum()):,}"
        raise InputError(f"a label for every example in {name}", got, "remove or fill them first")


def _group_partition(values: Any, name: str, rows: int, times: IntArray | None) -> Partition:
    """Examples whose group is missing are a group of their own: they may be harmed as any other."""
    array = time_words(np.asarray(values))
    missing = np.zeros(array.shape, dtype=bool)
    if array.shape == (rows,) and array.dtype.kind in "Of":
        missing = np.array([is_missing(entry) for entry in array.tolist()], dtype=bool)
    if missing.all():
        raise InputError(f"a group in some row of {name}", "missing values only", "name another column")
    if not missing.any() or MISSING in array.tolist():
        return partition(values, name, rows, times)
    known = partition(array[~missing], name, rows - int(missing.sum()))
    codes = np.full(rows, len(known.names), dtype=np.int64)
    codes[~missing] = known.codes
    return Partition(name, codes, (*known.names, MISSING), times)


def group_partitions(
    columns: Mapping[str, Any], rows: int, times: IntArray | None = None
) -> tuple[dict[str, Partition], list[str]]:
    """Partitions of the columns, then of their intersections, and notes on what was joined or left out."""
    single = {name: _group_partition(values, name, rows, times) for name, values in columns.items()}
    for name, part in single.items():
        if len(part.names) > MOST_GROUPS:
            got = f"{len(part.names)} different values"
            raise InputError(f"at most {MOST_GROUPS} groups in {name}", got, "bin the column first")
    crossings = list(combinations(single.values(), 2)) + ([tuple(single.values())] if len(single) > 2 else [])
    wanted = _fewest_cells(crossings)
    notes = [
        f"{int(part.counts[-1]):,} examples have no {name}: they are the group {MISSING}."
        for name, part in single.items()
        if part.names[-1] == MISSING
    ]
    if len(wanted) < len(crossings):
        notes.append(f"{len(crossings) - len(wanted)} of {len(crossings)} intersections of groups were left out.")
    found = dict(single)
    for parts in wanted:
        crossed, joined = intersection(parts)
        if crossed.name in found:
            got = f"a column named {crossed.name!r} beside those that it names"
            raise InputError("names of groups that differ from those of intersections", got, "rename that column")
        found[crossed.name] = crossed
        if joined:
            notes.append(
                f"{joined} cells of {crossed.name} with fewer than {SMALL_CELL} examples were joined into one."
            )
    return found, notes


def order_of(part: Partition) -> tuple[int, list[int], bytes]:
    """By which partitions can be put in order whatever they, their groups and their columns are called."""
    return len(part.names), sorted(part.counts.tolist()), by_appearance(part.codes).tobytes()


def _fewest_cells(crossings: list[tuple[Partition, ...]]) -> list[tuple[Partition, ...]]:
    """At most `MOST_INTERSECTIONS` of them: pairs first, and of these the ones with the fewest cells."""
    if len(crossings) <= MOST_INTERSECTIONS:
        return crossings
    key = {part.name: order_of(part) for parts in crossings for part in parts}

    def cells(parts: tuple[Partition, ...]) -> tuple[Any, ...]:
        return len(parts), math.prod(len(part.names) for part in parts), sorted(key[part.name] for part in parts)

    return sorted(crossings, key=cells)[:MOST_INTERSECTIONS]


def idle_groups(columns: Sequence[Partition]) -> list[str]:
    """Sentences about the columns that divide nothing: all rows are one group, or every row is a group of its own."""
    told = []
    for part in columns:
        alone = len(part.names) == 1
        why = "every row has the same value" if alone else "every row has a value of its own"
        if alone or part.counts.max() == 1:
            told.append(f"The column {part.name!r} was given as groups, but {why}: it has no groups to compare.")
    return told


def intersection(parts: Sequence[Partition]) -> tuple[Partition, int]:
    """The cells that occur, small ones joined; and how many were joined."""
    shape = tuple(len(part.names) for part in parts)
    flat = np.ravel_multi_index(tuple(part.codes for part in parts), shape)
    cells, codes = np.unique(flat, return_inverse=True)
    codes = codes.ravel().astype(np.int64)
    places = np.stack(np.unravel_index(cells, shape), axis=1)
    names = [CROSS.join(part.names[at] for part, at in zip(parts, place, strict=True)) for place in places]
    times = parts[0].times
    small = tally(codes, len(names), times) < SMALL_CELL
    joined = int(small.sum())
    if joined > 1:
        kept = np.flatnonzero(~small)
        renumbered = np.full(len(names), kept.size, dtype=np.int64)
        renumbered[kept] = np.arange(kept.size)
        codes = renumbered[codes]
        names = [names[at] for at in kept] + [f"{joined} small cells"]
    name, columns = CROSS.join(part.name for part in parts), sum(part.columns for part in parts)
    return Partition(name, codes, tuple(names), times, columns), joined if joined > 1 else 0


def group_columns(source: DataSource, given: Any, labels: Any) -> dict[str, Any]:
    """Names or a list of names, a mapping, a frame, one array or one with a column per grouping."""
    columns = _columns(source, given)
    usual = {name for name in columns if labels is None and name.lower() in LABEL_NAMES}
    for name in [labels] if isinstance(labels, str) and labels in columns else sorted(usual):
        raise InputError("groups that are not the labels", repr(name), "name another column")
    return columns


def _columns(source: DataSource, given: Any) -> dict[str, Any]:
    if is_name(given):
        names = [given] if isinstance(given, str) else given
        return {name: find_part(source, name, (), "groups") for name in names}
    if isinstance(given, Mapping):
        return {str(name): plain_array(values, f"the groups {name}") for name, values in given.items()}
    if is_frame(given):
        frame = frame_table(given, ColumnChoice(beside=[str(name) for name in given.columns], needed=False))
        return {str(name): frame.column(str(name)) for name in given.columns}
    array = plain_array(given, "groups")
    if array.ndim == 2:
        return {f"group {place + 1}": array[:, place] for place in range(array.shape[1])}
    return {"group": array}
