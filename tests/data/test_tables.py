"""Every file format gives the same examples back; whatever is wrong with a file ends in one sentence."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lopsided.core.errors import InputError
from lopsided.data.arrow_tables import open_parquet
from lopsided.data.images import has_images, load_images, read_idx
from lopsided.data.npz_tables import npz_shapes, open_npy, read_npz_array
from lopsided.data.tables import ColumnChoice, array_table, open_table

X = np.arange(35, dtype=np.float32).reshape(7, 5) / 8
Y = np.array(["a", "b", "a", "c", "b", "a", "c"])


def written(tmp_path, form):
    path = tmp_path / f"data.{form.split()[-1]}"
    names = [f"f{i}" for i in range(5)]
    if form == "npz":
        np.savez(path, x=X, y=Y)
    elif form == "compressed npz":
        np.savez_compressed(path, X=X, labels=Y)
    elif form == "fortran npz":
        np.savez(path, features=np.asfortranarray(X), y=Y)
    elif form == "parquet":
        pq.write_table(pa.table({**dict(zip(names, X.T, strict=True)), "label": Y}), path, row_group_size=3)
    elif form == "list parquet":
        pq.write_table(pa.table({"embedding": list(X), "label": Y, "weight": np.ones(7)}), path, row_group_size=3)
    elif form == "fixed list parquet":
        lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 5)
        pq.write_table(pa.table({"features": lists, "label": Y}), path)
    elif form in ("csv", "tsv"):
        mark = "," if form == "csv" else "\t"
        lines = [mark.join([*names, "label"])] + [mark.join([*map(str, x), y]) for x, y in zip(X, Y, strict=True)]
        path.write_text("\n".join(lines) + "\n")
    return path


FORMS = ["npz", "compressed npz", "fortran npz", "parquet", "list parquet", "fixed list parquet", "csv", "tsv"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [None, 1, 3, 7, 100])
def test_every_format_gives_the_same_examples(tmp_path, form, size) -> None:
    table = open_table(written(tmp_path, form))
    assert (table.rows, table.width) == (7, 5)
    for _ in range(2):  # blocks can be read again
        blocks = list(table.blocks(size))
        assert max(len(block) for block in blocks) <= (size or 7)
        np.testing.assert_array_equal(np.concatenate(blocks).astype(np.float32), X)
    np.testing.assert_array_equal(table.features().astype(np.float32), X)
    assert table.labels().tolist() == Y.tolist()


@pytest.mark.parametrize("groups", [1, 8])
def test_parquet_is_read_in_bounded_memory(tmp_path, groups) -> None:
    rows, path = 200_000, tmp_path / "large.parquet"
    columns = {**dict.fromkeys("abcdefgh", np.zeros(rows)), "label": np.arange(rows) % 3}
    small_pages = {"use_dictionary": False, "compression": None, "data_page_size": 1 << 16}
    pq.write_table(pa.table(columns), path, row_group_size=rows // groups, **small_pages)
    table, most = open_table(path), 0
    before = pa.total_allocated_bytes()
    for block in table.blocks(10_000):
        most = max(most, pa.total_allocated_bytes() - before)
        del block
    # a batch of 0.6 MB and the pages at hand; read ahead, all of the 14 MB are held
    assert most < path.stat().st_size / 4


def test_npy_is_memory_mapped(tmp_path) -> None:
    np.save(tmp_path / "x.npy", X)
    table = open_table(tmp_path / "x.npy")
    np.testing.assert_array_equal(table.features(), X)
    with pytest.raises(InputError, match="say which column or file"):
        table.labels()


def test_pictures_keep_their_shape(tmp_path) -> None:
    np.savez(tmp_path / "p.npz", images=np.zeros((4, 3, 2), dtype=np.uint8), y=np.arange(4))
    table = open_table(tmp_path / "p.npz")
    assert table.image_shape == (3, 2)
    assert table.width == 6
    assert array_table(np.zeros((4, 3, 2, 3)), {}).image_shape == (3, 2, 3)
    assert array_table(np.zeros((4, 3)), {}).image_shape is None


def test_columns_beside_the_features(tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("age,income,sex,label,group\n1,2.5,f,1,7\n3,4,m,0,8\n")
    table = open_table(path)
    assert table.feature_names == ("age", "income")
    assert table.column("sex").tolist() == ["f", "m"]
    assert table.column("group").tolist() == [7, 8]
    assert open_table(path, ColumnChoice(beside=["income"])).feature_names == ("age",)
    assert open_table(path, ColumnChoice(features=["income"])).features().ravel().tolist() == [2.5, 4.0]
    with pytest.raises(InputError, match="columns: sex, label, group"):
        table.column("nothing")


def test_names_in_npz(tmp_path) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, first=X, second=X + 1, y=Y, weights=np.ones((2, 3)))
    assert npz_shapes(path)["second"] == (7, 5)
    with pytest.raises(InputError, match="say which it is"):
        open_table(path)
    np.testing.assert_array_equal(open_table(path, ColumnChoice(features="second")).features(), X + 1)
    np.testing.assert_array_equal(read_npz_array(path, "weights"), np.ones((2, 3)))
    with pytest.raises(InputError, match="'third'"):
        open_table(path, ColumnChoice(features="third"))


def damage(path, kind):
    content = path.read_bytes()
    path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "noise": b"\x93nonsense" * 50}[kind])


@pytest.mark.parametrize("form", ["npz", "compressed npz", "parquet"])
@pytest.mark.parametrize("kind", ["cut", "empty", "noise"])
def test_damaged_files_are_one_sentence(tmp_path, form, kind) -> None:
    path = written(tmp_path, form)
    damage(path, kind)
    with pytest.raises(InputError) as caught:
        open_table(path).features()
    assert "\n" not in str(caught.value)


def test_damaged_inside(tmp_path) -> None:
    """The directory of the archive is whole, the bytes of a member are not."""
    path = tmp_path / "d.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=(300, 50)), y=np.arange(300))
    content = bytearray(path.read_bytes())
    content[2000:2400] = bytes(400)
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match="damaged"):
        open_table(path).features()
    np.save(tmp_path / "x.npy", X)
    for kind in ("cut", "empty", "noise"):
        damage(tmp_path / "x.npy", kind)
        with pytest.raises(InputError):
            open_table(tmp_path / "x.npy")


def test_pickles_are_never_loaded(tmp_path) -> None:
    objects = np.array([{"a": 1}, None], dtype=object)
    np.savez(tmp_path / "o.npz", x=np.ones((2, 2)), y=objects)
    np.save(tmp_path / "o.npy", objects, allow_pickle=True)
    with pytest.raises(InputError, match="pickled"):
        open_table(tmp_path / "o.npz")
    with pytest.raises(InputError, match="pickled"):
        open_table(tmp_path / "o.npy")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "", "csv"),
        ("a.csv", "x,label\n", "at least one example"),
        ("a.csv", "x,label\n1,a\n2\n", "csv"),
        ("a.csv", "name,label\nu,a\nv,b\n", "columns of numbers"),
        ("a.csv", b"\xff\xfe\x00,\x80\n", "csv"),
        ("a.json", "{}", "ends in"),
        ("a.npz", "text", "damaged"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, words) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=words) as caught:
        open_table(path).features()
    assert "\n" not in str(caught.value)


def test_missing_values_and_ragged_lists(tmp_path) -> None:
    (tmp_path / "m.csv").write_text("x,z,label\n1,2,a\n,3,b\n")
    assert np.isnan(open_table(tmp_path / "m.csv").features()).tolist() == [[False, False], [True, False]]
    pq.write_table(pa.table({"features": [[1.0, 2.0], [3.0]], "label": ["a", "b"]}), tmp_path / "r.parquet")
    with pytest.raises(InputError, match="ragged"):
        open_table(tmp_path / "r.parquet").features()
    with pytest.raises(InputError, match="which does not exist"):
        open_table(tmp_path / "nowhere.csv")


def test_class_folders(tmp_path) -> None:
    from PIL import Image

    for name, value in (("cats", 10), ("dogs", 200)):
        (tmp_path / name).mkdir()
        for i in range(2):
            Image.fromarray(np.full((4, 6), value + i, dtype=np.uint8)).save(tmp_path / name / f"{i}.png")
    table = open_table(tmp_path)
    assert table.labels().tolist() == ["cats", "cats", "dogs", "dogs"]
    assert table.image_shape == (4, 6)
    assert table.features()[:, 0].tolist() == [10, 11, 200, 201]
    Image.fromarray(np.zeros((5, 6), dtype=np.uint8)).save(tmp_path / "dogs" / "9.png")
    with pytest.raises(InputError, match="resize"):
        open_table(tmp_path)
    (tmp_path / "dogs" / "9.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match="damaged"):
        open_table(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="neither"):
        open_table(tmp_path / "empty")


def test_idx_files(tmp_path, monkeypatch) -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    packed = b"\x00\x00\x08\x03" + np.array([2, 3, 4], dtype=">u4").tobytes() + pixels.tobytes()
    labels = b"\x00\x00\x08\x01" + np.array([2], dtype=">u4").tobytes() + bytes([3, 5])
    place = tmp_path / "mnist"
    place.mkdir()
    (place / "train-images-idx3-ubyte").write_bytes(packed)
    (place / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    found = load_images("mnist", folder=tmp_path)
    np.testing.assert_array_equal(found.pixels, pixels)
    assert found.labels.tolist() == [3, 5]
    np.testing.assert_allclose(found.rows()[1], np.arange(12, 24) / 255)
    assert open_table(place).labels().tolist() == [3, 5]
    with pytest.raises(InputError, match="t10k"):
        load_images("mnist", split="test", folder=tmp_path)
    (place / "train-images-idx3-ubyte").write_bytes(packed[:-1])
    with pytest.raises(InputError, match="24 bytes"):
        read_idx(place / "train-images-idx3-ubyte")
    (place / "train-images-idx3-ubyte").write_bytes(b"GIF89a")
    with pytest.raises(InputError, match="idx file"):
        read_idx(place / "train-images-idx3-ubyte")
    (place / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels)[:-9])
    with pytest.raises(InputError, match="damaged"):
        read_idx(place / "train-labels-idx1-ubyte")
    monkeypatch.delenv("LOPSIDED_DATA", raising=False)
    with pytest.raises(InputError, match="LOPSIDED_DATA") as caught:
        load_images("mnist")
    assert "\n" not in str(caught.value)
    assert not has_images("mnist")
    with pytest.raises(InputError, match="mnist, fashion-mnist, cifar-10"):
        load_images("imagenet")


def test_digits_need_no_files() -> None:
    train, test = load_images("digits"), load_images("digits", split="test")
    assert (train.size + test.size, train.pixels.shape[1:]) == (1797, (8, 8))
    assert train.rows().max() == 1.0
    few = train.first(3)
    assert np.bincount(few.labels).tolist() == [3] * 10


def test_real_sets(data_folder) -> None:
    for name in ("mnist", "fashion-mnist"):
        found = load_images(name, split="test", folder=data_folder)
        assert found.pixels.shape == (10_000, 28, 28)
        assert np.bincount(found.labels).min() >= 892  # the rarest MNIST test digit, 5


@pytest.mark.filterwarnings("error")
def test_an_npy_header_that_claims_the_impossible_is_refused(tmp_path) -> None:
    path = tmp_path / "claims.npy"
    lie = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999), }"
    path.write_bytes(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + lie.ljust(117) + b"\n" + bytes(96))
    with pytest.raises(InputError, match="npy"):
        open_npy(path)


def test_a_parquet_file_with_one_name_twice_is_refused(tmp_path) -> None:
    path = tmp_path / "twice.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1.0, 2.0]), pa.array([3, 4])], names=["x", "x"]), path)
    with pytest.raises(InputError, match="'x' more than once"):
        open_table(path)


def test_a_parquet_file_whose_parts_claim_other_rows_is_refused_before_it_is_read() -> None:
    """Found by fuzzing: a part of 54,880,302,718 rows in a file of 767 bytes, for which Arrow cleared memory."""
    path = Path(__file__).parents[1] / "faults/seeds/parquet/found-244c7b00d3e2"
    with pytest.raises(InputError, match="54,880,302,718 in another"):
        open_parquet(path, ColumnChoice())


def test_an_idx_file_without_entries_and_with_impossible_axes_is_refused(tmp_path) -> None:
    path = tmp_path / "axes"
    path.write_bytes(b"\0\0\x08\x11" + bytes(4) + b"\xd5" * 64)  # seventeen axes, the first of length 0
    with pytest.raises(InputError, match="axes that an array can have"):
        read_idx(path)


def test_arrow_reads_csv_from_a_stream_of_its_own(tmp_path, monkeypatch) -> None:
    """A stream of Python's is let go by a thread of Arrow's after the table is there; a command that ends then was
    aborted (about one in fifteen refusals on two busy cores)."""
    import os

    import pyarrow
    from pyarrow import csv

    given, read = [], csv.read_csv

    def noted(stream, **options):
        given.append(type(stream))
        return read(stream, **options)

    monkeypatch.setattr(csv, "read_csv", noted)
    text = b"a,label\n" + b"1.5,yes\n2.5,no\n" * 20
    for name in (b"plain.csv", b"not-utf-8-\xff.csv"):
        path = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))
        with open(path, "wb") as stream:
            stream.write(text)
        assert open_table(path).rows == 40
    assert given == [pyarrow.OSFile, pyarrow.OSFile]


@pytest.mark.parametrize("cell", ['"a', '"a"b', 'a\n1,"a\n1,b'])
def test_a_stray_quote_drops_no_rows(tmp_path, cell) -> None:
    lines = [f"{place},a" for place in range(1000)]
    lines[500] = f"500,{cell}"
    path = tmp_path / "d.csv"
    path.write_text("x,label\n" + "\n".join(lines) + "\n")
    place = 503 if cell.startswith("a") else 502
    with pytest.raises(InputError, match=f"begins in line {place};"):
        open_table(path)


def test_a_csv_file_cut_inside_a_cell_is_refused(tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('x,label\n1,"a"\n2,"b')
    with pytest.raises(InputError, match="begins in line 3"):
        open_table(path)


def test_quoted_cells_hold_quotes_delimiters_and_lines(tmp_path) -> None:
    path, many = tmp_path / "d.csv", 30_000  # more than one of Arrow's blocks of a megabyte
    path.write_text("x,label\n" + "".join(f'{place},"a ""b"",\n{"c" * 40}"\n' for place in range(many)))
    table = open_table(path)
    assert table.rows == many
    assert set(table.labels()) == {'a "b",\n' + "c" * 40}
    path.write_text('x,label\n1,5" pipe\n2,6" pipe\n')  # inside a cell that is not quoted, a quote is a letter
    assert open_table(path).labels().tolist() == ['5" pipe', '6" pipe']


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_columns_may_be_separated_by_any_usual_letter(tmp_path, mark) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"a{mark}b{mark}label\n1{mark}2{mark}x\n3{mark}4{mark}y\n")
    table = open_table(path)
    assert table.features().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert table.labels().tolist() == ["x", "y"]
