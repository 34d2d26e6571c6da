"""Files as spreadsheets write them: other delimiters, decimal commas, words among numbers."""

import numpy as np
import pandas as pd
import pytest

from lopsided.checkup.inputs.gather import gather
from lopsided.core.errors import InputError
from lopsided.data.csv_file import csv_dialect

N = 40


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "x": np.linspace(0.5, 9.5, N),
            "grade": np.array(["1", "2", "3", "other"])[np.arange(N) % 4],
            "age": np.array(["18", "30", "65+"])[np.arange(N) % 3],
        }
    )


def test_labels_and_groups_may_mix_numbers_and_words(frame, tmp_path) -> None:
    frame.to_csv(tmp_path / "d.csv", index=False)
    found = gather(tmp_path / "d.csv", labels="grade", groups=["age"])
    assert found.classes.names == ("1", "2", "3", "other")
    assert found.groups["age"].names == ("18", "30", "65+")
    with pytest.raises(InputError, match="numbers throughout the column 'grade'"):
        gather(tmp_path / "d.csv", groups="age")
    frame.rename(columns={"grade": "label", "age": "group"}).to_csv(tmp_path / "usual.csv", index=False)
    assert gather(tmp_path / "usual.csv").classes.names == ("1", "2", "3", "other")
    assert gather(tmp_path / "d.csv", labels="grade", features="x").table.width == 1


def test_words_far_down_in_the_file(tmp_path) -> None:
    """Arrow takes types from the first megabyte, which here holds whole numbers alone."""
    rows = 200_000
    lines = [f"{place % 7},{place % 3}" for place in range(rows)] + ["0.5,other"]
    (tmp_path / "d.csv").write_text("x,label\n" + "\n".join(lines) + "\n")
    found = gather(tmp_path / "d.csv")
    assert found.classes.names == ("0", "1", "2", "other")
    assert found.table.features()[-1, 0] == 0.5


@pytest.mark.parametrize(("delimiter", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ",")])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_delimiters_are_told_by_the_first_lines(frame, tmp_path, delimiter, ending, decimal) -> None:
    path = tmp_path / f"d.{ending}"
    frame.to_csv(path, index=False, sep=delimiter, decimal=decimal)
    found = gather(path, labels="grade", groups="age")
    assert found.table.feature_names == ("x",)
    np.testing.assert_allclose(found.table.features()[:, 0], frame["x"], rtol=1e-12)  # csv keeps 17 digits


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ('x;label\n1;"a;b"\n2;"c\nd"\n', ";"),
        ("\ufeffx;label\r\n1;a\r\n", ";"),
        ("price, EUR;label\n1;a\n2;b\n", ";"),
        ("a;b,label\n1;2,x\n", ","),  # both would do: the ending decides
        ("label\ncat\ndog\n", ","),
        ("", ","),
    ],
)
def test_delimiters_of_odd_files(tmp_path, text, delimiter) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(text.encode())
    assert csv_dialect(path).delimiter == delimiter


def test_a_delimiter_that_does_not_hold_is_named(tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x;z;label\n1;2;a\n3;b\n")
    with pytest.raises(InputError, match="semicolons, which make 3 in the header but 2 in row 3") as error:
        gather(path)
    assert "separated by commas" in str(error.value)
