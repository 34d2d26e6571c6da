"""Folders of pictures as people have them: deep greys, stray files, many formats."""

import numpy as np
import pytest
from PIL import Image

from lopsided.checkup.inputs.gather import gather
from lopsided.core.errors import InputError
from lopsided.data.image_folders import load_image_folder, read_picture


@pytest.fixture
def folder(tmp_path):
    """Two classes of three small grey pictures each."""
    for place, name in enumerate(("ant", "bee")):
        (tmp_path / name).mkdir()
        for number in range(3):
            grey = np.full((4, 5), 20 * number + 100 * place, dtype=np.uint8)
            Image.fromarray(grey).save(tmp_path / name / f"{number}.png")
    return tmp_path


@pytest.mark.parametrize(
    ("ending", "kind"), [("png", np.uint16), ("tif", np.uint16), ("tif", np.int32), ("pgm", np.int32)]
)
def test_sixteen_bits_of_grey_are_scaled_and_not_cut(tmp_path, ending, kind) -> None:
    deep = np.linspace(0, 65535, 20).astype(kind).reshape(4, 5)
    Image.fromarray(deep).save(tmp_path / f"deep.{ending}")
    # float32 keeps 24 bits of values up to 255
    np.testing.assert_allclose(read_picture(tmp_path / f"deep.{ending}"), deep / 257, rtol=1e-6)
    half = read_picture(tmp_path / f"deep.{ending}", (2, 5))
    np.testing.assert_allclose(half, deep.reshape(2, 2, 5).mean(axis=1) / 257, rtol=1e-6)  # a box is a mean


def test_depths_side_by_side_are_on_one_scale(folder) -> None:
    grey = np.array([[0, 257 * 200]], dtype=np.uint16).repeat([2, 3], axis=1).repeat(4, axis=0)
    Image.fromarray(grey).save(folder / "ant" / "9.png")
    assert gather(folder).table.features()[3].max() == 200
    assert load_image_folder(folder).pixels[3].max() == 200


def test_greys_of_unknown_scale_are_refused(tmp_path) -> None:
    Image.fromarray(np.full((2, 2), 0.5, dtype=np.float32)).save(tmp_path / "share.tif")
    assert read_picture(tmp_path / "share.tif").max() == 127.5
    Image.fromarray(np.full((2, 2), -3.0, dtype=np.float32)).save(tmp_path / "height.tif")
    with pytest.raises(InputError, match="convert it to 8 or 16 bits"):
        read_picture(tmp_path / "height.tif")


def test_hidden_files_and_folders_are_ignored(folder) -> None:
    for hidden in (".ipynb_checkpoints", "__MACOSX", "ant/.thumbs"):
        (folder / hidden).mkdir()
        (folder / hidden / "1.png").write_bytes(b"no picture")
    (folder / "ant" / "._1.png").write_bytes(b"no picture")
    (folder / ".DS_Store").write_bytes(b"")
    found = gather(folder)
    assert found.classes.names == ("ant", "bee")
    assert found.rows == 6
    assert found.notes == ()
    assert load_image_folder(folder).class_names == ("ant", "bee")


def test_hidden_folders_do_not_hide_the_split(folder) -> None:
    for split in ("train", "test"):
        (folder / split).mkdir()
        for name in ("ant", "bee"):
            (folder / split / name).mkdir()
            Image.fromarray(np.zeros((4, 5), dtype=np.uint8)).save(folder / split / name / "0.png")
    for name in ("ant", "bee"):
        (folder / name).rename(folder / f".{name}")
    assert gather(folder).is_test.tolist() == [True, True, False, False]


@pytest.mark.parametrize("ending", ["webp", "tif", "tiff", "bmp", "gif", "PNG"])
def test_formats_that_pillow_reads(folder, ending) -> None:
    Image.fromarray(np.full((4, 5, 3), 99, dtype=np.uint8)).save(folder / "ant" / f"x.{ending}")
    found = gather(folder)
    assert found.rows == 7
    assert abs(float(found.table.features()[3].mean()) - 99) < 2  # webp is lossy by default
    assert found.notes == ()


def test_what_is_left_out_is_counted(folder) -> None:
    (folder / "ant" / "more").mkdir()
    (folder / "ant" / "notes.txt").write_text("x")
    (folder / "bee" / "raw.heic").write_text("x")
    (folder / "labels.csv").write_text("x")
    (note,) = gather(folder).notes
    assert "2 files that are not pictures; 1 folder within folders of classes; 1 file next to" in note
