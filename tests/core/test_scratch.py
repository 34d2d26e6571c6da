"""A disk without room for scratch files is one sentence, for whoever needs them."""

import gzip
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lopsided.checkup.streamed.score import by_class
from lopsided.core.files import WriteError
from lopsided.core.scratch import ScratchFile
from lopsided.data.row_digests import DigestFile
from lopsided.data.tables import open_table


@contextmanager
def no_room() -> Iterator[None]:
    """No file may grow beyond a hundred bytes; the system says so as it says that a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_written_is_read_at_its_place() -> None:
    with ScratchFile() as scratch:
        scratch.write(8, np.arange(3).data)
        scratch.write(0, np.array([7]).data)
        found = np.empty(4, dtype=np.int64)
        scratch.read(0, found.data)
    np.testing.assert_array_equal(found, [7, 0, 1, 2])


def _digests(path: Path) -> None:
    kept = DigestFile(50)
    try:
        kept.add(np.ones((50, 2), dtype=np.uint64), 0, np.ones(50, dtype=bool), None)
        kept.repeats(labelled=False)
    finally:
        kept.close()


def _classes(path: Path) -> None:
    for _, _, blocks in by_class([np.ones((50, 4))], np.arange(50) % 2):
        list(blocks())


@pytest.mark.parametrize("work", [_digests, _classes, open_table])
def test_a_full_disk_is_one_sentence(tmp_path: Path, work: Callable[[Path], Any]) -> None:
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 500))
    with no_room(), pytest.raises(WriteError, match="TMPDIR"):
        work(path)
