"""The development tasks of the collapse families in compact form: what the fit of the merging law reads.

Settings, what the inputs are like, and cosines as whole ten-thousandths, upper triangles row by row; a quarter of a
megabyte in the repository instead of a store of several, and not part of the package.
"""

import gzip
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.files import write_atomically
from lopsided.core.validation import FloatArray
from lopsided.engine.store import Store
from lopsided.engine.task import Row, Settings
from lopsided.skill.benchmark import _plan, _rows, _tasks
from lopsided.skill.collapse_runs import LATE_PILOT, PILOT
from lopsided.skill.family import Family
from lopsided.skill.small_networks import cosines_of_gram, mean_cosines

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "measured" / "collapse_development.json.gz"
FAMILIES = ("skill-collapse-ratio", "skill-collapse-tail")
SCALE = 10_000


def rows_of(family: Family, store: str | os.PathLike[str] | None, also: Sequence[Settings] = ()) -> list[Row]:
    """The results in a store for the development half of a family and for other tasks, measured by the present code."""
    tasks = [task for _, task in _plan(family, "development", None, None)]
    return _rows([*tasks, *_tasks(family, also)], Store(store))


def compact(row: Row) -> dict[str, Any]:
    """What the fit needs of a measured task: settings, inputs, and cosines as whole numbers."""
    seen, truth = row.numbers["seen"], row.numbers["truth"]
    pilots = {str(ratio): seen["runs"][str(ratio)] for ratio in (PILOT, LATE_PILOT)}
    return {
        "settings": dict(row.settings),
        "scatter": round(seen["data"]["scatter"], 5),
        "norm": round(seen["data"]["input_norm"], 4),
        "likeness": packed(np.array(seen["data"]["mean_cosines"])),
        "pilots": {
            ratio: {"loss": float(f"{run['loss']:.4g}"), "cosines": packed(cosines_of_gram(run["gram"]))}
            for ratio, run in pilots.items()
        },
        "truth": {ratio: packed(mean_cosines(runs)) for ratio, runs in truth["runs"].items()},
    }


def packed(cosines: FloatArray) -> list[int]:
    """The cosines above the diagonal."""
    return [round(SCALE * float(value)) for value in cosines[np.triu_indices(cosines.shape[0], 1)]]


def matrix(values: Sequence[int], classes: int) -> FloatArray:
    """K x K again."""
    found = np.zeros((classes, classes))
    found[np.triu_indices(classes, 1)] = np.array(values) / SCALE
    return found + found.T + np.eye(classes)


def measured_tasks(path: Path = MEASURED) -> list[dict[str, Any]]:
    """The development tasks as they stand in the repository."""
    if not path.is_file():
        raise InputError("the measured development tasks", f"no file {path}", "run this in a copy of the repository")
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def write_measured(rows: Iterable[Row], path: Path) -> None:
    """One line a task, compressed without a date, so that equal results give an equal file."""
    lines = ",\n".join(json.dumps(compact(row), separators=(",", ":"), sort_keys=True) for row in rows)
    write_atomically(path, gzip.compress(f"[\n{lines}\n]\n".encode(), mtime=0))
