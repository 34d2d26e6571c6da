"""idx files that are damaged, and image sets whose files were replaced while the program ran."""

import os
import struct

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.data.images import load_images, read_idx


def write_mnist(folder, labels, value=1) -> None:
    labels = np.asarray(labels, dtype=np.uint8)
    pixels = np.full((len(labels), 28, 28), value, dtype=np.uint8)
    for stem, array in (("images-idx3", pixels), ("labels-idx1", labels)):
        header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
        (folder / f"train-{stem}-ubyte").write_bytes(header + array.tobytes())


def test_lengths_whose_product_is_beyond_64_bits(tmp_path) -> None:
    # 2^32 x 2^32 is 0 modulo 2^64: an empty body would fit
    path = tmp_path / "x"
    path.write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**31, 2**31, 4))
    with pytest.raises(InputError, match="18446744073709551616 bytes"):
        read_idx(path)


@pytest.mark.parametrize(("labels", "words"), [([1, 200], "a label 200"), ([], "none")])
def test_labels_that_are_no_digits(tmp_path, labels, words) -> None:
    write_mnist(tmp_path, labels)
    with pytest.raises(InputError, match=words):
        load_images("mnist", folder=tmp_path)


def test_replaced_files_are_read_again(tmp_path) -> None:
    write_mnist(tmp_path, [1, 2], value=1)
    first = load_images("mnist", folder=tmp_path)
    assert load_images("mnist", folder=tmp_path) is first  # kept while nothing changes
    write_mnist(tmp_path, [3, 4], value=9)
    later = (tmp_path / "train-labels-idx1-ubyte").stat().st_mtime_ns + 1_000_000_000
    for file in tmp_path.iterdir():
        os.utime(file, ns=(later, later))
    second = load_images("mnist", folder=tmp_path)
    assert second.labels.tolist() == [3, 4]
    assert int(second.pixels.max()) == 9
