"""Builds sdist and wheel and installs them into clean environments; prints what worked where.

The sdist is built from the checkout, the wheel from the unpacked sdist, as a package index would. The wheel goes alone
and with each extra into environments of its own under the first Python, and alone under the others; in each the
features that it promises are used. A Python that is not installed is named as not tried. Needs a package index; takes
minutes.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from tests.packages.features import FEATURES, Feature

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")


def main() -> int:
    """Build, install, use; exit code 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="./test --packages", description=__doc__)
    parser.add_argument("--python", action="append", choices=VERSIONS, help="only these versions")
    parser.add_argument("--extra", action="append", choices=[*FEATURES], help="only these extras ('' is none)")
    chosen = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="packages-") as place:
        folder = Path(place)
        wheel, source = build(folder)
        print(f"built {wheel.name} and {source.name}")
        first = True
        for version in chosen.python or VERSIONS:
            python = interpreter(version)
            if python is None:
                print(f"Python {version}: not installed here, not tried")
                continue
            for extra in chosen.extra or (FEATURES if first else [""]):
                began = time.monotonic()
                words = attempt(folder / f"{version}-{extra}", python, wheel, extra)
                name = f"lopsided[{extra}]" if extra else "lopsided"
                print(f"Python {version}, {name}: {words or 'works'} ({time.monotonic() - began:.0f} s)", flush=True)
                failed = failed or bool(words)
            first = False
    return int(failed)


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel, and the unpacked sdist that it was made from."""
    hatch = [sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist"), "-t"]
    subprocess.run([*hatch, "sdist"], cwd=ROOT, check=True, capture_output=True)
    packed = next((folder / "dist").glob("*.tar.gz"))
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    source = folder / packed.name.removesuffix(".tar.gz")
    subprocess.run([*hatch, "wheel"], cwd=source, check=True, capture_output=True)
    return next((folder / "dist").glob("*.whl")), source


def interpreter(version: str) -> str | None:
    """A Python of that version: on the path, or among pyenv's."""
    found = [shutil.which(f"python{version}"), shutil.which("python3"), sys.executable]
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found += [str(path) for path in sorted(home.glob(f"versions/{version}.*/bin/python"))]
    for python in filter(None, found):
        asked = [python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        run = subprocess.run(asked, capture_output=True, text=True)
        if run.returncode == 0 and run.stdout.strip() == version:
            return python
    return None


def attempt(folder: Path, python: str, wheel: Path, extra: str) -> str:
    """What went wrong, or nothing."""
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True, capture_output=True)
    own = folder / "venv/bin/python"
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    # uv does in seconds what takes pip a minute; without it pip leaves compiling to the first import.
    uv = shutil.which("uv")
    install: list[str | Path] = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile"]
    if uv is not None:
        install = [uv, "pip", "install", "--quiet", "--python", own]
    done = subprocess.run([*install, wanted], capture_output=True, text=True)
    if done.returncode:
        return f"not installed: {done.stderr.strip()[-400:]}"
    try:
        for feature in FEATURES[extra]:
            _use(feature, own, folder)
    except AssertionError as error:
        return str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def _use(feature: Feature, python: Path, folder: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LOPSIDED"))}
    place = folder / "work"
    place.mkdir(exist_ok=True)
    done = subprocess.run(
        [python, *feature.arguments], cwd=place, env=clean, capture_output=True, text=True, timeout=900
    )
    told = (done.stdout + done.stderr).strip()
    assert done.returncode == feature.code, f"{feature.name} ended with {done.returncode}: {told[-400:]}"
    assert feature.says in told, f"{feature.name} did not say {feature.says!r} but {told[-200:]!r}"


if __name__ == "__main__":
    sys.exit(main())
