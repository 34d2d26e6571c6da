"""Folders of pictures as people have them: deep greys, stray files, many formats."""

import numpy as np
import pytest
from PIL import Image

from lopsided.checkup.gather import gather
from lopsided.core.errors import InputError
from lopsided.data.image_folders import load_image_folder
from lopsided.data.picture_files import read_picture


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
