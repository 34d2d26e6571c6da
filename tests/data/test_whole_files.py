"""One table in every kind of file is one table, and a damaged file is one sentence."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather
from scipy.sparse import csc_matrix, random_array, save_npz

from lopsided.checkup.inputs.gather import gather
from lopsided.core.errors import InputError, MissingPackage
from lopsided.data.tables import ColumnChoice, open_table

N = 40
FRAME = pd.DataFrame(
    {
        "x": np.linspace(0, 1, N).round(3),
        "kind": np.array(["p", "q"])[np.arange(N) % 2],
        "day": pd.date_range("2024-01-01", periods=N)[::-1].date,
        "gap": np.where(np.arange(N) % 4 == 0, np.nan, np.arange(N) % 5),
        "label": np.array(["a", "b"])[np.arange(N) % 3 // 2],
    }
)


def written(kind: str, folder: Path) -> Path:
    path = folder / f"data.{kind}"
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    elif kind == "tsv.gz":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False, sep="\t").encode()))
    elif kind == "feather":
        feather.write_feather(table, path)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    elif kind in ("jsonl", "ndjson"):
        FRAME.to_json(path, orient="records", lines=True, date_format="iso")
    elif kind == "xlsx":
        FRAME.to_excel(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv.gz", "tsv.gz", "feather", "arrow", "jsonl", "ndjson", "xlsx"])
def test_every_file_gives_the_frame(kind, tmp_path) -> None:
    found, expected = gather(written(kind, tmp_path)), gather(FRAME)
    assert found.columns == expected.columns
    assert found.columns.sentence() == "4 of 4 columns; label `label`."
    assert found.classes.names == ("a", "b")
    shared = [name for name in expected.table.feature_names if not name.startswith("day")]  # a time has an hour too
    for name in shared:
        ours, theirs = (one.table.features()[:, one.table.feature_names.index(name)] for one in (found, expected))
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", ["csv.gz", "feather", "arrow", "jsonl"])
@pytest.mark.parametrize("keep", [0.0, 0.51, 0.97])
def test_a_file_cut_short_is_one_sentence(kind, keep, tmp_path) -> None:
    path = written(kind, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(InputError) as caught:
        open_table(path, ColumnChoice(whole=True))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_excel_needs_a_reader(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("lopsided.data.whole_files.find_spec", lambda name: None)
    (tmp_path / "d.xlsx").write_bytes(b"PK")
    with pytest.raises(MissingPackage, match="openpyxl"):
        open_table(tmp_path / "d.xlsx")


def test_a_sparse_matrix_as_scipy_saves_it(tmp_path) -> None:
    matrix = random_array((60, 9), density=0.3, rng=np.random.default_rng(0), format="csc")
    save_npz(tmp_path / "s.npz", csc_matrix(matrix))
    found = gather(tmp_path / "s.npz", labels=np.arange(60) % 2)
    np.testing.assert_array_equal(found.table.features(), matrix.toarray())
    assert found.table.frame.format == "csr"
    assert found.columns.sentence() == "9 of 9 columns of `features`."
    (tmp_path / "cut.npz").write_bytes((tmp_path / "s.npz").read_bytes()[:-30])
    with pytest.raises(InputError):
        gather(tmp_path / "cut.npz", labels=np.arange(60) % 2)


def test_an_unknown_ending_lists_what_is_read(tmp_path) -> None:
    (tmp_path / "d.sas").write_bytes(b"")
    with pytest.raises(InputError, match=r"\.feather.*\.jsonl.*\.xlsx"):
        open_table(tmp_path / "d.sas")


@pytest.mark.parametrize("text", ['{"a":' * 100_000, '{"b": "\\"]]]", "a":\n' * 100_000, '{"a": ' + "[" * 100_000])
def test_lines_nested_without_end_do_not_end_the_process(tmp_path, text) -> None:
    (tmp_path / "deep.jsonl").write_text('{"x": 1, "label": 2}\n' + text)
    with pytest.raises(InputError, match="nested at most"):
        open_table(tmp_path / "deep.jsonl")


def test_brackets_in_strings_are_no_nesting(tmp_path) -> None:
    (tmp_path / "d.jsonl").write_text('{"x": 1, "word": "' + "[" * 1000 + '"}\n' + '{"x": 2}\n')
    assert open_table(tmp_path / "d.jsonl").rows == 2
