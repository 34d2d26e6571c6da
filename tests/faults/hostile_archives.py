"""NumPy's files: sound, of hostile contents, damaged, with pickles, lying headers, bombs and strange members."""

import io
import struct
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.faults.damage import damaged, written
from tests.faults.hostile_arrays import ARRAYS, Canary, sound


def npz_bytes(contents: dict[str, Any], random: Random) -> bytes:
    """A whole npz file; names that a zip cannot hold are left to the zip."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, values in contents.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, np.asanyarray(values), allow_pickle=True)
            archive.writestr((name + ".npy").encode(errors="replace").decode(), inner.getvalue())
    return stream.getvalue()


def npz(random: Random, folder: Path, canary: Path) -> Path:
    contents = ARRAYS[random.choice(list(ARRAYS)) if random.random() < 0.7 else "sound"](random)
    return written(folder / "data.npz", npz_bytes(contents, random))


def damaged_npz(random: Random, folder: Path, canary: Path) -> Path:
    return written(folder / "data.npz", damaged(npz_bytes(sound(random), random), random))


def pickled_npz(random: Random, folder: Path, canary: Path) -> Path:
    contents = sound(random)
    name = random.choice(list(contents))
    objects = np.empty(len(contents["labels"]), dtype=object)
    objects[:] = [Canary(canary)] * len(objects)
    return written(folder / "data.npz", npz_bytes(contents | {name: objects}, random))


def lying_npz(random: Random, folder: Path, canary: Path) -> Path:
    """A header that promises what is not there: rows without end, negative lengths, nonsense, code."""
    header = random.choice(
        (
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000)}",
            "{'descr': '<f8', 'fortran_order': True, 'shape': (1000000000000, 1000)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (-5, 3)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (3, 3)}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 3)}",
            "{'descr': '<U1000000000', 'fortran_order': False, 'shape': (3, 3)}",
            "{'descr': [], 'fortran_order': False, 'shape': (3, 3)}",
            "{'descr': '<f8', 'fortran_order': False}",
            "__import__('os').makedirs('canary')",
            "(" * 5000,
            "{" + "1:" * 3000,
            "\x00" * 60,
        )
    )
    body = header.encode("latin-1").ljust(118) + b"\n"
    version = random.choice((b"\x01\x00", b"\x02\x00", b"\x09\x00"))
    length = struct.pack("<H" if version[0] == 1 else "<I", len(body))
    array = b"\x93NUMPY" + version + length + body + bytes(random.choice((0, 64, 4000)))
    if random.random() < 0.3:
        return written(folder / "data.npy", array)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("features.npy", array)
        inner = io.BytesIO()
        np.save(inner, np.arange(4))
        archive.writestr("labels.npy", inner.getvalue())
    return written(folder / "data.npz", stream.getvalue())


def zip_bomb(random: Random, folder: Path, canary: Path) -> Path:
    """A few kilobytes that unpack to a gigabyte of zeros, as features or as a column."""
    rows = 2**27 if random.random() < 0.5 else 2**24
    stream = io.BytesIO()
    name, shape = random.choice(("features.npy", "labels.npy", "other.npy")), random.choice(((rows,), (rows // 8, 8)))
    packed = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED)
    with packed as archive, archive.open(name, "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, {"descr": "<f8", "fortran_order": False, "shape": shape})
        for _ in range(rows * 8 // 2**22):
            member.write(bytes(2**22))
    return written(folder / "data.npz", stream.getvalue())


def strange_zip(random: Random, folder: Path, canary: Path) -> Path:
    """Members outside the archive, twice the same, that are no arrays, or packed by a method nobody knows."""
    stream = io.BytesIO()
    kind = random.randrange(4)
    with zipfile.ZipFile(stream, "w") as archive:
        inner = io.BytesIO()
        np.save(inner, np.ones((4, 2)))
        if kind == 0:
            archive.writestr("../../../evil.npy", inner.getvalue())
        elif kind == 1:
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                archive.writestr("features.npy", inner.getvalue())
                archive.writestr("features.npy", inner.getvalue()[:40])
        elif kind == 2:
            archive.writestr("readme.txt", "no array")
            archive.writestr("features.npy", b"no array either")
        else:
            archive.writestr("features.npy", inner.getvalue())
    content = bytearray(stream.getvalue())
    if kind == 3:  # method 99 in both headers, or the mark of encryption
        field = 10 if random.random() < 0.5 else 8
        central = content.rfind(b"PK\x01\x02")
        content[central + field] = content[field - 2] = 99 if field == 10 else 1
    return written(folder / "data.npz", bytes(content))


def npy(random: Random, folder: Path, canary: Path) -> Path:
    values = ARRAYS[random.choice(list(ARRAYS))](random).get("features", np.arange(5))
    stream = io.BytesIO()
    if random.random() < 0.2:
        values = np.array([Canary(canary)], dtype=object)
    np.lib.format.write_array(stream, np.asanyarray(values), allow_pickle=True)
    content = stream.getvalue()
    return written(folder / "data.npy", damaged(content, random) if random.random() < 0.4 else content)
