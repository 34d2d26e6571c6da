"""A disk without room and a folder that cannot be written: one sentence, no half file, and the old file stays."""

import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path

import numpy as np

from tests.faults.console import Said, fault, say
from tests.faults.tally import Row, Size, timed


def run(size: Size) -> list[Row]:
    """Every command that writes, with no room and into places that cannot be written."""
    full, closed = Row("crashes", "full disk"), Row("crashes", "read-only folder")
    os.environ["LOPSIDED_CLAIMS"] = str(Path(__file__).parents[1] / "engine/toys")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _inputs(folder, size)
        for arguments, target in writers(size):
            with timed(full):
                said, written = _with_room(arguments, target, folder, None)
                if said.code != 0 or not written:
                    full.lose(f"with room it ended with {said.code}: {said.err} {said.broke} <- {arguments}")
                    continue
                largest = max(map(len, written.values()))
                for room in (0, largest // 2, largest - 64) if size == "full" else (largest // 2,):
                    _full(full, arguments, target, folder, room)
            with timed(closed):
                # /proc is closed to root, too; a folder without rights only to others
                for outside in ["/proc/self", *([str(_locked(folder))] if os.geteuid() else [])]:
                    moved = [word.replace("out/", f"{outside}/", 1) for word in arguments]
                    said = say(moved, folder)
                    wrong = fault(said, moved, folder, folder / "nothing")
                    if said.code != 2:
                        wrong = f"code {said.code}: {said.broke or said.err}"
                    closed.lose(f"{wrong} <- {moved}") if wrong else closed.refuse()
    del os.environ["LOPSIDED_CLAIMS"]
    return [full, closed]


def writers(size: Size) -> list[tuple[list[str], str]]:
    """Arguments, and the file that is written."""
    many = [
        (["score", "data.npz", "--out", "out/scores.parquet"], "scores.parquet"),
        (["collapse", "--counts", "9,8,1", "--plot", "out/x.html"], "x.html"),
        (["audit", "data.npz", "--report", "out/audit.html", "--checks", "counts"], "audit.html"),
        (["reproduce", "toy-sum", "--jobs", "1", "--store", "out/store"], "store"),
    ]
    more = [
        (["collapse", "--counts", "9,8,1", "--plot", "out/x.png"], "x.png"),
        (["score", "data.npz", "--out", "out/scores.csv"], "scores.csv"),
        (["plan", "data.npz", "--export", "out/plan"], "plan"),
        (["mixture", "spec.toml", "--samples", "1000", "--plot", "out/mixture.html"], "mixture.html"),
        (["compare", "a.safetensors", "b.safetensors", "--plot", "out/change.html"], "change.html"),
        (["skill", "--publish", "out/skill.json"], "skill.json"),
    ]
    return many + (more if size == "full" else [])


def _full(row: Row, arguments: list[str], target: str, folder: Path, room: int) -> None:
    """First into an empty folder, then where a file of an earlier run stands, which must stay as it is."""
    for old in (b"", b"an earlier result"):
        if old and not Path(target).suffix:
            continue
        said, written = _with_room(arguments, target, folder, room, old)
        # of several files those before the full disk may be there, whole; the one named last is not
        harmed = Path(target).suffix and written != ({target: old} if old else {})
        wrong = fault(said, arguments, folder, folder / "nothing")
        if said.code != 2:
            wrong = f"code {said.code}: {said.broke or said.err}"
        elif harmed:
            wrong = f"the files were {sorted(written)}"
        row.lose(f"{wrong} with {room} bytes <- {arguments}") if wrong else row.refuse()


def _with_room(
    arguments: list[str], target: str, folder: Path, room: int | None, old: bytes = b""
) -> tuple[Said, dict[str, bytes]]:
    """How it ended, and the files that are there afterwards; no file may have more than `room` bytes."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    (folder / "out").mkdir()
    if old:
        (folder / "out" / target).write_bytes(old)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        said = say(arguments, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    return said, {str(path.relative_to(folder / "out")): path.read_bytes() for path in files}


def _inputs(folder: Path, size: Size) -> None:
    labels = np.repeat([0, 1, 2], (30, 20, 9))
    features = np.random.default_rng(1).normal(size=(labels.size, 4)) + labels[:, None]
    np.savez(folder / "data.npz", features=features, labels=labels)
    (folder / "spec.toml").write_text(
        "[[group]]\nfraction = 0.5\nmean = [0, 1]\ncovariance = 1\n[[group]]\nfraction = 0.5\nmean = [1, 0]\n"
        "covariance = 2\n[teacher]\nneurons = 2\n"
    )
    if size == "short":
        return
    from safetensors.torch import save_file

    import torch

    for name in ("a", "b"):
        save_file({"head.weight": torch.randn(3, 4)}, folder / f"{name}.safetensors")


def _locked(folder: Path) -> Path:
    place = folder / "locked"
    place.mkdir(exist_ok=True)
    place.chmod(0o555)
    return place
