"""Records to plain JSON values: arrays become lists, undefined numbers become null, infinities too; paths, and the
dates, decimals and blobs of a database, become text or numbers."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID


def jsonable(value: Any) -> Any:
    """Turn records, arrays and scalars into what `json` writes; NaN and infinities become None."""
    if value is None or isinstance(value, (bool, int, str)):
        return value if not isinstance(value, Enum) else value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return jsonable(float(value))
    if isinstance(value, (Path, date, time, timedelta, UUID, bytes)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, (Sequence, set, frozenset)):
        return [jsonable(entry) for entry in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "tolist"):  # NumPy arrays and scalars, without importing NumPy here
        return jsonable(value.tolist())
    raise TypeError(f"no JSON form for {type(value).__name__}")


def dump_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """One JSON text; keys in the order given, no NaN tokens."""
    return json.dumps(jsonable(value), indent=indent, allow_nan=False, ensure_ascii=ascii_only)
