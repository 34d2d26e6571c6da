"""Which rows are equal: 128 bits for every row, and a count of repeats that needs no memory of all rows.

    z = mix(bits of the number),   low <- low x A + z,   high <- fold((high xor z) x B)        column after column

`mix` and `fold` are permutations of 64 bits by products and shifts, as in MurmurHash, so that equal rows have equal
digests and rows that differ have equal ones with a chance of about 2^-128. Minus zero is zero, and a missing number
equals another. Words come in through 64 bits of BLAKE2, each distinct word once.

To find repeats among more rows than memory holds, digests go to a scratch file, sorted into buckets by their leading
bits; equal rows share a bucket, and each is counted by itself.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.scratch import ScratchFile
from lopsided.core.validation import BoolArray, IntArray

Digests = NDArray[np.uint64]  # n x 2
MOST_LISTED = 20  # rows of each kind that are named
_BUCKET_ROWS, _MOST_BUCKETS = 2_000_000, 1024
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LOW, _HIGH = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)


def empty_digests(rows: int) -> Digests:
    """Digests of rows without columns."""
    return np.zeros((rows, 2), dtype=np.uint64)


def digest_numbers(digests: Digests, block: NDArray[Any]) -> None:
    """Take in columns of numbers (n x d), one after the other."""
    whole = block.dtype.kind in "biu"
    columns = np.ascontiguousarray(block.T, dtype=np.int64 if whole else np.float64)
    if not whole and np.isnan(columns.max(initial=0.0)):
        columns = np.where(np.isnan(columns), np.nan, columns)  # one pattern of bits
    # minus zero is zero
    _take_in(digests, ((column if whole else column + 0.0).view(np.uint64) for column in columns))


def digest_words(digests: Digests, column: Any) -> None:
    """Take in an Arrow column of any type that has words for its values; a missing one equals another."""
    encoded = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    encoded = encoded if hasattr(encoded, "indices") else encoded.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(len(encoded.dictionary)), dtype=np.int64)
    _take_in(digests, [_of_words(map(str, encoded.dictionary.to_pylist()))[codes]])


def digest_codes(digests: Digests, codes: IntArray) -> None:
    """Take in one whole number per row."""
    _take_in(digests, [codes.astype(np.int64).view(np.uint64)])


def _of_words(words: Iterable[str]) -> NDArray[np.uint64]:
    """64 bits for each word, and zero at the end, for a missing one."""
    parts = [hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words]
    return np.frombuffer(b"".join([*parts, bytes(8)]), dtype=np.uint64)


def _take_in(digests: Digests, columns: Iterable[NDArray[np.uint64]]) -> None:
    low, high = np.ascontiguousarray(digests.T)
    for bits in columns:
        mixed = bits * _FIRST
        mixed ^= mixed >> np.uint64(32)
        mixed *= _SECOND
        mixed ^= mixed >> np.uint64(29)
        low *= _LOW
        low += mixed
        high ^= mixed
        high *= _HIGH
        high ^= high >> np.uint64(32)
    digests[:, 0], digests[:, 1] = low, high


@dataclass(frozen=True)
class Listed:
    """How many rows, and the first of them."""

    count: int = 0
    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __add__(self, other: "Listed") -> "Listed":
        first = np.sort(np.concatenate([self.rows, other.rows]))[:MOST_LISTED]
        return Listed(self.count + other.count, first)


def listed(rows: IntArray, count: int | None = None) -> Listed:
    """These rows, the first of `count`."""
    return Listed(int(rows.size if count is None else count), np.sort(rows)[:MOST_LISTED])


@dataclass(frozen=True)
class Repeats:
    """Different rows, those among the training rows, test rows that are among these too, and rows of which an equal has
    another label. `halves`: different left and right halves of rows, where they were counted."""

    distinct: int = 0
    distinct_training: int = 0
    leaked: Listed = field(default_factory=Listed)
    torn: Listed = field(default_factory=Listed)
    halves: tuple[int, int] | None = None

    def __add__(self, other: "Repeats") -> "Repeats":
        return Repeats(
            self.distinct + other.distinct,
            self.distinct_training + other.distinct_training,
            self.leaked + other.leaked,
            self.torn + other.torn,
        )


def repeats(digests: Digests, rows: IntArray, training: BoolArray, codes: IntArray | None) -> Repeats:
    """Of rows whose digests, positions, part and class codes (where there are labels) these are."""
    lows = np.sort(digests[:, 0])  # sorting alone is several times as fast as finding the order
    again = np.unique(lows[1:][lows[1:] == lows[:-1]])
    if not again.size:
        return Repeats(len(digests), int(training.sum()))
    alone = again[np.minimum(np.searchsorted(again, digests[:, 0]), again.size - 1)] != digests[:, 0]
    single = Repeats(int(alone.sum()), int(training[alone].sum()))
    digests, rows, training = digests[~alone], rows[~alone], training[~alone]
    codes = None if codes is None else codes[~alone]
    order = np.argsort(digests[:, 0])
    ordered = digests[order]
    same = ordered[1:, 0] == ordered[:-1, 0]
    if (ordered[1:, 1] != ordered[:-1, 1])[same].any():  # other rows with the same 64 bits
        order = np.lexsort((digests[:, 1], digests[:, 0]))
        ordered = digests[order]
    starts = np.flatnonzero(np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)]))
    sizes = np.diff(np.append(starts, len(order)))
    trained = training[order]
    seen = np.logical_or.reduceat(trained, starts)
    leaked = rows[order[np.repeat(seen, sizes) & ~trained]]
    torn = np.zeros(0, dtype=np.int64)
    if codes is not None:
        own = codes[order]
        apart = np.minimum.reduceat(own, starts) != np.maximum.reduceat(own, starts)
        torn = rows[order[np.repeat(apart, sizes)]]
    return single + Repeats(starts.size, int(seen.sum()), listed(leaked), listed(torn))


class DigestFile:
    """Digests of `rows` rows in a scratch file (TMPDIR; 32 bytes a row), which goes with the object."""

    def __init__(self, rows: int) -> None:
        self._bits = min(int(np.ceil(np.log2(max(rows / _BUCKET_ROWS, 1)))), int(np.log2(_MOST_BUCKETS)))
        self._file, self._size = ScratchFile(), 0
        self._segments: list[list[tuple[int, int]]] = [[] for _ in range(1 << self._bits)]

    def add(self, digests: Digests, start: int, training: BoolArray, codes: IntArray | None) -> None:
        """The rows from `start` on."""
        kinds = np.where(training, 0, 1) + 2 * (np.zeros(len(digests), dtype=np.int64) if codes is None else codes)
        records = np.empty((len(digests), 4), dtype=np.int64)
        records[:, :2] = digests.view(np.int64)
        records[:, 2] = start + np.arange(len(digests))
        records[:, 3] = kinds
        buckets = (digests[:, 0] >> np.uint64(64 - self._bits)).astype(np.int64) if self._bits else kinds * 0
        order = np.argsort(buckets, kind="stable")
        ends = np.cumsum(np.bincount(buckets, minlength=len(self._segments)))
        place = self._size
        self._file.write(place, records[order].data)
        self._size += records.nbytes
        for segments, low, high in zip(self._segments, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            if high > low:
                segments.append((place + 32 * low, high - low))

    def repeats(self, *, labelled: bool) -> Repeats:
        """Of all rows, bucket by bucket."""
        found = Repeats()
        for records in self._buckets():
            codes = records[:, 3] >> 1 if labelled else None
            found += repeats(records[:, :2].view(np.uint64), records[:, 2], records[:, 3] & 1 == 0, codes)
        return found

    def _buckets(self) -> Iterator[IntArray]:
        for segments in self._segments:
            records = np.empty((sum(count for _, count in segments), 4), dtype=np.int64)
            done = 0
            for place, count in segments:
                self._file.read(place, records[done : done + count].data)
                done += count
            yield records

    def close(self) -> None:
        """Give the disk back."""
        self._file.close()
