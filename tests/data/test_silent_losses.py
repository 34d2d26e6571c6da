"""No row, label or file is lost, merged or moved without a word."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lopsided
from lopsided.core.errors import InputError
from lopsided.data.tables import ColumnChoice, open_table, read_label_file


@pytest.mark.parametrize("column", [0, 2, 3])
def test_two_stray_quotes_swallow_no_rows(tmp_path, column) -> None:
    lines = [f"{place}.5,{place % 7},{'xy'[place % 2]},some words" for place in range(1000)]
    for place, cell in ((300, '"{}'), (500, '{}"')):
        cells = lines[place].split(",")
        lines[place] = ",".join([*cells[:column], cell.format(cells[column]), *cells[column + 1 :]])
    path = tmp_path / "d.csv"
    path.write_text("a,b,label,note\n" + "\n".join(lines) + "\n")
    with pytest.raises(InputError, match="begins in line 302 and holds the rows up to line 502; remove the stray"):
        open_table(path, ColumnChoice(whole=True))
    first, second = lines[300], lines[500].replace('"', "").replace("words", 'words"')  # closed in another column
    path.write_text("a,b,label,note\n" + "\n".join([*lines[:300], first, *lines[301:500], second, *lines[501:]]) + "\n")
    with pytest.raises(InputError, match="begins in line 302"):
        open_table(path, ColumnChoice(whole=True))


def test_cells_of_several_lines_that_are_no_rows_stay(tmp_path) -> None:
    letters = ['"Dear Sir,\nhello, all\nbye"', '"one\ntwo"', '"a,b\nc,d\ne,f"', '"1,2,3\n4,5,6"']
    path = tmp_path / "d.csv"
    path.write_text("x,label,note\n" + "".join(f"{place % 5}.5,y,{letters[place % 4]}\n" for place in range(40)))
    table = open_table(path, ColumnChoice(whole=True, reserved=("label", "note")))
    assert table.rows == 40
    assert table.columns["note"][0] == "Dear Sir,\nhello, all\nbye"


@pytest.mark.parametrize("rows", [12, 400])
def test_texts_of_several_lines_beside_words_alone_stay(tmp_path, rows) -> None:
    """Lines with one comma look like rows of two columns."""
    path = tmp_path / "d.csv"
    lines = [f'"Hello {place}, you\nbye {place}",good' if place % 2 else f"fine {place},bad" for place in range(rows)]
    path.write_text("note,label\n" + "\n".join(lines) + "\n")
    table = open_table(path, ColumnChoice(whole=True))
    assert table.columns["label"].tolist() == ["bad", "good"] * (rows // 2)
    path.write_text("note,label\n" + "fine,good\nfine,bad\n" * 99 + '"one,bad\nx,good\ny,bad"\n')
    with pytest.raises(InputError, match="begins in line 200 and holds the rows up to line 202"):
        open_table(path, ColumnChoice(whole=True))


@pytest.mark.parametrize("classes", [2, 15, 30])
@pytest.mark.parametrize("ordered", [False, True])
def test_two_stray_quotes_beside_words_alone_swallow_nothing_in_silence(tmp_path, classes, ordered) -> None:
    """Also where the rows between are those of a class that occurs nowhere else."""
    names = [f"class {place * classes // 90 if ordered else place % classes}" for place in range(90)]
    rows = [f"word {place},{name}" for place, name in enumerate(names)]
    last = max(place for place, name in enumerate(names) if name == names[0]) if ordered else 40
    rows[0], rows[last] = f'"{rows[0]}', f'word {last}",{names[last]}'
    (tmp_path / "d.csv").write_text("\n".join(["text,label", *rows, ""]))
    with pytest.raises(InputError, match=f"begins in line 2 and holds the rows up to line {last + 2};"):
        open_table(tmp_path / "d.csv", ColumnChoice(whole=True))


def test_bars_in_texts_separate_no_columns(tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("id,title|year,label\n" + "".join(f"{n},A, or B|1990,x\n" for n in range(6)))
    with pytest.raises(InputError, match="a whole csv file"):
        open_table(path, ColumnChoice(whole=True))
    path.write_text("a|b\n" + "one\ntwo\n" * 6)
    assert open_table(path, ColumnChoice(needed=False, whole=True)).frame.column_names == ["a|b"]


def test_words_that_are_bytes_are_words(tmp_path) -> None:
    """Of csv files in another encoding, and of parquet files whose writer did not say that bytes are text."""
    kinds = ["naïve", "plain", "plain"] * 20
    (tmp_path / "d.csv").write_bytes(
        "".join(["x,kind,label\n", *(f"{n},{k},{k}\n" for n, k in enumerate(kinds))]).encode("latin-1")
    )
    table = open_table(tmp_path / "d.csv", ColumnChoice(whole=True))
    assert table.columns["label"].tolist()[:2] == ["na\\xefve", "plain"]
    assert table.used == ("kind",)  # x numbers the rows
    words = pa.array([kind.encode() for kind in kinds], type=pa.binary())
    pq.write_table(pa.table({"x": np.sin(np.arange(60)), "label": words}), tmp_path / "d.parquet")
    assert open_table(tmp_path / "d.parquet").columns["label"].tolist() == kinds


def test_blanks_around_names_of_columns_are_no_part_of_them(tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x, label \n" + "".join(f"{n}.5, {'01' if n % 2 else '1'}\n" for n in range(12)))
    assert open_table(path).labels().tolist() == ["1", "01"] * 6
    path.write_text("x, x,label\n" + "1,2,a\n3,4,b\n")
    assert open_table(path).feature_names == ("x", " x")


def test_blanks_around_a_number_are_no_other_spelling(tmp_path) -> None:
    (tmp_path / "d.csv").write_text("x,label\n" + "".join(f"{n}.5,{' ' * (n % 3)}{n % 2}\n" for n in range(12)))
    assert open_table(tmp_path / "d.csv").columns["label"].tolist() == [0, 1] * 6


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_other_encodings_are_named(tmp_path, encoding) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes("größe,label\n1.5,x\n2.5,y\n".encode(encoding))
    with pytest.raises(InputError, match=r"Expected text in UTF-8 in .*; save it as UTF-8"):
        open_table(path)


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["1", "01", "1.0"], ["1", "01", "1.0"]),  # as numbers they would be one class
        (["10000000000000000001", "10000000000000000002"], ["10000000000000000001", "10000000000000000002"]),
        (["1", "2", "10"], [1, 2, 10]),
        (["1.0", "2.0"], [1.0, 2.0]),
        (["0.50", "0.5"], [0.5, 0.5]),  # no classes, but weights or times
    ],
)
def test_one_number_spelt_in_several_ways_is_no_class(tmp_path, written, labels) -> None:
    for name, separator in (("d.csv", ","), ("d.tsv", "\t")):
        path = tmp_path / name
        path.write_text(
            f"x{separator}label\n" + "".join(f"{place}{separator}{cell}\n" for place, cell in enumerate(written))
        )
        assert open_table(path).labels().tolist() == labels
        assert open_table(path).feature_names == ("x",)


def test_an_empty_line_of_a_single_column_is_no_end_of_the_count(tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("label\na\n\nb\n")
    with pytest.raises(InputError, match="an empty line 3"):
        open_table(path, ColumnChoice(needed=False))
    path.write_text("label\na\nb\n\n\n")
    assert open_table(path, ColumnChoice(needed=False)).rows == 2
    path.write_text("x,label\n1,a\n\n2,b\n")  # no row of two columns can be an empty line
    assert open_table(path).rows == 2


@pytest.mark.parametrize("ending", [".txt", ".csv"])
def test_labels_in_a_file_of_their_own_have_a_label_in_every_line(tmp_path, ending) -> None:
    path = tmp_path / f"labels{ending}"
    path.write_text("a\nb\n\na\n")
    with pytest.raises(InputError, match=r"a label in every line of .*, but got an empty line 3"):
        read_label_file(path)
    path.write_text("a\r\nb\r\n\r\n\r\n")
    assert read_label_file(path).tolist() == ["a", "b"]
    path.write_text("a\nNA\nb\nnan\n")
    assert read_label_file(path).tolist() == ["a", None, "b", None]
    path.write_text("1\n01\n1.0\n")
    assert read_label_file(path).tolist() == ["1", "01", "1.0"]


def test_missing_labels_of_a_file_are_refused_as_those_of_a_table(tmp_path) -> None:
    random = np.random.default_rng(0)
    np.save(tmp_path / "x.npy", random.normal(size=(40, 2)))
    lines = ["a", "b"] * 20
    lines[7] = "NA"
    (tmp_path / "labels.txt").write_text("\n".join(lines))
    (tmp_path / "table.csv").write_text(
        "u,label\n" + "".join(f"{place}.5,{line}\n" for place, line in enumerate(lines))
    )
    for data, labels in (("x.npy", tmp_path / "labels.txt"), ("table.csv", "label")):
        with pytest.raises(InputError, match="missing values in 1 of 40, the first in row 7"):
            lopsided.audit(tmp_path / data, labels=labels)
    groups = lopsided.audit(
        tmp_path / "x.npy", labels=np.arange(40) % 2, groups=str(tmp_path / "labels.txt"), checks=["counts"]
    )
    assert next(iter(groups.measures["counts"]["groups"].values())) == {"a": 20, "b": 19, "(missing)": 1}


def _parquet(path, start: int) -> None:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": np.arange(start, start + 50) + 0.5, "label": np.arange(50) % 2}), path)


def test_what_a_folder_of_parquet_files_holds_besides_is_said(tmp_path) -> None:
    folder, outside = tmp_path / "data", tmp_path / "outside"
    _parquet(folder / "a.parquet", 0)
    _parquet(outside / "b.parquet", 50)
    (folder / "part=1").mkdir()
    _parquet(folder / "part=1" / "c.parquet", 100)
    (folder / "table.csv").write_text("x,label\n1,0\n")
    (folder / "_SUCCESS").write_text("")
    assert _noted(folder) == ("1 entry of data: not read because they do not end in .parquet or .pq (table.csv).",)
    (folder / "b.parquet").symlink_to(outside / "b.parquet")
    (folder / "part=2").symlink_to(folder)  # never ends
    (folder / "part=3").symlink_to(folder / "part=1")  # counts rows twice
    (folder / "z.parquet").symlink_to("a.parquet")
    told = _noted(folder)
    assert told[1:] == (
        "3 entries of data: not read because they are links to what is read anyway (z.parquet, part=2, part=3).",
        "1 entry of data: links that lead out of the folder, and were followed (b.parquet).",
    )


def _noted(folder) -> tuple[str, ...]:
    found = lopsided.audit(folder, labels="label", checks=["counts"])
    assert found.rows == (100 if not (folder / "b.parquet").exists() else 150)
    return tuple(note.replace(str(folder), "data") for note in found.evidence.notes if "entr" in note)


def test_links_to_a_hidden_store_of_versions_are_read(tmp_path) -> None:
    """git-annex and DVC keep the files in a hidden folder beside the links to them."""
    folder = tmp_path / "data"
    (folder / ".store").mkdir(parents=True)
    for place in range(3):
        pq.write_table(pa.table({"x": [1.0, 2.0], "label": ["a", "b"]}), folder / ".store" / f"hash{place}")
        (folder / f"{place}.parquet").symlink_to(folder / ".store" / f"hash{place}")
    table = open_table(folder)
    assert (table.rows, table.notes) == (6, ())
    (folder / "3.parquet").symlink_to("2.parquet")  # the same once more
    assert open_table(folder).rows == 6
