"""What an installed package must be able to do, by extra: programs that run where only the wheel is installed."""

from dataclasses import dataclass

from tests.docs.pages import ROOT, blocks, command_lines


@dataclass(frozen=True)
class Feature:
    """A program for `python ARGUMENTS`, the exit code it must have and words it must say."""

    name: str
    arguments: tuple[str, ...]
    code: int = 0
    says: str = ""


def _command(*words: str, code: int = 0, says: str = "") -> Feature:
    return Feature(" ".join(words), ("-m", "lopsided", *words), code, says)


def _program(name: str, text: str) -> Feature:
    return Feature(name, ("-c", text), says="works")


_DATA = """
import numpy as np
y = np.repeat([0, 1, 2], (60, 30, 9))
x = np.random.default_rng(0).normal(size=(99, 4)) + y[:, None]
np.savez("data.npz", features=x, labels=y)
from importlib.resources import files
assert files("lopsided").joinpath("py.typed").is_file()
from importlib.metadata import metadata
assert metadata("lopsided")["Requires-Python"] == ">=3.11"
print("works")
"""

_CHECKPOINTS = """
import torch
from safetensors.torch import save_file
from lopsided.torch import Monitor
for name in "ab":
    save_file({"head.weight": torch.randn(3, 4)}, f"{name}.safetensors")
print("works")
"""

_SERVER = """
import re, signal, subprocess, sys, urllib.request
command = [sys.executable, "-m", "lopsided", "serve", "--port", "0", "--no-browser", "--no-token"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
address = re.search(r"http://\\S+", server.stdout.readline())[0]
assert urllib.request.urlopen(address + "api/claims", timeout=60).status == 200
server.send_signal(signal.SIGINT)
assert server.wait(60) == 0
print("works")
"""

_CLUSTER = """
import subprocess, sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        command = [sys.executable, "-m", "lopsided", "reproduce", "lp-limit", "--cluster", cluster.scheduler_address]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "holds" in done.stdout, done.stdout + done.stderr
    print("works")
"""


def _first_hour() -> str:
    """The ten tasks of docs/first-hour.md, every block of the page in order."""
    lines = ["from lopsided.cli.main import main", "if __name__ == '__main__':"]
    for block in blocks(ROOT / "docs/first-hour.md"):
        if block.kind == "python":
            lines += [f"    {line}" for line in block.body.splitlines()]
        elif block.kind == "sh":
            lines += [f"    assert main({arguments!r}) == 0" for arguments in command_lines(block)]
    return "\n".join([*lines, "    print('works')"])


FEATURES: dict[str, tuple[Feature, ...]] = {
    "": (
        _program("data", _DATA),
        _command("--version", says="lopsided 0."),
        _command("collapse", "--counts", "5000*5,50*5", "--plot", "x.html", "--json"),
        _command("score", "data.npz", "--plot", "x.png"),
        _command("audit", "data.npz", "--json"),
        _command("reproduce", "lp-limit", "--out", "site", says="holds"),
        _command("serve", "--port", "0", code=2, says="lopsided[web]"),
        _command("compare", "a.pt", "b.pt", code=2, says="lopsided[torch]"),
        _command(
            "reproduce", "lp-limit", "--fresh", "--cluster", "tcp://127.0.0.1:1", code=2, says="lopsided[cluster]"
        ),
        _command("docs", code=2, says="clone of the repository"),
    ),
    "torch": (
        _program("checkpoints", _CHECKPOINTS),
        _program("first hour", _first_hour()),
        _command("compare", "a.safetensors", "b.safetensors", says="head.weight"),
    ),
    "web": (_program("server", _SERVER),),
    "cluster": (_program("cluster", _CLUSTER),),
    # The pages are built from a source tree; a page of the theory needs every tool of the extra.
    "docs": (
        _program(
            "extensions",
            "import sphinx.cmd.build, furo, myst_parser, sphinx_design, sphinx_copybutton, sphinx_gallery\n"
            "import latex2mathml.converter\nprint('works')",
        ),
    ),
}
