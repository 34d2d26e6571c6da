"""The laboratory under load: 50 clients that move a slider on loopback, alone and while a job runs.

Each client asks for a collapse forecast, waits for the answer and asks again with other counts. Reported are the 95th
percentile of the time of a request and how many failed; the run with a job stands beside the one without as its peer,
so the ratio says how much a job slows requests down. First load: bytes and seconds of what the first page needs.
"""

import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLIENTS = 50
JOB = {"width": 3000, "dimension": 900, "steps": 2000, "train": 2000, "test": 2000}


async def _request(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Accept-Encoding: gzip\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1]), answer


async def _client(port: int, number: int, until: float, times: list[float], errors: list[int]) -> None:
    step = 0
    while time.perf_counter() < until:
        step += 1
        counts = f"5000*5,{40 + (7 * number + step) % 400}*5"
        body = json.dumps({"counts": counts, "feature_energy": 5, "weight_energy": 1}).encode()
        began = time.perf_counter()
        status, _ = await _request(port, "POST", "/api/collapse/forecast", body)
        times.append(time.perf_counter() - began)
        if status != 200:
            errors.append(status)


async def _load(port: int, seconds: float) -> tuple[list[float], list[int]]:
    times: list[float] = []
    errors: list[int] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(*(_client(port, number, until, times, errors) for number in range(CLIENTS)))
    return times, errors


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _first_load(port: int) -> tuple[float, int]:
    """Everything the first page asks for, one file after the other; a browser asks for several at once."""
    from importlib.resources import files

    scripts = files("lopsided.web").joinpath("static/js")
    names = ["", "static/style.css", "static/icon.svg", "static/plotly.js", "static/js/rooms/collapse.js"]
    names += [f"static/js/{entry.name}" for entry in scripts.iterdir() if entry.name.endswith(".js")]
    began = time.perf_counter()
    size = sum(len(asyncio.run(_request(port, "GET", f"/{name}"))[1]) for name in names)
    return time.perf_counter() - began, size


def _one_forecast(port: int, counts: str, repeats: int, what: str = "forecast") -> float:
    body = json.dumps({"counts": counts, "feature_energy": 5, "weight_energy": 1}).encode()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        asyncio.run(_request(port, "POST", f"/api/collapse/{what}", body))
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _processor(pid: int) -> float:
    """Seconds of processor that a process has used: on a busy machine they say more than the clock (nan elsewhere)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return math.nan


def _dragging(port: int, counts: list[float], moves: int, energy: float) -> float:
    """A bar in the hand: every request moves one class by two percent and starts from the answer before."""
    times = []
    for move in range(moves + 1):
        counts[60] *= 1.02
        problem = {"counts": ",".join(map(str, counts)), "feature_energy": energy, "weight_energy": 1}
        body = json.dumps(problem | {"page": f"bench {energy}", "draft": move > 0}).encode()
        began = time.perf_counter()
        asyncio.run(_request(port, "POST", "/api/collapse/forecast", body))
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of the benchmark."""
    seconds = 4.0 if quick else 20.0
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "lopsided",
            "serve",
            "--port",
            "0",
            "--no-browser",
            "--no-token",
            "--store",
            folder,
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
            asyncio.run(_load(port, 1.0))  # imports and caches
            tail = [round(500 * 0.01 ** (k / 99), 2) for k in range(100)]
            text = ",".join(map(str, tail))
            yield _row("collapse forecast, ten classes of two sizes", _one_forecast(port, "5000*5,50*5", 20))
            rest = _one_forecast(port, text, 5)
            for energy in (0.5, 5.0, 50.0):
                before, moves = _processor(server.pid), 20
                taken = _dragging(port, list(tail), moves, energy)
                # the first forecast of each is a full one; its share is left in
                each = 1e3 * (_processor(server.pid) - before) / (moves + 1)
                words = f"{each:.0f} ms of processor each, the first and full one included"
                what = f"100 different sizes, dragging a bar, E_H = {energy:g}"
                yield _row(what, taken, "at rest, E_H = 5", rest, words)
            yield _row("the oversampling cure of 100 different sizes", _one_forecast(port, text, 2, "cure"))
            taken, size = _first_load(port)
            yield _row("first load, one request after the other", taken, note=f"{size:,} bytes")
            alone, wrong = asyncio.run(_load(port, seconds))
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/width/run", json.dumps(JOB).encode(), {"Content-Type": "application/json"}
            )
            urllib.request.urlopen(request).read()
            time.sleep(1.0)
            busy, wrong_too = asyncio.run(_load(port, seconds))
            note = f"{len(busy)} and {len(alone)} requests, {len(wrong) + len(wrong_too)} errors, {CLIENTS} clients"
            yield _row("p95 of a forecast while a job runs", _p95(busy), "without the job", _p95(alone), note)
        finally:
            server.terminate()
            server.wait()


def _row(
    what: str, seconds: float, peer: str = "", peer_seconds: float | None = None, note: str = ""
) -> dict[str, Any]:
    return {"what": what, "seconds": seconds, "peer": peer, "peer_seconds": peer_seconds, "note": note}
