"""The reader of plain pickles: what pickle writes in every protocol, Python 2's bytes, and pickles that mean harm."""

import contextlib
import os
import pickle
import struct
import tracemalloc

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.data.plain_pickle import read_plain_pickle

PLAIN = {
    "labels": list(range(-3, 400)),
    "names": ["a", "ü" * 300, b"\x00\xff", ""],
    "numbers": (1, 2**40, -(2**70), 0.5, True, False, None),
    "nested": {"empty": [{}, (), []], 7: "seven"},
}


def read(tmp_path, content: bytes):
    path = tmp_path / "data"
    path.write_bytes(content)
    return read_plain_pickle(path)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_pickle_writes_is_read(tmp_path, protocol) -> None:
    assert read(tmp_path, pickle.dumps(PLAIN, protocol)) == PLAIN


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
        np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        np.array([[0.5, np.nan]]),
        np.zeros((0, 5), dtype=np.float32),
    ],
)
def test_arrays_are_rebuilt(tmp_path, protocol, array) -> None:
    found = read(tmp_path, pickle.dumps({"data": array}, protocol))["data"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_the_bytes_of_python_2(tmp_path) -> None:
    """As in the original CIFAR files: protocol 2, text as SHORT_BINSTRING and BINSTRING, an array through
    numpy.core.multiarray, all written out here byte by byte."""
    pixels = bytes(range(6))
    content = (
        b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x06K\x09eU\x04dataq\x04cnumpy.core.multiarray\n_reconstruct\nq\x05"
        b"cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87Rq\x07(K\x01K\x02K\x03\x86cnumpy\ndtype\nq\x08U\x02u1K\x00K\x01\x87R"
        b"q\x09(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", len(pixels))
        + pixels
        + b"tbu."
    )
    assert list(pickle.loads(content, encoding="bytes")) == [b"labels", b"data"]  # the bytes above are a pickle
    found = read(tmp_path, content)
    assert found[b"labels"] == [6, 9]
    np.testing.assert_array_equal(found[b"data"], np.arange(6, dtype=np.uint8).reshape(2, 3))


class _Call:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


class _Object:
    def __init__(self):
        self.inside = 1


HARM = {
    "system": lambda mark: _Call(os.system, f"touch {mark}"),
    "eval": lambda mark: _Call(eval, f"open({str(mark)!r}, 'w')"),
    "open": lambda mark: _Call(open, str(mark), "w"),
    "object": lambda mark: _Object(),
    "objects in an array": lambda mark: np.array([_Call(os.system, f"touch {mark}")], dtype=object),
    "hidden in a list": lambda mark: {"data": [1, [_Call(os.mkdir, str(mark))]]},
    "set": lambda mark: {1, 2},
    "type": lambda mark: {"kind": dict},
}


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("harm", HARM)
def test_what_means_harm_is_refused_and_not_done(tmp_path, harm, protocol) -> None:
    mark = tmp_path / "done"
    content = pickle.dumps(HARM[harm](mark), protocol)
    with pytest.raises(InputError, match=r"not executed|damaged") as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)
    assert not mark.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cos\nsystem\n(S'true'\ntR.",  # GLOBAL and REDUCE
        b"(S'true'\nios\nsystem\n.",  # INST
        b"(cos\nsystem\nS'true'\no.",  # OBJ
        b"\x80\x02cnumpy\nndarray\n)\x81.",  # NEWOBJ of a recognised name
        b"cnumpy\nndarray\n(K\x05tR.",  # a call of a recognised name that constructs nothing
        b"cnumpy\ndtype\n(U\x01OK\x00K\x01tR.",
        b"cnumpy\ndtype\n.",  # a bare name
        b"Pthere\n.",  # persistent id
        b"\x82\x01.",  # extension registry
        b"]q\x00h\x00a.",  # a list that contains itself
        b"\x80\x63}.",
        b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x06\x00\x00\x00base64tR.",
        b"",
        b"K\x01",
        b"K\x01K\x02.",
        b"h\x07.",
        b"(K\x01d.",
        b"\x87.",
        b"K\x01K\x02b.",
        b"T\xff\xff\xff\x7fab.",
        b"not a pickle at all",
    ],
)
def test_broken_and_crooked_pickles_are_sentences(tmp_path, content) -> None:
    with pytest.raises(InputError, match=r"Expected .* but got .*; (fetch|download)"):
        read(tmp_path, content)


def test_values_that_refer_to_each_other_often_cost_little(tmp_path) -> None:
    """Sixty doublings: 2^60 visits if each reference were followed."""
    bomb = ["a"]
    for _ in range(60):
        bomb = [bomb, bomb]
    assert len(read(tmp_path, pickle.dumps(bomb, 2))) == 2


def test_a_shape_beyond_the_bytes_is_refused(tmp_path) -> None:
    content = pickle.dumps(np.zeros((2, 3), dtype=np.uint8), 4)
    with pytest.raises(InputError, match="damaged"):
        read(tmp_path, content.replace(b"K\x02K\x03\x86", b"K\x02K\x04\x86"))


BOMBS = {
    "text encoded again and again": lambda: (
        b"\x80\x02](c_codecs\nencode\nq\x00X"
        + struct.pack("<I", 1 << 20)
        + b"a" * (1 << 20)
        + b"q\x01X\x06\x00\x00\x00latin1q\x02"
        + b"h\x00h\x01h\x02\x86R" * 100_000
        + b"e."
    ),
    "a memo of two thousand million entries": lambda: b"]r\xff\xff\xff\x7f.",
    "bytes that are claimed": lambda: b"\x96" + struct.pack("<Q", 1 << 40) + b"ab.",
    "a type named by a list of lists": lambda: (
        b"\x80\x02]q\x00K\x01a" + b"0](h\x00h\x00eq\x00" * 60 + b"0cnumpy\ndtype\nh\x00K\x00K\x01\x87R."
    ),
    "a deep tuple as a key": lambda: b"}" + b")" + b"\x85" * 1_000_000 + b"K\x01s.",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_eats_no_memory(tmp_path, bomb) -> None:
    content = BOMBS[bomb]()
    tracemalloc.start()
    try:
        with contextlib.suppress(InputError):
            read(tmp_path, content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6 + 20 * len(content)
