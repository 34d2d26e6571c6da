"""Adds to every pin of a requirement file the SHA-256 of each file that the package index offers for it.

`python hashes.py < pins > pins-with-hashes`, run by `requirements/pin`. The index is the one that pip is set up to use;
hashes are of all platforms, so `pip install --require-hashes` works on any of them.
"""

import os
import re
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

from pip._internal.models.index import PyPI


def index_address() -> str:
    """What pip would ask."""
    asked = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True)
    return (os.environ.get("PIP_INDEX_URL") or asked.stdout.decode().strip() or PyPI.simple_url).rstrip("/")


def hashes(index: str, name: str, version: str) -> list[str]:
    """The SHA-256 of every wheel and source archive of one version."""
    with urllib.request.urlopen(f"{index}/{re.sub(r'[-_.]+', '-', name).lower()}/", timeout=60) as answer:
        files = re.findall(r'href="(?:[^"]*/)?([^"/#]+)#sha256=([0-9a-f]{64})"', answer.read().decode())
    # A file is named name-version-tags.whl or name-version.tar.gz, with "-", "_" or "." in the name.
    wanted = re.compile(rf"{re.sub(r'[-_.]+', '[-_.]+', name)}-{re.escape(version)}(-.*\.whl|\.tar\.gz|\.zip)", re.I)
    found = sorted({digest for file, digest in files if wanted.fullmatch(unquote(file))})
    if not found:
        sys.exit(f"requirements/pin: the index offers no file of {name}=={version}.")
    return found


def main() -> None:
    """Lines with a pin get their hashes; others stay."""
    index, lines = index_address(), sys.stdin.read().splitlines()
    pins = [tuple(line.split("==")) for line in lines if re.match(r"[A-Za-z0-9]", line)]
    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(pins, pool.map(lambda pin: hashes(index, *pin), pins), strict=True))
    for line in lines:
        pin = tuple(line.split("=="))
        sys.stdout.write(" \\\n".join([line, *(f"    --hash=sha256:{value}" for value in found.get(pin, []))]) + "\n")


if __name__ == "__main__":
    main()
