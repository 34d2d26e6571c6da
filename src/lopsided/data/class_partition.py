"""Rows of blocks, class by class: one sort of the codes and one pass that writes every row to its place in a scratch
file, for what needs all rows of a class at a time and cannot hold all classes."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.scratch import ScratchFile
from lopsided.core.validation import IntArray

_BLOCK_NUMBERS = 4_000_000
OneClass = tuple[int, IntArray, Callable[[], Iterator[NDArray[Any]]]]  # code, positions in the data, blocks of its rows


def by_class(blocks: Iterable[NDArray[Any]], codes: IntArray) -> Iterator[OneClass]:
    """Every class that occurs; rows as float32 where they come so, otherwise as float64.

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
