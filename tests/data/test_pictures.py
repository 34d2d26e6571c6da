"""The grid of pictures: laid out where it says, and a PNG that an imaging package reads back."""

import base64
import io

import numpy as np
import pytest

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Panel, Pictures
from lopsided.report.mosaic import data_address, mosaic
from lopsided.report.page import figures_page
from lopsided.report.plotly import figure_json
from lopsided.report.png import figure_png


def grid() -> Pictures:
    grey = np.arange(12).reshape(3, 4) * 20
    colour = np.stack([grey, grey * 0, 255 - grey], axis=2)
    return Pictures([[grey.tolist(), None], [None, colour.tolist()]], ["high", "low <b>"], ["1", "2"], "digits")


def test_layout_and_png() -> None:
    from PIL import Image

    laid = mosaic(grid())
    assert laid.pixels.shape == (8, 10, 3)
    np.testing.assert_array_equal(laid.pixels[:3, :4, 1], np.arange(12).reshape(3, 4) * 20)
    assert laid.pixels[6, 7].tolist() == [100, 0, 155]
    assert (laid.pixels[:3, 6:] == 255).all()  # an empty place is white
    assert laid.row_centres == [1.0, 6.0]
    content = base64.b64decode(data_address(laid).partition(",")[2])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), laid.pixels)


def test_drawn_everywhere() -> None:
    figure = Figure("Grid", [Panel("Pictures", "rank", "", [grid()])])
    assert figure_png(figure)[:8] == b"\x89PNG\r\n\x1a\n"
    (panel,) = figure_json(figure)
    assert panel["data"][0]["type"] == "image"
    assert panel["layout"]["yaxis"]["ticktext"] == ["high", "low &lt;b&gt;"]  # plotly.js obeys tags
    page = figures_page("Grid", [figure])
    assert "low <b>" not in page


def test_pictures_must_fit() -> None:
    with pytest.raises(InputError, match="one size"):
        mosaic(Pictures([[[[1, 2]], [[1]]]], ["a"], ["1", "2"], "x"))
    with pytest.raises(InputError, match="grey or RGB"):
        mosaic(Pictures([[[1, 2]]], ["a"], ["1"], "x"))
