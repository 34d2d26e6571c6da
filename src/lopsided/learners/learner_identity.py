"""The identity of a learner as plain values, for the name of a stored result: class, parameters, versions, source
files.

A class from an installed package is identified by the version of the package. A class in a user's file has no version,
so the file is hashed, and so are the files of its base classes and of the estimators and functions among its
parameters. Imports of such a file are not followed: after a change there, ask for fresh results.
"""

import hashlib
import inspect
import pickle
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from types import FunctionType
from typing import Any

_INSTALLED = {"site-packages", "dist-packages"}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def learner_identity(learner: Any) -> dict[str, Any]:
    """Equal for equal learners in every process: `class`, `parameters` as text, `versions` of packages, and hashes of
    `files` by module."""
    found: dict[str, dict[str, str]] = {"versions": {}, "files": {}}
    for piece in _code(learner):
        known = _origin(piece)
        if known is not None:
            table, name, value = known
            found[table][name] = value
    return {"class": _path(type(learner)), "parameters": _text(learner), **found}


def _code(value: Any) -> Iterator[Any]:
    """The classes and functions that a learner, or a parameter of one, is made of."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        for entry in value:
            yield from _code(entry)
    elif isinstance(value, FunctionType):
        yield value
    else:
        yield from (value if isinstance(value, type) else type(value)).__mro__
        if not isinstance(value, type):
            yield from _code(_parameters(value))


def _parameters(value: Any) -> dict[str, Any]:
    if not callable(getattr(value, "get_params", None)):
        return {}
    found: dict[str, Any] = value.get_params(deep=False)
    return found


@lru_cache(maxsize=1024)
def _origin(piece: Any) -> tuple[str, str, str] | None:
    """("versions", package, version) or ("files", module, hash); None for the standard library.

    Cached after the first call: if a file is edited while this process runs, the class still comes from the old
    version.
    """
    module = piece.__module__
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return None
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is not None and _INSTALLED & set(Path(path).parts) and top in _distributions():
        package = _distributions()[top][0]
        return "versions", package, metadata.version(package)
    try:  # a notebook has sources without a file
        source = inspect.getsource(piece).encode() if path is None else Path(path).read_bytes()
    except (OSError, TypeError):  # typed into a shell: it may differ in another session
        source = uuid.uuid4().bytes
    return "files", module if path is not None else _path(piece), hashlib.sha256(source).hexdigest()[:32]


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _path(piece: Any) -> str:
    return f"{piece.__module__}:{piece.__qualname__}"


def _text(value: Any) -> str:
    """One text for equal values, in every process: no addresses, no order of a set, arrays by their hash."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, (type, FunctionType)):
        return _path(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{_text(key)}: {_text(entry)}' for key, entry in value.items()))}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_text(entry) for entry in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(_text(entry) for entry in value))}}}"
    if callable(getattr(value, "get_params", None)):
        return f"{_path(type(value))}({_text(_parameters(value))})"
    try:
        content = pickle.dumps(value, protocol=4)
    except Exception:  # an object that cannot be pickled may raise any exception
        return _ADDRESS.sub("", repr(value))
    return f"{_path(type(value))} {hashlib.sha256(content).hexdigest()[:32]}"
