"""The collapse room in a real browser, as a person uses it."""

import csv
import io
import json

import numpy as np
import pytest

from tests.web.browsing import open_room, said, settle, until, verdict

pytestmark = pytest.mark.usefixtures("forgive_refusals")


def drag(page, bar, share):
    """Take a bar by its column and let it go at this share of the height of the histogram."""
    box = page.locator(f".histogram g[data-class='{bar}'] .hit").bounding_box()
    x = box["x"] + box["width"] / 2
    page.mouse.move(x, box["y"] + box["height"] * 0.9)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(x, box["y"] + box["height"] * (0.9 + (share - 0.9) * step / 5))
    page.mouse.up()


def test_dragging_a_bar_moves_the_forecast_and_the_address_brings_it_back(page, laboratory) -> None:
    open_room(page, laboratory, "collapse?counts=5000*2,5*3&feature_energy=5&weight_energy=1")
    page.wait_for_selector(".verdict.bad")
    assert "3 of 5 classes collapse" in verdict(page)
    for bar in (2, 3, 4):
        drag(page, bar, 0.02)
    page.wait_for_selector(".verdict.good")
    counts = page.locator("textarea").input_value()
    until(page, f"new URLSearchParams(location.hash.split('?')[1]).get('counts') === '{counts}'")
    settle(page)
    assert verdict(page) == said(counts)
    page.reload()
    page.wait_for_selector(".verdict.good")
    assert page.locator("textarea").input_value() == counts
    assert verdict(page) == said(counts)


def test_bars_and_sliders_answer_to_the_keyboard(page, laboratory) -> None:
    open_room(page, laboratory, "collapse?counts=100,100,10,10")
    page.wait_for_selector(".verdict:not(:empty)")
    page.locator(".histogram g[data-class='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "PageUp", "ArrowUp", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.locator("textarea").input_value() == "100*2,14,10"
    energy = page.locator("label:has-text('Feature energy') + .slider-row")
    before = float(energy.locator("input[type=number]").input_value())
    energy.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    assert float(energy.locator("input[type=number]").input_value()) > before


def test_cure_paste_and_bad_counts(page, laboratory) -> None:
    open_room(page, laboratory, "collapse")
    page.locator("textarea").fill("5000\n5000\n50\t50")
    page.wait_for_selector(".remedy:has-text('oversample 2 classes')")
    assert page.locator(".histogram .ghost[visibility=visible]").count() == 2
    page.locator("textarea").fill("5000, many")
    page.wait_for_selector(".status .error:has-text('Expected counts')")
    page.locator("textarea").fill("500*4")
    page.wait_for_selector(".remedy:has-text('No oversampling is needed')")
    assert page.locator(".histogram .ghost[visibility=visible]").count() == 0


def test_slow_forecast_shows_that_it_works_and_can_be_cancelled(page, laboratory) -> None:
    open_room(page, laboratory, "collapse?counts=9,8")
    page.wait_for_selector(".verdict:not(:empty)")
    page.locator("textarea").fill(",".join(str(1000 - k) for k in range(400)))
    page.wait_for_selector(".status .spinner:not([hidden])")
    page.locator(".status:not(.remedy) button").click()
    page.wait_for_selector(".status:has-text('cancelled')")
    page.locator("textarea").fill("90,80")
    settle(page)
    assert verdict(page) == said("90,80")


def test_slow_cure_shows_that_it_works_and_can_be_cancelled(page, laboratory) -> None:
    page.route("**/api/collapse/cure", lambda route: None)  # an answer that never comes
    open_room(page, laboratory, "collapse?counts=5000*3,50*2")
    page.wait_for_selector(".remedy .spinner:not([hidden])")
    page.locator(".remedy").get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".remedy:has-text('cancelled')")
    assert not page.locator(".remedy .spinner").is_visible()
    assert verdict(page) == said("5000*3,50*2")


def test_drafts_are_named_while_a_bar_moves_and_the_full_forecast_follows(page, laboratory) -> None:
    counts = ",".join(str(500 - 9 * k) for k in range(40))
    open_room(page, laboratory, f"collapse?counts={counts}")
    settle(page)
    asked = []
    page.on("request", lambda request: asked.append(request.post_data_json) if "forecast" in request.url else None)
    with page.expect_response(lambda answer: answer.url.endswith("forecast")) as first:
        page.locator(".histogram g[data-class='3']").focus()
        page.keyboard.press("PageUp")
    assert first.value.json()["draft"]
    settle(page)
    until(page, "!document.querySelector('.status:not(.remedy)').textContent.includes('draft')")
    assert asked[0]["draft"]
    assert not asked[-1].get("draft")


def test_plots_download_as_png_and_as_data(page, laboratory) -> None:
    open_room(page, laboratory, "collapse?counts=5000*3,50*2")
    angles = page.locator("figure:has(h2:has-text('Angles between classifiers'))")
    with page.expect_download() as download:
        angles.get_by_role("button", name="PNG").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as download:
        angles.get_by_role("button", name="CSV").click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text())))[1:]
    found = {(row[1], row[2]): float(row[3]) for row in rows}
    assert len(found) == 25
    assert found["3", "4"] == pytest.approx(0, abs=1e-4)  # a collapsed pair; arccos near 1 keeps half the digits
    assert found["0", "1"] > 90
    for name in ("PNG", "CSV"):
        with page.expect_download() as download:
            page.locator("figure:has(.histogram)").get_by_role("button", name=name).click()
        assert download.value.path().stat().st_size > 40
    with page.expect_download() as download:
        page.locator("figure:has(canvas.vectors)").get_by_role("button", name="JSON").click()
    shadow = np.array(json.loads(download.value.path().read_text())["shadow"])
    np.testing.assert_allclose(shadow[3], shadow[4], atol=1e-9)  # collapsed classes are one vector, to rounding
