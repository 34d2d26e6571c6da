"""Results come back as they were kept; a damaged file is noticed, set aside and made again."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lopsided
from lopsided.core.errors import InputError
from lopsided.core.files import WriteError
from lopsided.engine import inputs
from lopsided.engine.code import code_of
from lopsided.engine.store import Result, Store
from lopsided.engine.task import Task
from lopsided.engine.work import attempt
from lopsided.papers.register import load_claim
from lopsided.papers.reproduce import reproduce
from tests.engine.conftest import TOYS, measured, stored

HOME = str(TOYS / "toy_sum.py")
TASK = Task("toy-sum", 1, HOME, load_claim, '{"x":4}', 3, code_of(HOME))


def _kept(folder: Path) -> tuple[Store, Path]:
    store, result = Store(folder), attempt(TASK)
    assert isinstance(result, Result)
    store.save(TASK, result)
    assert store.load(TASK) == result
    return store, store.task_path(TASK)


def test_numbers_and_provenance_come_back(tmp_path: Path) -> None:
    store, _ = _kept(tmp_path)
    result = store.load(TASK)
    assert result is not None
    assert result.numbers["value"] == 7
    assert result.code == code_of(HOME)
    assert {"version", "packages", "machine", "time"} <= result.provenance.keys()
    assert "numpy" in result.provenance["packages"]


@pytest.mark.parametrize("damage", ["empty", "cut", "digit", "binary", "list", "other task"])
def test_damage_is_noticed(tmp_path: Path, damage: str) -> None:
    store, path = _kept(tmp_path)
    whole = path.read_bytes()
    other = Store(tmp_path / "other")
    other_task = Task("toy-sum", 1, HOME, load_claim, '{"x":5}', 3, code_of(HOME))
    other_result = attempt(other_task)
    assert isinstance(other_result, Result)
    other.save(other_task, other_result)
    path.write_bytes(
        {
            "empty": b"",
            "cut": whole[: len(whole) // 2],
            "digit": whole.replace(b'"value": 7', b'"value": 8'),
            "binary": b"\xff\x00" * 40,
            "list": b"[]",
            "other task": other.task_path(other_task).read_bytes(),
        }[damage]
    )
    assert store.load(TASK) is None
    assert not path.exists()
    assert [file.name for file in (tmp_path / "set-aside").iterdir()] == [f"toy-sum.{path.name}"]


def test_a_run_repeats_only_what_is_damaged(laboratory: Path) -> None:
    first = reproduce(["toy-sum"], jobs=1)
    assert len(measured(laboratory)) == 12
    stored(laboratory)[5].write_text("{}")
    second = reproduce(["toy-sum"], jobs=1)
    assert len(measured(laboratory)) == 13
    assert (second.claims[0].reused, second.claims[0].tasks) == (11, 12)
    assert second.claims[0].numbers == first.claims[0].numbers
    assert len(list((laboratory / "store" / "set-aside").iterdir())) == 1


def test_a_new_version_of_a_claim_does_not_reuse_old_results(laboratory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = laboratory / "own"
    own.mkdir()
    text = (TOYS / "toy_sum.py").read_text()
    (own / "toy_sum.py").write_text(text)
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(own))
    reproduce(["toy-sum"], jobs=1)
    (own / "toy_sum.py").write_text(text.replace('id="toy-sum",', 'id="toy-sum",\n    version=2,'))
    assert reproduce(["toy-sum"], jobs=1).claims[0].reused == 0


def test_fresh_forgets(laboratory: Path) -> None:
    reproduce(["toy-sum"], jobs=1)
    assert reproduce(["toy-sum"], jobs=1, fresh=True).claims[0].reused == 0
    assert len(measured(laboratory)) == 24


def test_a_store_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "tasks").write_text("a file where a folder should be")
    result = attempt(TASK)
    assert isinstance(result, Result)
    with pytest.raises(WriteError, match="choose another"):
        Store(tmp_path).save(TASK, result)
    with pytest.raises(InputError, match="folder for the results"):
        Store(tmp_path / "tasks")


def test_old_temporary_files_are_swept_and_new_ones_are_not(tmp_path: Path) -> None:
    _, path = _kept(tmp_path)
    old, new = path.parent / ".a.json.1.tmp", path.parent / ".a.json.2.tmp"
    for file in (old, new):
        file.write_text("half")
    os.utime(old, (0, 0))
    Store(tmp_path).sweep()
    assert (old.exists(), new.exists(), path.exists()) == (False, True, True)
    assert len(list(Store(tmp_path).results())) == 1


def test_a_damaged_verdict_is_set_aside(laboratory: Path) -> None:
    reproduce(["toy-sum"], jobs=1)
    path = laboratory / "store" / "verdicts" / "toy-sum.quick.json"
    assert json.loads(path.read_text())["verdict"] == "holds"
    path.write_text("[1, 2")
    assert Store().verdicts() == []
    assert not path.exists()


def test_a_folder_in_the_place_of_a_result_is_set_aside(tmp_path: Path) -> None:
    store, path = _kept(tmp_path)
    result = store.load(TASK)
    assert result is not None
    for _ in range(2):
        path.unlink()
        path.mkdir()
        (path / "inside").write_text("a user's file")
        assert list(store.results()) == []
        assert not path.exists()
        store.save(TASK, result)
    assert len(list((tmp_path / "set-aside").glob("*/inside"))) == 2
    with pytest.raises(InputError, match="empty name"):
        Store("")


def test_inputs_of_a_killed_run_are_swept_and_those_of_others_are_not(tmp_path: Path) -> None:
    store = Store(tmp_path)
    program = (
        "import os, signal, sys; from lopsided.engine.store import Store\n"
        "with Store(sys.argv[1]).shared('key', {'features': [1.0]}): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    (left,) = (tmp_path / "inputs").iterdir()
    assert (left / "features.npy").exists()
    elsewhere = tmp_path / "inputs" / "key.another.machine.1"
    elsewhere.mkdir()
    with store.shared("other", {"features": [2.0]}) as own:  # the next run sweeps
        assert not left.exists()
        store.sweep()
        assert (own / "features.npy").exists()
    assert list((tmp_path / "inputs").iterdir()) == [elsewhere]
    os.utime(elsewhere, (0, 0))
    store.sweep()
    assert not (tmp_path / "inputs").exists()


def _trial_on(folder: Path) -> None:
    y = np.repeat(["rare", "usual"], [9, 21])
    options = {"folds": 3, "repeats": 1, "jobs": 1, "arms": ["class weights"], "forecasts": False}
    lopsided.trial(np.random.default_rng(0).normal(size=(30, 2)), labels=y, store=folder, **options)


def _refused_run(folder: Path) -> None:
    with pytest.raises(InputError):
        lopsided.reproduce(["nothing"], store=folder)


@pytest.mark.parametrize(
    "uses",
    [
        lambda folder: lopsided.results("select 1", store=folder),
        lambda folder: lopsided.claims(store=folder),
        _refused_run,
        _trial_on,
    ],
    ids=["results", "claims", "reproduce", "a trial that shares nothing"],
)
def test_whatever_uses_the_store_next_deletes_the_inputs_of_a_killed_run(tmp_path: Path, uses: Any) -> None:
    """Killed between two arrays, and not waited for by its parent, so that its number is still taken."""
    program = (
        "import os, signal, sys; from lopsided.engine.store import Store\n"
        "def arrays():\n    yield 'a', [1.0]\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "class Arrays(dict):\n    items = lambda self: arrays()\n"
        "with Store(sys.argv[1]).shared('key', Arrays()): pass"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.read()  # until it has gone
        os.kill(run.pid, 0)
        assert [path.name for path in tmp_path.glob("inputs/*/*.npy")] == ["a.npy"]
        uses(tmp_path)
        assert not (tmp_path / "inputs").exists()


def test_a_folder_of_inputs_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, left = inputs._lock, [True]

    def late(handle: int, *, wait: bool = True) -> bool:
        if wait and left:
            left.pop()
            shutil.rmtree(tmp_path / "inputs")
        return usual(handle, wait=wait)

    monkeypatch.setattr(inputs, "_lock", late)
    with Store(tmp_path).shared("key", {"a": [1.0]}) as own:
        assert {path.name for path in own.iterdir()} == {".lock", "a.npy"}


@pytest.mark.parametrize("place", ["tasks", "tasks/toy", "verdicts", "verdicts/toy.quick.json"])
def test_a_store_that_cannot_be_read_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    (tmp_path / "tasks/toy").mkdir(parents=True)
    (tmp_path / "verdicts").mkdir()
    (tmp_path / "verdicts/toy.quick.json").write_text("{}")

    def closed(name: str) -> Callable[..., Any]:
        usual = getattr(Path, name)

        def ask(path: Path, *more: Any) -> Any:
            if path == tmp_path / place:
                raise PermissionError(errno.EACCES, "Permission denied")
            return usual(path, *more)

        return ask

    for name in ("iterdir", "read_bytes"):  # as the tests may run as root, whom no rights stop
        monkeypatch.setattr(Path, name, closed(name))
    with pytest.raises(InputError, match="a store that can be read"):
        print(list(Store(tmp_path).results()), Store(tmp_path).verdicts())


@pytest.mark.parametrize("place", ["tasks", "verdicts"])
def test_a_file_in_the_place_of_a_folder_is_no_empty_store(tmp_path: Path, place: str) -> None:
    (tmp_path / place).write_text("")
    with pytest.raises(InputError, match=f"a store that can be read, but got .*{place}: Not a directory"):
        print(list(Store(tmp_path).results()), Store(tmp_path).verdicts())


def test_a_verdict_nested_without_end_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "verdicts").mkdir()
    (tmp_path / "verdicts/toy.quick.json").write_text("[" * 100_000)
    assert Store(tmp_path).verdicts() == []
    assert list((tmp_path / "set-aside").iterdir())
