"""Downloads against a server of our own: right, wrong, cut and missing files, no network, mirrors and resumption."""

import contextlib
import functools
import hashlib
import io
import json
import socket
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.data.data_sets import DATA_SETS, DataSet, RemoteFile, find_data_set
from lopsided.engine import download as module
from lopsided.engine.download import DownloadError, download
from lopsided.engine.needs import DATA_VARIABLE, found_here, why_absent
from lopsided.papers.register import register

NAMES = ("adult.data", "adult.test")
CONTENT = {name: (name * 40_000).encode() for name in NAMES}


class Mirror(BaseHTTPRequestHandler):
    """Serves `files`; `cut` closes the connection in the middle, `ranges` understands a Range."""

    def __init__(self, *arguments, files, asked, cut=False, ranges=True) -> None:
        self.files, self.asked, self.cut, self.ranges = files, asked, cut, ranges
        super().__init__(*arguments)

    def do_GET(self) -> None:
        name, wanted = self.path.rpartition("/")[2], self.headers["Range"]
        self.asked.append((name, wanted))
        if name not in self.files:
            self.send_error(404)
            return
        begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.ranges else 0
        content = self.files[name][begin:]
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if self.cut else content)

    def log_message(self, *arguments) -> None:
        pass


@contextlib.contextmanager
def mirror(files: dict[str, bytes], **how) -> Iterator[tuple[str, list]]:
    asked: list = []
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Mirror, files=files, asked=asked, **how)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/files", asked
        finally:
            server.shutdown()
            thread.join()


def closed() -> str:
    """An address where nobody listens: what a machine without a network sees."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def described(content: dict[str, bytes], unpack: bool = False) -> tuple[RemoteFile, ...]:
    return tuple(
        RemoteFile(name, len(data), hashlib.sha256(data).hexdigest(), unpack) for name, data in content.items()
    )


@pytest.fixture(autouse=True)
def small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    adult = DataSet("adult", "two files", "free", "here", "place adult.data and adult.test in it", described(CONTENT))
    monkeypatch.setitem(DATA_SETS, "adult", adult)


def test_the_right_files_are_kept_and_not_fetched_again(tmp_path: Path) -> None:
    told = []
    with mirror(CONTENT) as (address, asked):
        place = download("adult", tmp_path / "new", mirrors=[address], progress=lambda *facts: told.append(facts))
        assert {path.name: path.read_bytes() for path in place.iterdir()} == CONTENT
        assert download("adult", tmp_path / "new", mirrors=[address]) == place
    assert [name for name, _ in asked] == list(NAMES)
    total = sum(map(len, CONTENT.values()))
    assert told[-1] == (total, total, "adult.test")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_a_wrong_checksum_is_refused_and_the_next_mirror_asked(tmp_path: Path) -> None:
    wrong = {name: data[:-1] + b"!" for name, data in CONTENT.items()}
    longer = {name: data + b"!" for name, data in CONTENT.items()}
    for bad in (wrong, longer):
        with mirror(bad) as (address, _), pytest.raises(DownloadError, match="wrong checksum"):
            download("adult", tmp_path, mirrors=[address])
        assert list(tmp_path.iterdir()) == []
    with mirror(wrong) as (bad_address, _), mirror(CONTENT) as (good, _):
        place = download("adult", tmp_path, mirrors=[bad_address, good])
    assert (place / "adult.data").read_bytes() == CONTENT["adult.data"]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_cut_download_goes_on_where_it_stopped(tmp_path: Path, ranges: bool) -> None:
    with mirror(CONTENT, cut=True) as (address, _), pytest.raises(DownloadError, match="bytes") as caught:
        download("adult", tmp_path, mirrors=[address])
    assert f"create the folder {tmp_path / 'adult'}" in str(caught.value)
    half = (tmp_path / "adult/adult.data.part").stat().st_size
    assert 0 < half < len(CONTENT["adult.data"])
    assert find_data_set("adult", tmp_path) is None
    with mirror(CONTENT, ranges=ranges) as (address, asked):
        place = download("adult", tmp_path, mirrors=[address])
    assert asked[0] == ("adult.data", f"bytes={half}-")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == CONTENT


def test_a_set_of_which_a_file_is_missing_is_completed(tmp_path: Path) -> None:
    with mirror({"adult.data": CONTENT["adult.data"]}) as (address, _), pytest.raises(DownloadError, match="HTTP 404"):
        download("adult", tmp_path, mirrors=[address])
    with mirror(CONTENT) as (address, asked):
        download("adult", tmp_path, mirrors=[address])
    assert [name for name, _ in asked] == ["adult.test"]


def test_without_a_network_it_says_how_to_place_the_files(tmp_path: Path, capsys) -> None:
    assert main(["data", "get", "adult", "--data-dir", str(tmp_path), "--mirror", closed()]) == 2
    words = capsys.readouterr().err
    assert words.count("\n") == 1
    assert "place adult.data and adult.test in it" in words
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DownloadError, match="may not be redistributed"):
        download("celeba", tmp_path)


def test_archives_are_unpacked_and_never_outside_their_folder(tmp_path: Path, monkeypatch) -> None:
    def archive(member: str) -> dict[str, bytes]:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz") as packed:
            entry = tarfile.TarInfo(member)
            entry.size = 3
            packed.addfile(entry, io.BytesIO(b"abc"))
        return {"cifar-10-python.tar.gz": stream.getvalue()}

    for member, fine in (("../outside", False), ("cifar-10-batches-py/data_batch_1", True)):
        files = archive(member)
        known = DataSet("cifar-10", "", "", "", "unpack it", described(files, unpack=True))
        monkeypatch.setitem(DATA_SETS, "cifar-10", known)
        with mirror(files) as (address, _):
            if fine:
                download("cifar-10", tmp_path, mirrors=[address])
            else:
                with pytest.raises(DownloadError, match="unpacked"):
                    download("cifar-10", tmp_path, mirrors=[address])
    assert not (tmp_path / "outside").exists()
    assert [path.name for path in (tmp_path / "cifar-10").iterdir()] == ["cifar-10-batches-py"]
    assert (tmp_path / "cifar-10/cifar-10-batches-py/data_batch_1").read_bytes() == b"abc"


def test_the_command_lists_and_downloads_where_commands_look(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "lopsided data get adult" in str(why_absent(("adult",)))
    with mirror(CONTENT) as (address, _):
        assert main(["data", "get", "adult", "--mirror", address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["places"] == {"adult": str(tmp_path / "lopsided-data/adult")}
    with found_here():
        assert why_absent(("adult",)) is None
    assert main(["data", "--json"]) == 0
    sets = {line["name"]: line for line in json.loads(capsys.readouterr().out)["sets"]}
    assert sets["adult"]["found"] == str(tmp_path / "lopsided-data/adult")
    assert sets["celeba"]["found"] is None
    assert "lp-networks" in sets["mnist"]["claims"] + sets["fashion-mnist"]["claims"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["put"], "get"),
        (["get"], "name"),
        (["get", "mnst"], "mnst"),
        (["get", "mnist", "--mirror", "file:///etc"], "http"),
    ],
)
def test_refusals(capsys, tmp_path: Path, arguments, words) -> None:
    assert main(["data", *arguments, "--data-dir", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err


def test_a_mirror_that_is_no_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="https"):
        download("adult", tmp_path, mirrors=["ftp://x"])


def test_every_claim_needs_a_set_that_is_listed() -> None:
    claims = [known.claim for known in register().values() if known.claim is not None]
    assert {name for claim in claims for name in (*claim.needs, *claim.paper_needs)} - {"digits"} <= set(DATA_SETS)


def test_the_sums_are_those_of_the_real_files(data_folder: Path) -> None:
    for name in ("mnist", "fashion-mnist"):
        for file in DATA_SETS[name].files:
            path = data_folder / name / file.name
            assert (path.stat().st_size, module._sum(path)) == (file.bytes, file.sha256)
