"""Files to open: sound ones, ones with hostile contents, damaged ones, and things that are no files.

`hostile_file(random, folder, canary)` makes one and says what it is.
"""

import gzip
import io
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.faults.damage import damaged, written
from tests.faults.hostile_archives import (
    damaged_npz,
    lying_npz,
    npy,
    npz,
    npz_bytes,
    pickled_npz,
    strange_zip,
    zip_bomb,
)
from tests.faults.hostile_arrays import WICKED_NAMES, Canary, sound

Maker = Callable[[Random, Path, Path], Path]


_CELLS = (
    "1",
    "0",
    "-3.5",
    "",
    " ",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e999",
    "1" * 40,
    "0x10",
    "1,5",
    "true",
    "a",
    '"',
    "'",
)
_CELLS += ("NULL", "=1+1", "2020-01-01", "\x00", "é", "١٢", "1_000", "\x1b[2J", "<b>x</b>", "99999999999999999999")


def csv(random: Random, folder: Path, canary: Path) -> Path:
    """A table of cells that people have, with or without a header, with every kind of line end and encoding."""
    width, rows = random.randrange(1, 5), random.choice((0, 1, 2, 5, 30))
    header = [random.choice(("label", "y", "x", "b", "group", "split", "", *WICKED_NAMES)) for _ in range(width)]
    usual = random.random() < 0.6
    lines = [header]
    for row in range(rows):
        cells = [str(random.random()) for _ in range(width - 1)] + [str(row % 2)] if usual else []
        cells = cells or [random.choice(_CELLS) for _ in range(width + (random.random() < 0.05))]
        if random.random() < 0.1:
            cells[random.randrange(len(cells))] = random.choice(_CELLS)
        lines.append(cells)
    if usual:
        lines[0] = [f"x{place}" for place in range(width - 1)] + ["label"]
    mark = "\t" if (tab := random.random() < 0.15) else random.choice((",", ",", ",", ";"))
    text = random.choice(("\n", "\r\n", "\r", "\n\n")).join(mark.join(cells) for cells in lines)
    if random.random() < 0.15:
        place = random.randrange(len(text) + 1)
        text = text[:place] + random.choice(('"', '"a\n', "'", '""', "\\")) + text[place:]
    content = text.encode(random.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")), errors="replace")
    if random.random() < 0.1:
        content = damaged(content, random)
    return written(folder / ("data.tsv" if tab else "data.csv"), content)


def long_csv(random: Random, folder: Path, canary: Path) -> Path:
    """One cell of two megabytes, or twenty thousand columns."""
    if random.random() < 0.5:
        return written(folder / "data.csv", b"x,label\n1,0\n2,1\n" + b"9" * 2_000_000 + b",1\n")
    head = ",".join(f"c{number}" for number in range(20_000))
    return written(folder / "data.csv", f"{head}\n{','.join(['1'] * 20_000)}\n".encode())


def _arrow(random: Random) -> Any:
    """A table with columns of every type that Arrow has."""
    import pyarrow as pa

    n = random.choice((0, 1, 6, 20))
    makers: list[Callable[[], Any]] = [
        lambda: pa.array([float(i) for i in range(n)]),
        lambda: pa.array([i % 2 for i in range(n)]),
        lambda: pa.array([None] * n, pa.float64()),
        lambda: pa.nulls(n),
        lambda: pa.array([[1.0, 2.0]] * n, pa.list_(pa.float64())),
        lambda: pa.array([[1.0] * (i % 3) for i in range(n)], pa.list_(pa.float64())),
        lambda: pa.array([["a"]] * n, pa.list_(pa.string())),
        lambda: pa.array([[None, 1.0]] * n, pa.list_(pa.float64())),
        lambda: pa.array([[[1.0]]] * n, pa.list_(pa.list_(pa.float64()))),
        lambda: pa.array([{"a": 1}] * n, pa.struct([("a", pa.int64())])),
        lambda: pa.array([[("k", 1)]] * n, pa.map_(pa.string(), pa.int64())),
        lambda: pa.array([b"\xff\x00"] * n, pa.binary()),
        lambda: pa.array(["a", "b", None][i % 3] for i in range(n)),
        lambda: pa.array(list(range(n)), pa.timestamp("ns")),
        lambda: pa.array(list(range(n)), pa.duration("s")),
        lambda: pa.array(list(range(n))).cast(pa.decimal128(25, 3)),
        lambda: pa.array(["u", "v"][i % 2] for i in range(n)).dictionary_encode(),
        lambda: pa.array([bool(i % 2) for i in range(n)]),
        lambda: pa.array([2**63 + i for i in range(n)], pa.uint64()),
        lambda: pa.array([np.float16(1)] * n, pa.float16()),
        lambda: pa.array([float("nan")] * n),
    ]
    names = ["label", *(random.choice(("features", "x", "group", "y", *WICKED_NAMES)) for _ in range(4))]
    columns = {name: random.choice(makers)() for name in names}
    if random.random() < 0.5:
        columns["label"] = makers[1]()
        columns["value"] = makers[0]()
    return pa.table(columns)


def parquet(random: Random, folder: Path, canary: Path) -> Path:
    """Columns of every type that Arrow has, damaged in half of the cases."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    try:
        pq.write_table(_arrow(random), stream)
    except pa.ArrowException:  # a type that parquet lacks
        pq.write_table(pa.table({"x": [0.0, 1.0], "label": [0, 1]}), stream)
    content = stream.getvalue()
    return written(folder / "data.parquet", damaged(content, random) if random.random() < 0.5 else content)


def whole_file(random: Random, folder: Path, canary: Path) -> Path:
    """Packed csv, an Arrow file or stream, lines of JSON or a sparse matrix, damaged in half of the cases."""
    import pyarrow as pa
    from scipy.sparse import random_array, save_npz

    kind, stream = random.choice(("csv.gz", "feather", "arrow", "jsonl", "npz", "xlsx")), io.BytesIO()
    if kind == "csv.gz":
        plain = csv(random, folder, canary).read_bytes()
        stream.write(gzip.compress(damaged(plain, random) if random.random() < 0.2 else plain))
    elif kind in ("feather", "arrow"):
        table = _arrow(random)
        with (pa.ipc.new_file if random.random() < 0.7 else pa.ipc.new_stream)(stream, table.schema) as writer:
            writer.write_table(table)
    elif kind == "jsonl":
        cells = ("1", "2.5", '"a"', "null", "true", "[1]", '{"b": 1}', '"2024-01-01"', "1e999", "NaN")
        for row in range(random.choice((0, 1, 30))):
            first = random.choice(cells) if random.random() < 0.1 else str(row)
            stream.write(f'{{"x": {first}, "w": "{row % 3}", "label": {row % 2}}}\n'.encode())
    elif kind == "npz":
        save_npz(stream, random_array((random.choice((1, 30)), 4), density=0.5, format=random.choice(("csr", "coo"))))
    else:
        stream.write(npz_bytes(sound(random), random))  # a zip as a sheet is one, of other contents
    content = stream.getvalue()
    return written(folder / f"data.{kind}", damaged(content, random) if random.random() < 0.5 else content)


def pictures(random: Random, folder: Path, canary: Path) -> Path:
    """Class folders with sound, damaged, huge, unequal, grey and colour pictures."""
    from PIL import Image

    place = folder / "pictures"
    for number in range(random.choice((1, 2, 6))):
        inner = place / random.choice(("cat", "dog", "<b>", "é"))
        inner.mkdir(parents=True, exist_ok=True)
        shape = random.choice(((8, 8), (8, 8), (8, 8, 3), (1, 1), (9, 8)))
        stream = io.BytesIO()
        Image.fromarray(np.full(shape, number * 30, dtype=np.uint8)).save(stream, "png")
        content = stream.getvalue()
        if random.random() < 0.3:
            content = damaged(content, random)
        if random.random() < 0.1:  # an image header that promises 60,000 x 60,000 pixels
            content = content[:16] + struct.pack(">II", 60_000, 60_000) + content[24:]
        written(inner / f"{number}.png", content)
    return place


def idx(random: Random, folder: Path, canary: Path) -> Path:
    """MNIST's layout, damaged, packed, lying about its lengths, or a gzip bomb."""
    place = folder / "idx"
    place.mkdir()
    n = random.choice((0, 1, 20))
    images = b"\0\0\x08\x03" + struct.pack(">III", n, 4, 4) + bytes(range(16)) * n
    labels = b"\0\0\x08\x01" + struct.pack(">I", n) + bytes(number % 3 for number in range(n))
    kind = random.randrange(6)
    if kind == 0:
        images = damaged(images, random)
    elif kind == 1:
        labels = damaged(labels, random)
    elif kind == 2:
        images = b"\0\0\x08\xff" + b"\xff" * 1020
    elif kind == 3:
        images = b"\0\0\x08\x03" + struct.pack(">III", 2**31, 2**31, 4)
    packed = random.random() < 0.5
    for name, content in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
        if packed:
            squeezed = gzip.compress(content)
            written(place / f"{name}.gz", damaged(squeezed, random) if kind == 4 else squeezed)
        else:
            written(place / name, content)
    return place


def no_file(random: Random, folder: Path, canary: Path) -> Path:
    """What is not a regular file, or not there, or cannot be read."""
    path = folder / f"data.{random.choice(('npz', 'npy', 'csv', 'tsv', 'parquet', 'txt', 'toml', 'safetensors', 'pt'))}"
    kind = random.randrange(11)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.symlink_to(path.name)
    elif kind == 3:
        path.symlink_to(folder / "nowhere")
    elif kind == 4:
        path.symlink_to("/dev/zero")
    elif kind == 5:
        path.symlink_to("/proc/self/mem")  # opens, and every read fails, also for root
    elif kind == 6:
        path.symlink_to("/dev/full")
    elif kind == 7:
        path.write_bytes(b"")
    elif kind == 8:
        path = folder / ("x" * 300 + ".csv")
    elif kind == 9:
        return Path(f"{folder}/../{folder.name}/./nothing{path.suffix}")
    else:
        path.write_bytes(random.randbytes(random.choice((1, 100, 5000))))
    return path


def odd_name(random: Random, folder: Path, canary: Path) -> Path:
    """A sound csv file under a name that breaks terminals, pages and encodings."""
    name = random.choice(
        (b"\xff\xfe.csv", b"<img src=x onerror=1>.csv", b"\x1b[31m.csv", "日本.csv".encode(), b"-x.csv", b"a\nb.csv")
    )
    path = Path(os.fsdecode(os.path.join(os.fsencode(folder), name)))
    rows = "".join(f"{random.random()},{row % 2}\n" for row in range(30))
    return written(path, f"x,label\n{rows}".encode())


def pickled(random: Random, folder: Path, canary: Path) -> Path:
    """A pickle that makes the canary, under an innocent ending."""
    path = folder / f"data.{random.choice(('npz', 'npy', 'csv', 'parquet', 'pt', 'pth', 'bin', 'safetensors'))}"
    return written(path, pickle.dumps(Canary(canary), protocol=random.choice((0, 2, 4))))


# how often, and what
MAKERS: dict[str, tuple[int, Maker]] = {
    "npz": (30, npz),
    "damaged npz": (10, damaged_npz),
    "pickled npz": (3, pickled_npz),
    "lying npz": (5, lying_npz),
    "zip bomb": (0, zip_bomb),  # seconds each: the campaign asks for a few by name
    "strange zip": (4, strange_zip),
    "npy": (6, npy),
    "csv": (25, csv),
    "long csv": (0, long_csv),
    "parquet": (15, parquet),
    "whole file": (15, whole_file),
    "pictures": (6, pictures),
    "idx": (5, idx),
    "no file": (10, no_file),
    "odd name": (3, odd_name),
    "pickle": (3, pickled),
}


def hostile_file(random: Random, folder: Path, canary: Path, kind: str | None = None) -> tuple[str, Path]:
    """What it is, and where it is."""
    if kind is None:
        (kind,) = random.choices(list(MAKERS), [weight for weight, _ in MAKERS.values()])
    return kind, MAKERS[kind][1](random, folder, canary)
