"""A small data set with everything that an audit in passes counts, whole and in parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES = ("ant", "bee", "cat")
GIVEN: dict[str, Any] = {
    "labels": "kind",
    "groups": ["sex", "site"],
    "split": "fold",
    "probabilities": [f"p_{name}" for name in CLASSES],
}
EXACT = ["counts", "missing_values", "class_accuracy", "group_accuracy", "group_rates", "calibration", "duplicates"]


def table(rows: int = 2400) -> pa.Table:
    """Five numbers, three classes, two columns of groups, gaps, copies between training and test rows."""
    random = np.random.default_rng(5)
    kinds = random.choice(3, rows, p=[0.6, 0.3, 0.1])
    columns: dict[str, Any] = {f"x{j}": random.normal(size=rows) + 0.5 * (kinds == j % 3) for j in range(5)}
    sexes, sites = random.integers(0, 2, rows), random.integers(0, 3, rows)
    fold = np.where(random.random(rows) < 0.3, "test", "train")
    for place in range(30):  # a copy of every one of these, some with another label
        for column in (*columns.values(), sexes, sites):
            column[place] = column[rows - 1 - place]
    columns["x2"][random.random(rows) < 0.02 + 0.2 * (kinds == 2)] = np.nan
    chances = 0.4 * random.dirichlet(np.ones(3), rows) + 0.6 * np.eye(3)[np.where(random.random(rows) < 0.8, kinds, 0)]
    columns |= {f"p_{name}": chances[:, code] for code, name in enumerate(CLASSES)}
    columns |= {"kind": np.array(CLASSES)[kinds], "fold": fold}
    columns |= {"sex": np.array(["f", "m"])[sexes], "site": np.array(["n", "s", "w"])[sites]}
    return pa.table(columns)


def written(folder: Path, rows: pa.Table, part: int = 500, group: int = 200) -> Path:
    """Files of `part` rows in row groups of `group`."""
    folder.mkdir(exist_ok=True)
    for place, start in enumerate(range(0, rows.num_rows, part)):
        pq.write_table(rows.slice(start, part), folder / f"{place:04d}.parquet", row_group_size=group)
    return folder
