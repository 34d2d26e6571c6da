"""Hostile clients of `lopsided serve`: uploads, paths, Host and Origin, bodies that are anything, and slow ones.

Nothing may end in a server error; a refusal is JSON with one sentence; no file outside the pages is served; code out of
an upload never runs; and while slow clients hold their connections, others are answered.
"""

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from tests.faults.hostile_files import hostile_file
from tests.faults.tally import Row, Size, timed

UPLOADS = {"full": 400, "short": 15}
BODIES = {"full": 600, "short": 30}
SLOW_CLIENTS, DESCRIPTORS = 200, 64
_ADDRESS = "http://localhost:8000"


def run(size: Size) -> list[Row]:
    """One row per trick."""
    from fastapi.testclient import TestClient

    from lopsided.web.app import ServerSettings, create_app
    from lopsided.web.guard import Access

    names = ("hostile uploads", "paths out of the pages", "Host and Origin tricks", "bodies that are anything")
    rows = {name: Row("server", name) for name in (*names, "slow clients")}
    with tempfile.TemporaryDirectory() as place:
        app = create_app(ServerSettings(Access(), store=Path(place) / "store", spare_worker=False))
        with TestClient(app, base_url=_ADDRESS, follow_redirects=False, raise_server_exceptions=False) as client:
            with timed(rows["hostile uploads"]) as row:
                _uploads(row, client, Path(place), UPLOADS[size])
            with timed(rows["paths out of the pages"]) as row:
                _paths(row, client)
            with timed(rows["Host and Origin tricks"]) as row:
                _names(row, client)
            with timed(rows["bodies that are anything"]) as row:
                _bodies(row, client, app.openapi()["paths"], BODIES[size])
        with timed(rows["slow clients"]) as row:
            _slow(row, Path(place))
    return list(rows.values())


def judge(row: Row, answer: Any, words: str) -> None:
    """Below 400 an answer, below 500 a refusal with a sentence, else a loss."""
    if answer.status_code < 400:
        row.answer()
        return
    try:
        sentence = answer.json()["error"]
    except (ValueError, KeyError, TypeError):
        sentence = ""
    fine = (
        answer.status_code < 500
        and isinstance(sentence, str)
        and 0 < len(sentence) < 1500
        and "Traceback" not in sentence
    )
    row.refuse() if fine else row.lose(f"{answer.status_code} {answer.text[:120]!r} <- {words}")


def _uploads(row: Row, client: Any, place: Path, count: int) -> None:
    for number in range(count):
        random = Random(f"upload {number}")
        folder = place / f"upload{number}"
        folder.mkdir()
        canary = folder / "canary"
        what, path = hostile_file(random, folder, canary)
        name = random.choice(
            (path.name, "data.npz", "data.csv", "../../x.csv", "a\x00.csv", "x" * 500 + ".csv", "é.parquet", "<b>.npz")
        )
        content = random.randbytes(50)
        with contextlib.suppress(OSError):  # what cannot be read here cannot be sent
            content = path.read_bytes() if path.is_file() else content
        answer = client.post("/api/uploads", files={"file": (name, content)})
        judge(row, answer, f"upload of {what} as {name!r}")
        if answer.status_code < 300:
            inspected = client.post(f"/api/uploads/{answer.json()['id']}/inspect")
            judge(row, inspected, f"inspection of {what}")
        if canary.exists():
            row.lose(f"code out of {what} was executed")
        shutil.rmtree(folder, ignore_errors=True)


def _paths(row: Row, client: Any) -> None:
    """What answers must be one of our own pages, never a file of the machine."""
    targets = ("etc/passwd", "proc/self/environ", "pyproject.toml", "src/lopsided/web/app.py", "app.py")
    steps = (
        "../",
        "..%2f",
        "%2e%2e/",
        "%2e%2e%2f",
        "..\\",
        "....//",
        "%252e%252e/",
        "/",
        "//",
        "\x00/",
        "..;/",
        "%c0%ae%c0%ae/",
    )
    bases = ("/static/", "/api/claims/", "/api/jobs/", "/api/uploads/", "/")
    for base in bases:
        for step in steps:
            for depth in (1, 6):
                for target in targets[:: 1 if depth == 6 else 4]:
                    path = base + step * depth + target
                    answer = client.get(_ADDRESS + quote(path, safe="/%\\;."))
                    leaked = "root:" in answer.text or "create_app" in answer.text or "[build-system]" in answer.text
                    if leaked:
                        row.lose(f"{path} served a file")
                    else:
                        judge(row, answer, path)


HOSTS = ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:1", "evil.example", "localhost.evil.example")
HOSTS += (
    "localhost@evil.example",
    "evil.example:8000",
    "127.0.0.1.nip.io",
    "0x7f000001",
    "127.1",
    "2130706433",
    "",
    " ",
)
HOSTS += (
    "localhost:8000@evil.example",
    "[::1",
    "[::ffff:8.8.8.8]",
    "localhost.",
    "evil.example#localhost",
    "é.example",
)
HOSTS += (
    "localhost, evil.example",
    "user:pass@localhost",
    "localhost:x",
    "localhost/",
    "localhost?x",
)
ORIGINS = (
    None,
    "http://localhost:8000",
    "http://evil.example",
    "null",
    "https://localhost:8000",
    "file://",
    "http://[",
)
ORIGINS += (
    "http://localhost:8001",
    "http://localhost:8000.evil.example",
    "http://localhost:8000@evil.example",
    "x",
    "",
)


def _names(row: Row, client: Any) -> None:
    """Only names of this machine, and only requests of its own page, are answered."""
    own = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", re.IGNORECASE)
    for host in HOSTS:
        for origin in ORIGINS:
            headers = {"Host": host.encode("utf-8")} | ({} if origin is None else {"Origin": origin})
            answer = client.post("/api/collapse/forecast", json={"counts": "9,8", "tau": 3}, headers=headers)
            allowed = bool(own.fullmatch(host)) and (origin is None or origin.removeprefix("http://") == host)
            if answer.is_success and not allowed:
                row.lose(f"Host {host!r} with Origin {origin!r} was answered")
            elif allowed and not answer.is_success:
                row.lose(f"Host {host!r} with Origin {origin!r} was refused: {answer.text[:100]}")
            else:
                judge(row, answer, f"Host {host!r}, Origin {origin!r}")


_ODD = (
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "<b>",
    "9,8",
    [],
    [[]],
    {},
    {"a": 1},
    "\x00",
    "5*5",
    [1, 2],
    "1e9",
    0.5,
    "../x",
)


FIELDS = ("counts", "tau", "weight_decay", "features", "groups", "dimension", "neurons", "samples", "seed", "upload")
FIELDS += ("labels", "name", "scale", "sizes", "ratio", "width", "steps", "id", "classes", "plan", "multiplier")


def _bodies(row: Row, client: Any, paths: dict[str, Any], count: int) -> None:
    """Every address that takes a body: fields of the right name with values of any kind, and bodies that are none."""
    random = Random("bodies")
    posts = sorted(path for path, about in paths.items() if "post" in about and path != "/api/uploads")
    for number in range(count):
        path = re.sub(r"\{[^}]+\}", lambda _: random.choice(("0" * 32, "x", "..", "%00", "é")), random.choice(posts))
        kind = number % 4
        if kind == 0:
            body: Any = random.choice(
                (b"", b"{", b"null", b"[]", b"\xff\xfe", b"[" * 20_000, b'{"a":' * 5000, b"NaN", b'{"counts": 1e999}')
            )
        else:
            chosen = {name: random.choice(_ODD) for name in random.sample(FIELDS, random.randrange(6))}
            if kind == 3:
                chosen |= {"counts": "9,8", "tau": 3.0}
            body = json.dumps(chosen).encode()
        kind_of_body = random.choice(("application/json", "application/json", "text/plain", "multipart/form-data", "x"))
        answer = client.post(path, content=body, headers={"Content-Type": kind_of_body})
        judge(row, answer, f"{path} with {body[:80]!r}")
    for length in ("-1", "x", "1e9", "99999999999999999999", " 5"):
        answer = client.post(
            "/api/collapse/forecast",
            content=b"{}",
            headers={"Content-Length": length, "Content-Type": "application/json"},
        )
        judge(row, answer, f"Content-Length {length!r}")


def _slow(row: Row, place: Path) -> None:
    """Half-sent requests, more than the server has descriptors; others are answered, and it stops when told."""
    asked = ["serve", "--port", "0", "--no-browser", "--no-token", "--store", str(place / "slow")]
    few = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))"
    command = [sys.executable, "-c", f"{few}\nfrom lopsided.cli.main import main\nmain({asked!r})"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    held: list[socket.socket] = []
    try:
        assert server.stdout is not None
        found = re.search(r"http://([\w.]+):(\d+)", server.stdout.readline())
        if found is None:
            row.lose("the server did not start")
            return
        where = (found[1], int(found[2]))
        starts = (
            b"G",
            b"GET / HTTP/1.1\r\nHost: localhost\r\n",
            b"POST /api/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx",
            b"",
        )
        for number in range(SLOW_CLIENTS):
            connection = socket.create_connection(where, timeout=10)
            held.append(connection)
            with contextlib.suppress(OSError):  # the server may have had enough of it
                connection.sendall(starts[number % len(starts)])
        for _ in range(20):
            for connection in held[::7]:
                with contextlib.suppress(OSError):  # the server may have had enough of it
                    connection.sendall(b"x")
            began = time.monotonic()
            with socket.create_connection(where, timeout=30) as quick:
                quick.sendall(b"GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = quick.recv(200)
            # half a minute is for machines under load; a server that waits for the slow would never answer
            row.check(b" 200 " in answer and time.monotonic() - began < 30, f"answered {answer[:60]!r} late or never")
    finally:
        server.send_signal(signal.SIGINT)
        try:
            _, complaint = server.communicate(timeout=30)
            row.check(
                server.returncode == 0 and "Traceback" not in complaint,
                f"stopped with {server.returncode}: {complaint[-200:]}",
            )
        except subprocess.TimeoutExpired:
            server.kill()
            server.communicate()
            row.lose("the server did not stop while slow clients held on")
        for connection in held:
            connection.close()
