"""Class counts in every accepted form, and the sentence for every form that is not."""

import numpy as np
import pytest

from lopsided.core.counts import class_counts
from lopsided.core.errors import InputError


def test_grammar() -> None:
    assert class_counts("5000*2,50*3").counts.tolist() == [5000, 5000, 50, 50, 50]
    assert class_counts(" 10 , 2.5 * 2 ").counts.tolist() == [10, 2.5, 2.5]
    assert class_counts([3, 2]).counts.tolist() == [3, 2]
    assert class_counts(np.array([3, 2], dtype=np.uint8)).counts.dtype == np.float64
    assert class_counts({"cat": 9, "dog": 1}).names == ("cat", "dog")


@pytest.mark.parametrize(
    ("text", "counts", "names"),
    [
        ("10\n20\n30\n", [10, 20, 30], None),
        ("5000*2,\n50*2\n", [5000, 5000, 50, 50], None),
        ('class,count\ncat,10\n"dog, old",20\n', [10, 20], ("cat", "dog, old")),
        ("name;n\ncat;10\ndog;20\n", [10, 20], ("cat", "dog")),
        ("class_index,count\n0,10\n1,20\n", [10, 20], ("0", "1")),
        ("cat 10\nblack dog 20\n", [10, 20], ("cat", "black dog")),
        ("cat,10\ndog,20\n", [10, 20], ("cat", "dog")),
        ("# a comment\n10 # first\n20\n", [10, 20], None),
        ("1,5000\n2,50\n3,50\n", [5000, 50, 50], ("1", "2", "3")),
        ("0,5000\n1,50\n", [5000, 50], ("0", "1")),
        ("5000,400\n300,20\n", [5000, 400, 300, 20], None),
        ("# made by hand\nclass,count\n#1 cat,10\nC#,20\n", [10, 20], ("#1 cat", "C#")),
        ("5000;50;50\n", [5000, 50, 50], None),
        ("5000 50 50\n", [5000, 50, 50], None),
        ('class, count\n"cat", 10\n"dog", 20\n', [10, 20], ("cat", "dog")),
    ],
)
def test_files(tmp_path, text, counts, names) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    read = class_counts(str(path))
    assert read.counts.tolist() == counts
    assert read.names == names


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "separate the counts"),
        ("10", "at least 2 classes"),
        ("10,0", "0 for class 1"),
        ("10,-3", "-3 for class 1"),
        ("10,nan", "nan for class 1"),
        ("10,inf", "inf for class 1"),
        ("10,abc", "'abc'"),
        ("10*0,5", "whole number of classes"),
        ("10*2.5,5", "whole number of classes"),
        ("10**2", "separate the counts"),
        ("1*999999999", "at most"),
        ("missing.csv", "which does not exist"),
        ([[1, 2], [3, 4]], "shape"),
        ([1, [2, 3]], "flat list"),
        (["a", "b"], "flat list"),
    ],
)
def test_refusals_are_one_sentence(value, words) -> None:
    with pytest.raises(InputError) as caught:
        class_counts(value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_row_without_a_count_is_named(tmp_path) -> None:
    (tmp_path / "counts.csv").write_text("class,count\ncat,10\ndog,\n")
    with pytest.raises(InputError, match="row 3"):
        class_counts(tmp_path / "counts.csv")


def test_empty_and_binary_files(tmp_path) -> None:
    (tmp_path / "empty.txt").write_text("\n# nothing\n")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x80")
    (tmp_path / "header.csv").write_text("class,count\n")
    for name in ("empty.txt", "binary.csv", "header.csv"):
        with pytest.raises(InputError):
            class_counts(tmp_path / name)
