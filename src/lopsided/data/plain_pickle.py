"""Pickles of plain data, read without executing them: dicts, lists, tuples, numbers, text, bytes and numeric arrays.

A pickle is a program for a stack machine, and a hostile one can call anything. This reader walks the opcodes
(pickletools only parses them) and builds values itself. It knows no objects and calls nothing that the file names: the
few names by which NumPy writes arrays are recognised and rebuilt here, and every other name or opcode is refused.
"""

import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.core.errors import InputError

_NUMERIC = re.compile(r"[<>|=]?[?biuf]\d{0,2}")
_ARRAYS = {
    ("numpy.core.multiarray", "_reconstruct"): "reconstruct",
    ("numpy._core.multiarray", "_reconstruct"): "reconstruct",
    ("numpy.core.numeric", "_frombuffer"): "frombuffer",
    ("numpy._core.numeric", "_frombuffer"): "frombuffer",
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "dtype",
    ("_codecs", "encode"): "encode",
    ("__builtin__", "bytes"): "no bytes",
}


class _Refused(Exception):
    """The pickle holds something that is not plain data."""


@dataclass(frozen=True)
class _Name:
    """A recognised name; it is a label, never called."""

    kind: str


@dataclass
class _Array:
    """An array (or its type) under construction; `value` is set by BUILD."""

    kind: str
    value: Any = None


class _Mark:
    """Where a list of arguments begins on the stack."""


_MARK = _Mark()


def read_plain_pickle(path: Path) -> Any:
    """The value in the file; text that Python 2 wrote as bytes comes back as bytes."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError("a readable pickle", f"{path}: {error.strerror}", "check the path") from None
    try:
        return _finished(_Machine().run(content), {})
    except _Refused as error:
        raise InputError(
            "a pickle of plain data (dicts, lists, numbers, text, arrays)",
            f"{path}, which holds {error}",
            "fetch the original file; this one is not executed",
        ) from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError):
        raise InputError("a whole pickle", f"a damaged one: {path}", "fetch it again") from None


def _finished(value: Any, known: dict[int, Any]) -> Any:
    """Arrays under construction become arrays. Each container is visited once, however often it is referred to."""
    if isinstance(value, (int, float, str, bytes, bytearray, type(None))):
        return value
    if isinstance(value, _Array) and isinstance(value.value, np.ndarray):
        return value.value
    if not isinstance(value, (dict, list, tuple)):
        raise _Refused("an unfinished value")
    if id(value) in known:
        if known[id(value)] is _MARK:
            raise _Refused("a value that contains itself")
        return known[id(value)]
    known[id(value)] = _MARK
    if isinstance(value, dict):
        known[id(value)] = {key: _finished(entry, known) for key, entry in value.items()}
    else:
        known[id(value)] = type(value)(_finished(entry, known) for entry in value)
    return known[id(value)]


def _key(key: Any) -> Any:
    if not isinstance(key, (str, bytes, int, float)):
        raise _Refused(f"a key of type {type(key).__name__}")
    return key


class _Machine:
    """Stack and memo of one reading."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name == "STOP":
                (value,) = self.stack
                return value
            if opcode.name in _VALUES:
                self.stack.append(_VALUES[opcode.name](argument))
            else:
                action = getattr(self, "_" + opcode.name.lower(), None)
                if action is None:
                    raise _Refused(f"the instruction {opcode.name}")
                action(argument)
        raise ValueError("no end")

    def since_mark(self) -> list[Any]:
        place = max(index for index, value in enumerate(self.stack) if value is _MARK)
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def _proto(self, argument: int) -> None:
        if argument > 5:
            raise _Refused(f"protocol {argument}")

    def _frame(self, argument: int) -> None:
        """A hint for readers from streams."""

    def _mark(self, argument: None) -> None:
        self.stack.append(_MARK)

    def _pop(self, argument: None) -> None:
        self.stack.pop()

    def _pop_mark(self, argument: None) -> None:
        self.since_mark()

    def _memoize(self, argument: None) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _binput(self, argument: int) -> None:
        self.memo[int(argument)] = self.stack[-1]

    _long_binput = _put = _binput

    def _binget(self, argument: int) -> None:
        self.stack.append(self.memo[int(argument)])

    _long_binget = _get = _binget

    def _tuple(self, argument: None) -> None:
        values = self.since_mark()
        self.stack.append(tuple(values))

    def _last(self, count: int) -> None:
        values = tuple(self.stack[-count:])
        if len(values) != count or _MARK in values:
            raise ValueError("too few values")
        del self.stack[-count:]
        self.stack.append(values)

    def _tuple1(self, argument: None) -> None:
        self._last(1)

    def _tuple2(self, argument: None) -> None:
        self._last(2)

    def _tuple3(self, argument: None) -> None:
        self._last(3)

    def _list(self, argument: None) -> None:
        self.stack.append(self.since_mark())

    def _dict(self, argument: None) -> None:
        values = self.since_mark()
        self.stack.append(_pairs(values))

    def _append(self, argument: None) -> None:
        value = self.stack.pop()
        _expect(self.stack[-1], list).append(value)

    def _appends(self, argument: None) -> None:
        values = self.since_mark()
        _expect(self.stack[-1], list).extend(values)

    def _setitem(self, argument: None) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        _expect(self.stack[-1], dict)[_key(key)] = value

    def _setitems(self, argument: None) -> None:
        values = self.since_mark()
        _expect(self.stack[-1], dict).update(_pairs(values))

    def _global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self.stack.append(_recognised(module, name))

    def _stack_global(self, argument: None) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(_recognised(module, name))

    def _reduce(self, argument: None) -> None:
        arguments, name = self.stack.pop(), self.stack.pop()
        if not isinstance(name, _Name) or not isinstance(arguments, tuple):
            raise _Refused("a call")
        self.stack.append(_constructed(name.kind, arguments))

    def _build(self, argument: None) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if not isinstance(target, _Array) or not isinstance(state, tuple):
            raise _Refused("the state of an object")
        if target.kind == "array":
            _, shape, dtype, by_columns, content = state
            target.value = _array(content, dtype, shape, "F" if by_columns else "C")
        else:
            target.value = target.value.newbyteorder(_text(state[1]))


def _pairs(values: list[Any]) -> dict[Any, Any]:
    if len(values) % 2:
        raise ValueError("a key without a value")
    return {_key(key): value for key, value in zip(values[::2], values[1::2], strict=True)}


def _expect(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise _Refused(f"an item put into a {type(value).__name__.strip('_').lower()}")
    return value


def _recognised(module: Any, name: Any) -> _Name:
    kind = _ARRAYS.get((module, name))
    if kind is None:
        raise _Refused(f"a call of {module}.{name}")
    return _Name(kind)


def _constructed(kind: str, arguments: tuple[Any, ...]) -> Any:
    if kind == "encode":  # how Python 3 writes bytes in the protocols of Python 2
        text, encoding = arguments
        if encoding not in ("latin1", "latin-1") or not isinstance(text, str):
            raise _Refused("an encoding")
        return text.encode("latin-1")
    if kind == "no bytes" and not arguments:  # and how it writes empty bytes
        return b""
    if kind == "reconstruct":
        return _Array("array")
    if kind == "dtype":
        name = _text(arguments[0])
        if not _NUMERIC.fullmatch(name):
            raise _Refused(f"an array of type {name!r}")
        return _Array("dtype", np.dtype(name))
    if kind == "frombuffer":
        content, dtype, shape, order = arguments
        return _Array("array", _array(content, dtype, shape, _text(order)))
    raise _Refused("a call of an array type")


def _array(content: Any, dtype: Any, shape: Any, order: str) -> Any:
    if not isinstance(dtype, _Array) or dtype.kind != "dtype" or not isinstance(content, (bytes, bytearray)):
        raise _Refused("an array of objects")
    if not isinstance(shape, tuple) or not all(isinstance(length, int) and length >= 0 for length in shape):
        raise ValueError("no shape")
    flat = np.frombuffer(bytes(content), dtype=dtype.value)
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _same(argument: Any) -> Any:
    return argument


def _old_text(argument: str) -> bytes:
    """The text of Python 2 is bytes; pickletools hands them over as latin-1."""
    return argument.encode("latin-1")


_VALUES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"), _same),
    **dict.fromkeys(("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"), _same),
    **dict.fromkeys(("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"), _same),
    **dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), _old_text),
    "NONE": lambda argument: None,
    "NEWTRUE": lambda argument: True,
    "NEWFALSE": lambda argument: False,
    "EMPTY_DICT": lambda argument: {},
    "EMPTY_LIST": lambda argument: [],
    "EMPTY_TUPLE": lambda argument: (),
}
