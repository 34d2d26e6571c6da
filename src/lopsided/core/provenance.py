"""What a result must carry to be believed: version, seed, settings, packages, machine, time."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import Any

from lopsided import __version__

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch")


@cache
def packages() -> dict[str, str]:
    """Versions of the numerical packages that are installed."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, Any]:
    """The machine as far as it can change digits or speed."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def provenance(*, seed: int | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The record that is stored beside a result."""
    return {
        "version": __version__,
        "seed": seed,
        "settings": dict(settings),
        "packages": packages(),
        "machine": machine(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
