"""Ticks of logarithmic axes: few, inside, round, never none over a decade; both renderers use them."""

import gzip
import hashlib
import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopsided.core.figure import Figure, Line, Panel
from lopsided.report.plotly import figure_json
from lopsided.report.png import figure_png
from lopsided.report.style import log_ticks, tick_words


@given(st.floats(-290, 215), st.floats(0.31, 90))
def test_few_ticks_inside_and_two_at_least(power: float, decades: float) -> None:
    low, high = 10.0**power, 10.0 ** (power + decades)
    ticks = log_ticks(low, high)
    assert 1 <= len(ticks) <= 7  # six and, where powers are counted in steps, both ends
    if decades >= 1:
        assert len(ticks) >= 2
    assert ticks == sorted(set(ticks))
    assert all(low * (1 - 1e-8) <= tick <= high * (1 + 1e-8) for tick in ticks)
    assert all(f"{tick:.1e}"[:3] in {"1.0", "1.5", "2.0", "3.0", "4.0", "5.0", "6.0", "8.0"} for tick in ticks)


@pytest.mark.parametrize(
    ("value", "words"),
    [(2000.0, "2,000"), (0.002, "0.002"), (1.5, "1.5"), (1e6, "$10^{6}$"), (3e-7, "$3\\times10^{-7}$"), (1.0, "1")],
)
def test_words_of_ticks(value: float, words: str) -> None:
    assert tick_words(value) == words


@pytest.mark.parametrize("values", [(2000.0, 18000.0), (5.0, 5.5), (1e-9, 1e9), (3.0, 3.0)])
def test_both_renderers_draw_any_span(values: tuple[float, float]) -> None:
    panel = Panel("title", "x", "y", [Line(values, values, "a")], x_log=True, y_log=True)
    assert figure_png(Figure("f", [panel]))[:4] == b"\x89PNG"
    axis = figure_json(Figure("f", [panel]))[0]["layout"]["xaxis"]
    assert axis["type"] == "log"
    assert ("tickvals" in axis) == (values[1] / values[0] > 1.2 or values == (5.0, 5.5))


def test_pages_draw_whatever_the_doubles_hold() -> None:
    values = (5e-324, 1.7e308)
    panel = Panel("title", "x", "y", [Line(values, values, "a")], x_log=True, y_log=True)
    ticks = figure_json(Figure("f", [panel]))[0]["layout"]["yaxis"]["tickvals"]
    assert all(0 < tick < float("inf") for tick in ticks)
    assert len(ticks) > 2


def test_the_bundled_library_is_the_one_of_its_origin() -> None:
    assets = files("lopsided.report").joinpath("assets")
    library = gzip.decompress(assets.joinpath("plotly-cartesian.min.js.gz").read_bytes())
    origin = assets.joinpath("plotly-ORIGIN.txt").read_text()
    assert f"sha256 {hashlib.sha256(library).hexdigest()}" in origin
    assert f"version {re.search(rb'v([0-9.]+)', library)[1].decode()} " in origin
