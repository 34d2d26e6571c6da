"""Reads pickles of plain data only: dicts, lists, tuples, numbers, text, bytes and numeric arrays.

A pickle is a program for a stack machine, and a hostile one can call anything. This is Python's own unpickler with two
allow-lists: of instructions (none that makes objects other than plain ones) and, in `find_class`, of the names by which
NumPy writes arrays. Those names stand for functions of this module, so that nothing the file names is ever imported.

It is the unpickler written in Python, `pickle._Unpickler`, because the one in C cannot be told to leave out an
instruction, and reserves memory for as many memo entries as five bytes of a file may claim.
"""

import io
import pickle
import pickletools
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.core.errors import InputError

_NUMERIC = re.compile(r"[<>|=]?[?biuf]\d{0,2}")
_INSTRUCTIONS = """
PROTO FRAME STOP MARK POP POP_MARK MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT
UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8
STRING BINSTRING SHORT_BINSTRING EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST LIST APPEND APPENDS
EMPTY_DICT DICT SETITEM SETITEMS GLOBAL STACK_GLOBAL REDUCE BUILD
"""
_DAMAGE = (
    *(ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError),
    *(EOFError, AssertionError, struct.error, pickle.UnpicklingError),
)


class _Refused(Exception):
    """The pickle holds something that is not plain data."""


def read_plain_pickle(path: Path) -> Any:
    """The value in the file; text that Python 2 wrote as bytes comes back as bytes."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError("a readable pickle", f"{path}: {error.strerror}") from None
    try:
        return _finished(_PlainUnpickler(content).load(), {})
    except _Refused as error:
        expected = "a pickle of plain data (dicts, lists, numbers, text, arrays)"
        got = f"{path}, which holds {error}"
        raise InputError(expected, got, "download the original file; this one is not executed") from None
    except _DAMAGE:
        raise InputError("a whole pickle", f"a damaged one: {path}", "download it again") from None


class _Type:
    """The type of an array under construction: numbers only."""

    def __init__(self, name: str) -> None:
        if not _NUMERIC.fullmatch(name):
            raise _Refused(f"an array of type {name!r}")
        self.value: Any = np.dtype(name)


class _Array:
    """An array under construction: numbers, as many as the shape says."""

    value: Any = None

    def fill(self, content: bytes, dtype: Any, shape: Any, order: str) -> "_Array":
        if not isinstance(dtype, _Type):
            raise _Refused("an array of objects")
        if not isinstance(shape, tuple) or not all(isinstance(length, int) and length >= 0 for length in shape):
            raise ValueError("no shape")
        self.value = np.frombuffer(content, dtype=dtype.value).reshape(shape, order="F" if order == "F" else "C")
        return self


class _Instructions(dict[int, Callable[[Any], None]]):
    def __missing__(self, code: int) -> Any:
        name = pickletools.code2op[chr(code)].name  # type: ignore[attr-defined]  # KeyError where there is no such one
        raise _Refused(f"the instruction {name}")


_PythonUnpickler: Any = pickle._Unpickler


class _PlainUnpickler(_PythonUnpickler):  # type: ignore[misc]
    """Python's unpickler, less what it may not do."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")
        self.spare = len(content)  # bytes that may be copied: what pickle writes copies each of its own at most once
        self.names = {
            ("numpy.core.multiarray", "_reconstruct"): self.empty_array,
            ("numpy._core.multiarray", "_reconstruct"): self.empty_array,
            ("numpy.core.numeric", "_frombuffer"): self.filled_array,
            ("numpy._core.numeric", "_frombuffer"): self.filled_array,
            ("numpy", "ndarray"): self.array_type,
            ("numpy", "dtype"): self.number_type,
            ("_codecs", "encode"): self.encoded,
            ("__builtin__", "bytes"): self.no_bytes,
        }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.names:
            raise _Refused(f"a call of {module}.{name}")
        return self.names[module, name]

    def empty_array(self, *_: Any) -> _Array:
        return _Array()

    def filled_array(self, content: Any, dtype: Any, shape: Any, order: Any) -> _Array:
        return _Array().fill(self.copied(content), dtype, shape, _text(order))

    def array_type(self, *_: Any) -> None:
        raise _Refused("a call of an array type")

    def number_type(self, name: Any, *_: Any) -> _Type:
        return _Type(_text(name))

    def encoded(self, text: Any, encoding: Any) -> bytes:
        """How Python 3 writes bytes in the protocols of Python 2."""
        if encoding not in ("latin1", "latin-1") or not isinstance(text, str):
            raise _Refused("an encoding")
        self.charge(len(text))
        return text.encode("latin-1")

    def no_bytes(self) -> bytes:
        """And how it writes empty bytes."""
        return b""

    def copied(self, content: Any) -> bytes:
        if not isinstance(content, (bytes, bytearray)):
            raise _Refused("an array of objects")
        if isinstance(content, bytearray):
            self.charge(len(content))
        return bytes(content)

    def charge(self, size: int) -> None:
        """A few bytes of a file may ask for copies of what it holds again and again."""
        self.spare -= size
        if self.spare < 0:
            raise _Refused("more copies of its bytes than it has")

    def load_stop(self) -> None:
        if len(self.stack) != 1 or self.metastack:
            raise ValueError("more or less than one value")
        super().load_stop()

    def load_reduce(self) -> None:
        if self.stack[-2] not in self.names.values() or not isinstance(self.stack[-1], tuple):
            raise _Refused("a call")
        super().load_reduce()

    def load_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, _Type) and isinstance(state, tuple):
            target.value = target.value.newbyteorder(_text(state[1]))
        elif isinstance(target, _Array) and isinstance(state, tuple):
            _, shape, dtype, by_columns, content = state
            target.fill(self.copied(content), dtype, shape, "F" if by_columns else "C")
        else:
            raise _Refused("the state of an object")

    def load_bytearray8(self) -> None:
        """As many bytes as there are; Python's own reserves as many as the file claims."""
        (length,) = struct.unpack("<Q", self.read(8))
        self.append(bytearray(self.read(length)))

    def load_dict(self) -> None:
        items = self.pop_mark()
        self.append({})
        self.put(items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.put([key, value])

    def load_setitems(self) -> None:
        self.put(self.pop_mark())

    def put(self, items: list[Any]) -> None:
        """Keys and values into the dict on the stack; keys are plain, because the hash of a deep tuple may crash."""
        target = self.stack[-1]
        if type(target) is not dict:
            raise _Refused(f"an item put into a {type(target).__name__.strip('_').lower()}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, (str, bytes, int, float)):
                raise _Refused(f"a key of type {type(key).__name__}")
            target[key] = value


_PlainUnpickler.dispatch = _Instructions(
    (code, getattr(_PlainUnpickler, _PythonUnpickler.dispatch[code].__name__))  # those above in place of Python's own
    for code in (getattr(pickle, name)[0] for name in _INSTRUCTIONS.split())
)


def _finished(value: Any, known: dict[int, Any]) -> Any:
    """Arrays under construction become arrays. Each container is visited once, however often it is referred to."""
    if isinstance(value, (int, float, str, bytes, bytearray, type(None))):
        return value
    if isinstance(value, _Array) and value.value is not None:
        return value.value
    if not isinstance(value, (dict, list, tuple)):
        raise _Refused("an unfinished value")
    if id(value) in known:
        if known[id(value)] is None:
            raise _Refused("a value that contains itself")
        return known[id(value)]
    known[id(value)] = None
    if isinstance(value, dict):
        known[id(value)] = {key: _finished(entry, known) for key, entry in value.items()}
    else:
        known[id(value)] = type(value)(_finished(entry, known) for entry in value)
    return known[id(value)]


def _text(value: Any) -> str:
    if not isinstance(value, (str, bytes)):  # the words for a list of lists may be longer than any memory
        raise TypeError("no text")
    return value.decode("latin-1") if isinstance(value, bytes) else value
