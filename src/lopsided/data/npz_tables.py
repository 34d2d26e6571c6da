"""Tables in NumPy's own files: .npz members streamed from the archive, .npy memory-mapped. No pickles."""

import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.validation import name_one_of
from lopsided.data.tables import (
    FEATURE_NAMES,
    LABEL_NAMES,
    ColumnChoice,
    Table,
    array_table,
    at_most_double,
    picture_shape,
)

MOST_TIMES = 100  # as many bytes as those on the disk: numbers that differ shrink a few times
FEW_BYTES = 10**9  # which are read in any case
FEW_ROWS = 10**7
_Header = tuple[tuple[int, ...], bool, np.dtype[Any]]  # shape, Fortran order, type


def npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Name and shape of every array in an npz file, from the headers alone."""
    with _archive(path) as archive:
        return {name: _read_header(archive, name, path)[0] for name in _names(archive)}


def read_npz_array(path: Path, name: str) -> NDArray[Any]:
    """One array of an npz file."""
    with _archive(path) as archive:
        if name not in _names(archive):
            have = ", ".join(_names(archive)) or "none"
            remedy = name_one_of(_names(archive), name)
            raise InputError(f"an array {name!r} in {path}", f"the arrays: {have}", remedy)
        with archive.open(name + ".npy") as stream:
            _read_header(archive, name, path)
            packed = archive.getinfo(name + ".npy")
            if packed.file_size > max(MOST_TIMES * packed.compress_size, FEW_BYTES):
                got = f"{name!r}, whose {packed.compress_size:,} bytes unpack to {packed.file_size:,}"
                raise InputError(f"arrays that hold something in {path}", got, "write them with numpy.savez, unpacked")
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
            return array


def open_npz(path: Path, choice: ColumnChoice) -> Table:
    """A table over an npz file; the features are read in blocks, the columns beside them at once."""
    shapes = npz_shapes(path)
    if is_saved_sparse(shapes):
        return _open_sparse(path)
    chosen = choose_features(str(path), shapes, choice)
    if chosen is None:
        return table_without_features(str(path), shapes, lambda name: read_npz_array(path, name))
    shape = shapes[chosen]
    with _archive(path) as archive:
        _, fortran, dtype = _read_header(archive, chosen, path)
    if dtype.kind not in "biuf" or len(shape) < 2 or shape[0] == 0:
        got = f"{chosen}: shape {shape} of type {dtype}"
        raise InputError(f"features of numbers, one row per example, in {path}", got)
    columns = {
        name: read_npz_array(path, name) for name, other in shapes.items() if name != chosen and other == shape[:1]
    }
    misfits = {name: other[0] for name, other in shapes.items() if len(other) == 1 and other != shape[:1]}
    if fortran:  # columns first on disk: no row can be read without all of it
        return replace(array_table(read_npz_array(path, chosen), columns, str(path)), misfits=misfits)
    width = int(np.prod(shape[1:], dtype=np.int64))

    def read(size: int) -> Iterator[NDArray[Any]]:
        with _archive(path) as archive, archive.open(chosen + ".npy") as stream:
            _header(stream)
            for start in range(0, shape[0], size):
                count = min(size, shape[0] - start)
                content = stream.read(count * width * dtype.itemsize)
                if len(content) < count * width * dtype.itemsize:
                    raise InputError(f"{shape[0]} examples in {path}", "fewer")
                yield at_most_double(np.frombuffer(content, dtype=dtype).reshape(count, width))

    return Table(str(path), shape[0], width, columns, read, image_shape=picture_shape(shape), misfits=misfits)


def open_npy(path: Path) -> Table:
    """A table over a .npy file, memory-mapped; it has no columns beside the features."""
    return array_table(load_npy(path, memory_map=True), {}, str(path))


def load_npy(path: Path, *, memory_map: bool = False) -> NDArray[Any]:
    """The array of a .npy file."""
    try:
        with np.errstate(over="raise"):  # a header may claim more bytes than can be counted
            array: NDArray[Any] = np.load(path, mmap_mode="r" if memory_map else None, allow_pickle=False)
    except OSError as error:
        raise InputError("a readable .npy file", f"{path}: {error.strerror or error}") from None
    except MemoryError:
        raise
    except Exception:  # a damaged header leads NumPy's parser into errors of any kind
        got = str(path)
        raise InputError("a whole .npy file without pickled objects", got, "write it again with numpy.save") from None
    if not isinstance(array, np.ndarray):
        raise InputError("a .npy file", f"an archive: {path}", "name it .npz")
    return array


def is_saved_sparse(names: Mapping[str, Any]) -> bool:
    """Are these the arrays of a sparse matrix as `scipy.sparse.save_npz` writes it?"""
    return {"format", "shape", "data"} <= set(names)


def _open_sparse(path: Path) -> Table:
    from scipy.sparse import load_npz

    from lopsided.data.encoded_tables import sparse_table

    try:
        matrix = load_npz(path)
        largest, held = max(matrix.shape), max(value.size for value in vars(matrix).values() if hasattr(value, "size"))
    except Exception as error:  # damaged indices lead SciPy into errors of many kinds
        got = f"{path}: {' '.join(str(error).split())[:120]}"
        raise InputError("a sparse matrix as scipy.sparse.save_npz writes it", got, "write it again") from None
    if largest > max(MOST_TIMES * held, FEW_ROWS):  # whose counts by row and column take memory by themselves
        got = f"shape {matrix.shape} with {matrix.nnz:,} entries"
        raise InputError(f"a sparse matrix that holds something in {path}", got, "leave out the empty rows and columns")
    return sparse_table(matrix, {}, str(path))


def table_without_features(
    source: str, shapes: Mapping[str, tuple[int, ...]], read: Callable[[str], NDArray[Any]]
) -> Table:
    """Columns alone: the one-dimensional arrays, which must be of one length."""
    lengths = {name: shape[0] for name, shape in shapes.items() if len(shape) == 1}
    usual = [name for name in lengths if name.lower() in LABEL_NAMES]
    if not lengths or (len(set(lengths.values())) > 1 and not usual):
        have = ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"
        raise InputError(f"features or labels in {source}", f"the arrays: {have}", "name one of them labels")
    rows = lengths[usual[0]] if usual else next(iter(lengths.values()))
    columns = {name: read(name) for name, length in lengths.items() if length == rows}
    return Table(source, rows, 0, columns, lambda size: iter(()))


def choose_features(source: str, shapes: Mapping[str, tuple[int, ...]], choice: ColumnChoice) -> str | None:
    """The array of features: the one wanted, one of a usual name, or the only one with two axes or more."""
    have = ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "none"
    if choice.wanted is not None:
        if len(choice.wanted) != 1:
            raise InputError(f"one array of features in {source}", ", ".join(choice.wanted))
        (wanted,) = choice.wanted
        if wanted not in shapes:
            remedy = name_one_of(shapes, wanted)
            raise InputError(f"an array {wanted!r} in {source}", f"the arrays: {have}", remedy)
        return wanted
    lower = {name.lower(): name for name in shapes if len(shapes[name]) >= 2}
    for usual in FEATURE_NAMES:
        if usual in lower:
            return lower[usual]
    if not choice.needed:  # other matrices may be anything: logits, a classifier
        return None
    if len(lower) != 1:
        got = f"the arrays: {have}"
        raise InputError(f"an array of features in {source}", got, "name it features, or say which it is")
    return next(iter(lower.values()))


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError):
        # RuntimeError: encrypted, or packed by a method that Python lacks
        raise InputError("a whole npz file", f"a damaged one: {path}", "write it again with numpy.savez") from None
    except OSError as error:
        raise InputError("a readable npz file", f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("an npz file of plain arrays", f"{path}: {error}", "write it again without objects") from None


def _names(archive: zipfile.ZipFile) -> list[str]:
    return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def _read_header(archive: zipfile.ZipFile, name: str, path: Path) -> _Header:
    with archive.open(name + ".npy") as stream:
        header = _header(stream)
        begins = stream.tell()
    promised = math.prod(header[0]) * header[2].itemsize
    if header[2].hasobject:
        got = f"pickled objects under {name!r}"
        raise InputError(f"plain arrays in {path}", got, "store numbers or fixed-width strings instead")
    held = archive.getinfo(name + ".npy").file_size - begins
    if promised != held or min(header[0], default=0) < 0:  # asked before memory is, which may be without bounds
        raise InputError(f"{promised:,} bytes of {name!r} in {path}", f"{held:,}", "write it again with numpy.savez")
    return header


def _header(stream: IO[bytes]) -> _Header:
    try:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        header: _Header = read(stream)
    except (OSError, zipfile.BadZipFile, zlib.error):
        raise
    except Exception as error:  # a damaged header leads NumPy's parser into errors of any kind
        raise ValueError(" ".join(str(error).split())[:120] or "a damaged header") from None
    return header
