"""Small files that claim or unpack to large arrays are refused before memory is taken for them."""

import gzip
import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import lopsided
from lopsided.core.errors import InputError
from lopsided.data import image_folders, npz_tables


def test_an_npz_array_that_unpacks_to_far_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz_tables, "FEW_BYTES", 1000)  # in place of a gigabyte, which would take seconds to pack
    y = np.arange(40) % 2
    features = np.random.default_rng(0).normal(size=(40, 10_000))
    arrays = {"features": features, "labels": y, "W": np.zeros((2, 10_000))}
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    with pytest.raises(InputError, match=r"'W', whose [0-9,]+ bytes unpack to 160,128; write them with numpy.savez"):
        lopsided.audit(tmp_path / "x.npz", classifier="W")
    np.savez(tmp_path / "y.npz", **arrays)
    assert lopsided.audit(tmp_path / "y.npz", classifier="W", checks=["counts"]).findings


def test_an_npz_array_that_only_claims_its_size_is_refused(tmp_path: Path) -> None:
    """The header of the array and that of the archive agree on 80 GB, which are not there."""
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**10,)}
    np.lib.format.write_array_header_1_0(stream, header)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("labels.npy", stream.getvalue())
        archive.filelist[0].file_size = 80 * 10**9 + stream.tell()
    with pytest.raises(InputError, match=r"'labels', whose [0-9,]+ bytes unpack to 80,000"):
        lopsided.audit(tmp_path / "x.npz")


@pytest.mark.parametrize("shape", [(3 * 10**9, 2), (2, 3 * 10**12)])
def test_a_sparse_matrix_of_nothing_is_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    """Counts by row or column alone would take 24 GB and more."""
    content = {"row": [0], "col": [1], "data": [1.0]}
    np.savez(tmp_path / "x.npz", format=b"coo", shape=shape, **content)
    with pytest.raises(InputError, match="a sparse matrix that holds something"):
        lopsided.audit(tmp_path / "x.npz")
    sparse.save_npz(tmp_path / "y.npz", sparse.csr_array(np.eye(4)))
    assert lopsided.score(tmp_path / "y.npz", labels=[0, 0, 1, 1])


def test_a_packed_idx_file_that_unpacks_to_far_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_folders, "_MOST_UNPACKED", 10_000)
    content = struct.pack(">4I", 0x803, 1000, 10, 10) + bytes(100_000)
    with gzip.open(tmp_path / "train-images-idx3-ubyte.gz", "wb") as stream:
        stream.write(content)
    with pytest.raises(InputError, match="at most 10,000 bytes"):
        image_folders.read_idx(tmp_path / "train-images-idx3-ubyte")
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)  # what is not packed takes what it is
    assert image_folders.read_idx(tmp_path / "train-images-idx3-ubyte").shape == (1000, 10, 10)


@pytest.mark.parametrize("call", [lopsided.audit, lopsided.score, lopsided.plan])
def test_a_name_longer_than_the_system_allows_does_not_exist(call) -> None:
    with pytest.raises(InputError, match="which does not exist"):
        call("x" * 3000, labels="label")
