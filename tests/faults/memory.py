"""Memory ceilings: what does not fit is told so in one sentence; what should be streamed fits under the ceiling."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.faults.tally import Row, Size, timed

# The address space of a bare `score` is about 1.7 GB (libraries mapped, threads' stacks and arenas), of which a command
# takes a gigabyte only when it first runs; memory in use is far less. So it runs once on a few rows before the ceiling
# is set: else the ceiling would be filled by libraries and not by data.
_RUNNER = """
import contextlib, io, resource, sys
limit = int(sys.argv[1])
from lopsided.cli.main import main
import numpy, pyarrow.parquet, lopsided.checkup.score, lopsided.theory.collapse, scipy.linalg, numba, sklearn.pipeline
warm_up = "warm_up." + sys.argv[3].rpartition(".")[2]
if __import__("os").path.exists(warm_up):
    own = ["--out", "warm_up_scores.parquet", *sys.argv[6:]] if sys.argv[2] == "score" else sys.argv[4:]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main([sys.argv[2], warm_up, *own]) == 0
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))
sys.exit(main(sys.argv[2:]))
"""


# Exact over all rows, and one that needs the moments of the classes.
CHECKS = ["--checks", "counts,duplicates,missing_values,noise_ratios"]


def run(size: Size) -> list[Row]:
    """Refusals under a ceiling, and streaming of more than the ceiling holds."""
    refused, streamed = (
        Row("memory", "more than the ceiling: one sentence"),
        Row("memory", "streamed under the ceiling"),
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with timed(refused):
            _bomb(folder / "bomb.npz")
            _lying(folder / "lying.npz")
            cases = [
                ["score", "bomb.npz", "--out", "out.parquet"],
                ["score", "lying.npz", "--out", "out.parquet"],
                ["collapse", "--counts", "1*9999999,2", "--plan", "--json"],
            ]
            cases += [["audit", "bomb.npz", "--no-report"], ["plan", "bomb.npz"], ["mixture", "fit", "bomb.npz"]]
            for arguments in cases if size == "full" else cases[1:2]:
                done = _run(folder, 300 * 2**20, arguments)
                good = done.returncode in (0, 2) and "Traceback" not in done.stderr and done.stderr.count("\\n") <= 1
                words = f"code {done.returncode}: {done.stderr[-300:]} <- {arguments}"
                if good and done.returncode == 2:
                    refused.refuse()
                else:
                    refused.check(good, words)
        with timed(streamed):
            rows = 1_000_000 if size == "full" else 150_000  # of 100 float64: 800 and 120 MB
            _large(folder / "large.npz", rows)
            _large(folder / "warm_up.npz", 100, 100)
            _large_parquet(folder / "warm_up.parquet", 100, 100)
            ceiling = rows * 800 // 2
            done = _run(folder, ceiling, ["score", "large.npz", "--out", "out.parquet", "--block-rows", "5000"])
            streamed.check(done.returncode == 0, f"code {done.returncode}: {done.stderr[-300:]}")
            _large_parquet(folder / "large.parquet", rows)
            done = _run(folder, ceiling, ["score", "large.parquet", "--out", "out.parquet", "--block-rows", "5000"])
            streamed.check(done.returncode == 0, f"code {done.returncode}: {done.stderr[-300:]}")
            (folder / "large.parts").mkdir()
            (folder / "large.parquet").rename(folder / "large.parts/one.parquet")
            (folder / "warm_up.parts").mkdir()
            (folder / "warm_up.parquet").rename(folder / "warm_up.parts/one.parquet")
            done = _run(folder, ceiling, ["audit", "large.parts", "--no-report", "--sample-rows", "2000", *CHECKS])
            streamed.check(done.returncode == 0, f"code {done.returncode}: {done.stderr[-300:]}")
            streamed.note = f"{rows * 800 / 1e6:.0f} MB in {ceiling / 1e6:.0f} MB"
    return [refused, streamed]


def _run(folder: Path, limit: int, arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", _RUNNER, str(limit), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def _large(path: Path, rows: int, block_rows: int = 10_000) -> None:
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("features.npy", "w", force_zip64=True) as member:
            about = {"descr": "<f8", "fortran_order": False, "shape": (rows, 100)}
            np.lib.format.write_array_header_1_0(member, about)
            block = np.random.default_rng(0).normal(size=(block_rows, 100)).tobytes()
            for _ in range(rows // block_rows):
                member.write(block)
        with archive.open("labels.npy", "w") as member:
            np.save(member, np.arange(rows) % 3)


def _large_parquet(path: Path, rows: int, block_rows: int = 10_000) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = np.random.default_rng(0).normal(size=(100, block_rows))
    block = pa.table({**{f"f{i}": row for i, row in enumerate(values)}, "label": np.arange(block_rows) % 3})
    with pq.ParquetWriter(path, block.schema, use_dictionary=False, compression="none") as writer:
        for _ in range(rows // block_rows):
            writer.write_table(block)


def _bomb(path: Path) -> None:
    """A megabyte that unpacks to a gigabyte."""
    import zipfile

    rows = 2**24
    packed = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
    with packed as archive:
        with archive.open("features.npy", "w", force_zip64=True) as member:
            about = {"descr": "<f8", "fortran_order": True, "shape": (rows, 8)}
            np.lib.format.write_array_header_1_0(member, about)
            for _ in range(rows * 64 // 2**22):
                member.write(bytes(2**22))
        with archive.open("labels.npy", "w") as member:
            np.save(member, np.zeros(rows, dtype=np.int8))


def _lying(path: Path) -> None:
    """A header that promises eight terabytes and an archive that holds 80 bytes."""
    import io
    import zipfile

    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": True, "shape": (10**9, 1000)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("features.npy", stream.getvalue() + bytes(80))
        inner = io.BytesIO()
        np.save(inner, np.arange(4))
        archive.writestr("labels.npy", inner.getvalue())
