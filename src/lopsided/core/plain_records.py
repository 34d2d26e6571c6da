"""Records to plain values and back: dictionaries, lists and scalars, such as any checkpoint can hold.

Unlike JSON, NaN and infinities stay. The way back follows the annotations of the record's fields: other records,
`X | None`, tuples, mappings and arrays. Fields that are not there take their defaults, so that old states can be read.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np


def to_plain(value: Any) -> Any:
    """Records become dictionaries; tuples and arrays become lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [to_plain(entry) for entry in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def from_plain(kind: Any, value: Any) -> Any:
    """The value that `to_plain` was given, of the annotated `kind`."""
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None:
        return None
    if origin in (Union, UnionType):
        return from_plain(next(one for one in arguments if one is not NoneType), value)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        known = {field.name for field in dataclasses.fields(kind)} & set(value)
        assert isinstance(kind, type)
        return kind(**{name: from_plain(hints[name], value[name]) for name in known})
    if origin is np.ndarray:
        return np.asarray(value, dtype=get_args(arguments[1])[0])
    if origin in (tuple, Sequence):
        alike = origin is Sequence or arguments[-1] is Ellipsis
        kinds = [arguments[0]] * len(value) if alike else list(arguments)
        return tuple(from_plain(one, entry) for one, entry in zip(kinds, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: from_plain(arguments[1], entry) for key, entry in value.items()}
    return value
