"""The command in processes of its own: started, waited for, killed with everything it started."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.console import PROGRESS

ROOT = Path(__file__).parents[2]
PATIENCE = 120  # seconds; the machines are shared and slow


def start(
    arguments: list[str], folder: Path, *, module: str = "lopsided", **environment: str
) -> "subprocess.Popen[str]":
    """`python -m MODULE ARGUMENTS` in `folder`, in a process group of its own."""
    home = os.pathsep.join(str(ROOT / part) for part in ("src", ""))
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": home, **environment},
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Exit code, output and complaint of a process that must end by itself; one that does not is killed."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        kill_group(process)
        out, err = process.communicate()
        return -signal.SIGALRM, out, f"hung for {PATIENCE} seconds; {err}"
    return process.returncode, out, PROGRESS.sub("", err)


def kill_group(process: "subprocess.Popen[str]") -> None:
    """kill -9 to the process and whatever it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def kill_after(process: "subprocess.Popen[str]", seconds: float, *, group: bool) -> bool:
    """kill -9 after so long; False where the process had ended before."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    alive = process.poll() is None
    if group or not alive:
        kill_group(process)
    else:
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return alive
