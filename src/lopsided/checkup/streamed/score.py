"""Influence scores of data larger than memory: moments of the classes in one pass, scores in the next.

Parts of a parquet file, or of a folder of them, are read one after the other here or by the workers of a cluster. Each
gives moments of its own, which are merged in the order of the parts, so that the scores are the same to the last digit.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.checkup.streamed.audit import in_turn
from lopsided.core.scratch import ScratchFile
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.arrow_tables import plain_numbers
from lopsided.data.parts import DataPart
from lopsided.data.tables import Table
from lopsided.engine.cluster import Cluster, mapping_on
from lopsided.measure.class_moments import MOST_BYTES, Block, ClassMoments, Convention, empty_moments, moments_of_blocks
from lopsided.measure.influence import InfluenceScores, influence_scores_by_class, influence_scores_of_blocks

OneClass = tuple[int, IntArray, Callable[[], Iterator[NDArray[Any]]]]  # code, positions in the data, blocks of its rows
_BLOCK_NUMBERS = 4_000_000


@dataclass
class Passes:
    """What is read again and again, in blocks of `rows` rows divided by `scale`, and who is told how far it is."""

    table: Table
    codes: IntArray
    names: tuple[str, ...]
    convention: Convention
    rows: int | None
    scale: FloatArray | None
    passes: int
    progress: Callable[[int, int], None] | None
    done: int = 0

    def blocks(self) -> Iterator[Block]:
        """(features, class codes) of all rows, block by block."""
        start = 0
        for block in self.table.blocks(self.rows):
            yield block if self.scale is None else block / self.scale, self.codes[start : start + block.shape[0]]
            start += block.shape[0]
            self.tell(block.shape[0])

    def tell(self, rows: int) -> None:
        """So many more rows were read."""
        self.done += rows
        if self.progress is not None:
            self.progress(self.done, self.passes * self.table.rows)


def scores_in_passes(
    about: Passes, cluster: "str | Cluster | None", *, whole: bool
) -> tuple[InfluenceScores, FloatArray, int, ClassMoments | None]:
    """Scores, the column that varies most within classes and its place, and the moments of the classes.

    whole: moments are needed in any case; otherwise rows are sorted by class where those of all classes are too large.
    """
    table, classes = about.table, len(about.names)
    if 8 * classes * table.width**2 > MOST_BYTES and not whole:
        return *_class_by_class(about), None
    if table.parts is not None:
        return _of_parts(about, cluster)
    moments = moments_of_blocks(about.blocks(), classes, table.width)
    widest, kept = _widest(moments), np.empty(table.rows)
    influence = influence_scores_of_blocks(
        lambda: _keeping(about.blocks(), widest, kept),
        about.codes,
        about.names,
        table.width,
        convention=about.convention,
        moments=moments,
    )
    return influence, kept, widest, moments


def _widest(moments: ClassMoments) -> int:
    return int(np.argmax(np.einsum("kii->i", moments.scatters)))


@dataclass(frozen=True)
class _Reader:
    """Reads the features of a part: crosses to the workers."""

    columns: tuple[str, ...]
    lists: bool
    rows: int | None
    scale: FloatArray | None
    names: tuple[str, ...]
    width: int
    convention: Convention

    def blocks(self, part: DataPart, codes: IntArray) -> Iterator[Block]:
        for start, batch in part.batches(self.columns, self.rows):
            block = np.ascontiguousarray(plain_numbers(batch, self.columns, self.lists))  # scores go row by row
            own = codes[start - part.start : start - part.start + len(block)]
            yield block if self.scale is None else block / self.scale, own


def _moments(item: tuple[DataPart, IntArray], reader: _Reader) -> ClassMoments:
    return moments_of_blocks(reader.blocks(*item), len(reader.names), reader.width)


def _scores(
    item: tuple[DataPart, IntArray], reader: _Reader, moments: ClassMoments, widest: int
) -> tuple[InfluenceScores, FloatArray]:
    kept = np.empty(len(item[1]))
    found = influence_scores_of_blocks(
        lambda: _keeping(reader.blocks(*item), widest, kept),
        item[1],
        reader.names,
        reader.width,
        convention=reader.convention,
        moments=moments,
    )
    return found, kept


def _of_parts(about: Passes, cluster: "str | Cluster | None") -> tuple[InfluenceScores, FloatArray, int, ClassMoments]:
    table = about.table
    assert table.parts is not None
    lists = table.feature_names is None
    columns = (table.array,) if table.feature_names is None else table.feature_names
    rows = about.rows or max(1, _BLOCK_NUMBERS // max(table.width, 1))
    reader = _Reader(columns, lists, rows, about.scale, about.names, table.width, about.convention)
    items = [(part, about.codes[part.start : part.start + part.rows]) for part in table.parts.parts]
    with nullcontext(in_turn) if cluster is None else mapping_on(cluster) as mapper:
        moments = empty_moments(len(about.names), table.width)
        for (part, _), own in zip(items, mapper(partial(_moments, reader=reader), items), strict=True):
            moments.merge(own)
            about.tell(part.rows)
        widest, kept = _widest(moments), np.empty(table.rows)
        scores, declined = np.empty(table.rows), dict[str, str]()
        ask = partial(_scores, reader=reader, moments=moments, widest=widest)
        for (part, _), (own_scores, column) in zip(items, mapper(ask, items), strict=True):
            here = slice(part.start, part.start + part.rows)
            scores[here], kept[here] = own_scores.scores, column
            declined |= own_scores.declined
            about.tell(part.rows)
    ordered = {name: declined[name] for name in about.names if name in declined}
    return InfluenceScores(scores, about.codes, about.names, about.convention, ordered), kept, widest, moments


def deviations(table: Table, rows: int | None) -> FloatArray:
    """The deviation of every column, from one pass; 1 where it is constant or no number."""
    count, mean, spread = 0, np.zeros(table.width), np.zeros(table.width)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused where scores are computed
        for block in table.blocks(rows):
            own = block.astype(np.float64)
            total, middle = count + len(own), own.mean(axis=0)
            spread += np.square(own - middle).sum(axis=0) + np.square(middle - mean) * (count * len(own) / total)
            mean += (middle - mean) * (len(own) / total)
            count = total
    deviation: FloatArray = np.sqrt(spread / count)
    return np.where(np.isfinite(deviation) & (deviation > 0), deviation, 1.0)


def _keeping(blocks: Iterable[Block], column: int, kept: FloatArray) -> Iterator[Block]:
    """The blocks as they are, and one column of them."""
    start = 0
    for rows, codes in blocks:
        kept[start : start + len(rows)] = rows[:, column]
        start += len(rows)
        yield rows, codes


def _class_by_class(about: Passes) -> tuple[InfluenceScores, FloatArray, int]:
    """Scores where the covariances of all classes are too large: rows sorted by class first; and the widest column."""
    variation = np.zeros(about.table.width)

    def watched() -> Iterator[OneClass]:
        for k, members, read in by_class((rows for rows, _ in about.blocks()), about.codes):

            def seen(read: Callable[[], Iterator[NDArray[Any]]] = read) -> Iterator[NDArray[Any]]:
                for rows in read():
                    np.add(variation, rows.var(axis=0, dtype=np.float64) * len(rows), out=variation)
                    yield rows

            yield k, members, seen

    influence = influence_scores_by_class(
        watched(), about.codes, about.names, about.table.width, convention=about.convention
    )
    widest, kept = int(np.argmax(variation)), np.empty(about.codes.size)
    for _ in _keeping(about.blocks(), widest, kept):
        pass
    return influence, kept, widest


def by_class(blocks: Iterable[NDArray[Any]], codes: IntArray) -> Iterator[OneClass]:
    """Rows of blocks, class by class, as float32 where they come so, otherwise as float64: one sort of the codes and
    one pass that writes every row to its place in a scratch file.

    The scratch file lies in the system's temporary folder (TMPDIR), is as large as the data, and goes with the
    iterator. It is written and not memory-mapped, so that a full disk raises an error instead of ending the process.
    """
    order = np.argsort(codes, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    present, starts = np.unique(codes[order], return_index=True)
    with ScratchFile() as scratch:
        start, width = 0, 1
        dtype: np.dtype[Any] = np.dtype(np.float64)
        for block in blocks:
            if start == 0:
                dtype, width = np.dtype(np.float32 if block.dtype == np.float32 else np.float64), block.shape[1]
            targets = place[start : start + len(block)]
            sorting = np.argsort(targets)
            rows, targets = np.ascontiguousarray(block[sorting], dtype=dtype), targets[sorting]
            runs = np.flatnonzero(np.diff(targets, prepend=-2) != 1)  # rows that go side by side are written together
            for low, high in zip(runs, [*runs[1:], len(rows)], strict=True):
                scratch.write(int(targets[low]) * width * dtype.itemsize, rows[low:high].data)
            start += len(block)
        for k, members in zip(present, np.split(order, starts)[1:], strict=True):
            first = int(place[members[0]])
            yield int(k), members, partial(_read, scratch, first, first + members.size, width, dtype)


def _read(scratch: ScratchFile, low: int, high: int, width: int, dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    step = max(1, _BLOCK_NUMBERS // width)
    for start in range(low, high, step):
        rows = np.empty((min(step, high - start), width), dtype)
        scratch.read(start * width * dtype.itemsize, rows.data)
        yield rows
