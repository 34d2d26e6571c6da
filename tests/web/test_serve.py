"""`lopsided serve` from start to Ctrl-C."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import lopsided
from lopsided.cli.main import main
from lopsided.cli.serve import _open
from lopsided.core.errors import InputError
from tests.web.conftest import start_server, stop_server


def test_port_in_use_and_bad_options_are_one_sentence(capsys, tmp_path) -> None:
    bad = tmp_path / "token"
    bad.write_text('a "quote"')
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for options, words in (
            (["--port", port], f"port {port}, which is in use"),
            (["--port", "70000"], "a port up to 65535"),
            (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
            (["--token-file", str(bad)], "a token of letters"),
            (["--token-file", str(bad.parent)], "a file with the token"),
            (["--no-token", "--host", "0.0.0.0"], "which other machines can reach"),
            (["--no-token", "--token-file", str(bad)], "a token as well"),
            (["--data-dir", "no-such-folder"], "a folder with the data sets"),
        ):
            assert main(["serve", "--no-browser", *options]) == 2
            errors = capsys.readouterr().err
            assert words in errors
            assert errors.count("\n") == 1


@pytest.mark.parametrize("given", [{"host": None}, {"host": 3}, {"token": 3}, {"token": b"x"}])
def test_other_things_than_words_are_one_sentence(given) -> None:
    with pytest.raises(InputError):
        lopsided.serve(**given)


def test_loopback_asks_for_the_token_of_the_environment(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOPSIDED_TOKEN", "a+b/c")
    process, address = start_server(tmp_path / "store")
    try:
        assert address.endswith("/?token=a%2Bb%2Fc")
        bare = address.partition("?")[0]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{bare}api/jobs")
        jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert jar.open(address).url == bare
        assert jar.open(f"{bare}api/jobs").status == 200
    finally:
        stop_server(process)


def test_the_browser_is_started_without_the_token(tmp_path, monkeypatch) -> None:
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    _open("http://127.0.0.1:8000/?token=secret&x", tmp_path)
    assert "secret" not in opened[0]
    assert "url=http://127.0.0.1:8000/?token=secret&amp;x" in (tmp_path / "open.html").read_text()


def test_interrupt_stops_jobs_and_streams(tmp_path) -> None:
    process, address = start_server(tmp_path / "store", "--no-token")
    body = b'{"width": 3000, "dimension": 900, "steps": 2000}'
    request = urllib.request.Request(f"{address}api/width/run", body, {"Content-Type": "application/json"})
    job = urllib.request.urlopen(request).read().decode().split('"')[3]
    stream = urllib.request.urlopen(f"{address}api/jobs/{job}/events")
    while b"data" not in stream.readline():
        pass
    children = _children(process.pid)
    assert children
    assert stop_server(process) == (0, "")
    end = time.monotonic() + 10
    while any(_alive(child) for child in children) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(_alive(child) for child in children)


def test_killed_server_leaves_no_jobs_behind(tmp_path) -> None:
    process, _ = start_server(tmp_path / "store")
    children = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 20
    while any(_alive(child) for child in children) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(_alive(child) for child in children)


def test_beyond_loopback_a_token_is_made(tmp_path) -> None:
    process, address = start_server(tmp_path / "store", "--host", "0.0.0.0")
    try:
        port, token = address.split(":")[2].split("/")[0], address.partition("token=")[2]
        assert len(token) >= 20
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/jobs")
        headers = {"Authorization": f"Bearer {token}"}
        answer = urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/api/jobs", headers=headers))
        assert answer.status == 200
    finally:
        assert stop_server(process)[0] == 0


HEAD = "POST /api/collapse/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = f"{HEAD}Transfer-Encoding: chunked\r\n"


BROKEN = {
    "refused for want of a token, and broken at once": [f"{CHUNKED}\r\nZZ\r\n"],
    "answered before the rest comes": [f"{CHUNKED}\r\n", "ZZ\r\n"],
    "after a sound one": ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "garbage\r\n\r\n"],
    "broken later": [f"{CHUNKED}\r\n2\r\n{{}}\r\n", "-1\r\n"],
    "asks for websockets": [
        "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    ],
}


@pytest.mark.parametrize("options", [[], ["--no-token"]])
def test_a_broken_request_writes_at_most_one_line_to_the_log(tmp_path, options) -> None:
    process, address = start_server(tmp_path / "store", *options)
    where = ("127.0.0.1", int(address.partition("?")[0].rpartition(":")[2].strip("/")))
    try:
        for parts in BROKEN.values():
            with socket.create_connection(where) as one:
                one.settimeout(0.3)  # whether the answer has come by then changes only which error could follow
                for part in parts:
                    with contextlib.suppress(OSError):
                        one.sendall(part.encode())
                        one.recv(10_000)
    finally:
        code, log = stop_server(process)
    assert code == 0
    assert len(log.splitlines()) <= len(BROKEN), log
    assert set(log.splitlines()) == {"WARNING:  Invalid HTTP request received."}


def _children(parent: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True).stdout
    return [int(line) for line in found.split()]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
