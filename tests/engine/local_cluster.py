"""A Dask scheduler with workers on loopback."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lopsided


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_port(port: int) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            assert time.monotonic() < end, "the scheduler did not start within a minute"
            time.sleep(0.1)


@contextmanager
def local_cluster(
    folder: Path, protocol: str, options: list[str], workers: int = 2
) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A scheduler and its workers: the address, and the processes with the scheduler first."""
    port = free_port()
    address = f"{protocol}://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker"]
    where = ["--host", "127.0.0.1", "--no-dashboard", *options]
    # the very package under test, also when a relative path found it
    environment = os.environ | {"PYTHONPATH": str(Path(lopsided.__file__).resolve().parents[1])}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, "env": environment}
    processes = [subprocess.Popen([*dask, "--port", str(port), "--protocol", protocol, *where], **silent)]  # type: ignore[call-overload]
    try:
        _wait_for_port(port)
        for _ in range(workers):
            command = [*worker, address, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder), *where]
            processes.append(subprocess.Popen(command, **silent))  # type: ignore[call-overload]
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()
