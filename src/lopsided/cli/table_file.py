"""An Arrow table as a .csv or .parquet file, whole or not at all."""

import io
from pathlib import Path
from typing import Any


def write_table(target: Path, table: Any) -> Path:
    """Write it in the format of the file's ending."""
    from lopsided.core.files import write_atomically

    stream = io.BytesIO()
    if target.suffix.lower() == ".csv":
        from pyarrow import csv

        csv.write_csv(table, stream)
    else:
        import pyarrow.parquet as pq

        pq.write_table(table, stream)
    return write_atomically(target, stream.getvalue())
