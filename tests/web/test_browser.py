"""Every room in a real browser, as a person uses it."""

import csv
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import lopsided
from lopsided.cli.serve import _open
from tests.web.conftest import PATIENCE, start_server, stop_server


def open_room(page, laboratory, room):
    page.goto(f"{laboratory}/#/{room}")


def verdict(page):
    return page.locator(".verdict:not(:empty)").inner_text()


def until(page, expression):
    """Ask the page until it says yes; the page's policy forbids Playwright's own way, which evaluates text."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    pytest.fail(f"never true: {expression}")


def settle(page):
    """Wait until the forecast that belongs to what is shown has come."""
    page.wait_for_timeout(200)
    page.wait_for_selector(".status:has-text('answered'):not(:has(.spinner:not([hidden])))")


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


def said(counts):
    from lopsided.report.collapse import verdict

    return verdict(lopsided.collapse(counts, feature_energy=5, weight_energy=1))


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


def test_groups_forecast_simulation_and_address(page, laboratory) -> None:
    open_room(page, laboratory, "groups?n=2000")
    page.wait_for_selector("text=Average excess risk")
    page.wait_for_selector("text=Such forecasts were right in")
    page.locator(".field:has-text('Groups') select").first.select_option("3")
    page.wait_for_selector("td:has-text('group 2')")
    slider = page.locator("details.group:has-text('Group 1') .field:has-text('Mean x') input[type=number]")
    slider.fill("3.5")
    until(page, "location.hash.includes('3.5')")
    page.get_by_role("button", name="Simulate and overlay").click()
    page.wait_for_selector(".job-line:has-text('done in')")
    traces = page.evaluate("[...document.querySelectorAll('.js-plotly-plot')].map(p => p.data.map(t => t.name)).flat()")
    assert "group 2, simulated" in traces
    page.reload()
    page.wait_for_selector("td:has-text('group 2')")
    assert slider.input_value() == "3.5"


def test_memorisation_borders_training_and_scores(page, laboratory) -> None:
    open_room(page, laboratory, "memorisation?feature=3&ratio=8")
    measure = page.get_by_role("button", name="Measure the borders")
    page.wait_for_selector("text=signal term")
    if measure.is_visible():  # another test of this session may have measured them
        measure.click()
    page.wait_for_selector("td:has-text('benign by features')")
    page.get_by_role("button", name="Train a network here").click()
    page.wait_for_selector("th:has-text('Bayes rule')")
    page.get_by_role("button", name="Score the examples").click()
    page.wait_for_selector(".scores td:has-text('9')")
    assert page.locator(".scores .js-plotly-plot").count() == 2


def test_bad_and_good_uploads(page, laboratory, tmp_path) -> None:
    bad, other, good = tmp_path / "bad.npz", tmp_path / "notes.txt", tmp_path / "good.npz"
    bad.write_bytes(b"PK\x03\x04 this is no archive")
    other.write_text("hello")
    random = np.random.default_rng(0)
    np.savez(good, images=random.integers(0, 255, (60, 6, 6)), labels=np.arange(60) % 3)
    open_room(page, laboratory, "memorisation?example=no")
    chooser = page.locator(".scores input[type=file]")
    chooser.set_input_files(bad)
    page.wait_for_selector(".scores .error:has-text('bad.npz')")
    page.wait_for_selector(".scores :text('cannot be used')")
    with page.expect_response(lambda answer: answer.url.endswith("/api/uploads")) as answer:
        chooser.set_input_files(other)
    assert answer.value.status == 422
    page.wait_for_selector(".scores .error:has-text('notes.txt')")
    chooser.set_input_files(good)
    page.wait_for_selector(".scores :text('60 examples, 36 features, pictures of 6 × 6')")
    page.get_by_role("button", name="Score the examples").click()
    page.wait_for_selector(".scores pre:has-text('good.npz')", state="attached")
    page.wait_for_selector(".scores .js-plotly-plot")


@pytest.fixture(autouse=True)
def _forgive_refusals(new_page):
    """A refused request is written to the console by the browser itself; the page shows it as a sentence."""
    yield
    new_page.complaints[:] = [
        text for text in new_page.complaints if "the server responded with a status of 422" not in text
    ]


def test_width_runs_live_pauses_and_cancels(page, laboratory) -> None:
    open_room(page, laboratory, "width?width=4000&dimension=1000&steps=2000")
    page.get_by_role("button", name="Run").click()
    steps = "document.querySelector('.room-width .js-plotly-plot').data[0].x.length"
    until(page, f"{steps} > 3")
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector(".job-line:has-text('paused')")
    page.wait_for_timeout(300)
    shown = page.evaluate(steps)
    page.wait_for_timeout(700)
    assert page.evaluate(steps) == shown
    page.get_by_role("button", name="Resume").click()
    until(page, f"{steps} > {shown}")
    page.locator(".room-width").get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".job-line:has-text('cancelled')")
    assert page.get_by_role("button", name="Run").is_enabled()


def test_claims_register_and_rerun(page, laboratory) -> None:
    open_room(page, laboratory, "claims?paper=lp")
    page.get_by_role("link", name="lp-limit").click()
    page.get_by_role("button", name="Run it again").click()
    page.wait_for_selector("h1 .chip.holds")
    page.wait_for_selector(".js-plotly-plot")
    page.get_by_role("link", name="All claims").click()
    page.wait_for_selector("li:has-text('lp-limit') .chip.holds")


def test_two_pages_share_the_jobs(new_page, laboratory) -> None:
    first, second = new_page(), new_page()
    open_room(first, laboratory, "width?width=4000&dimension=1000&steps=2000")
    open_room(second, laboratory, "collapse?counts=70,7")
    first.get_by_role("button", name="Run").click()
    second.get_by_role("button", name="Jobs").click()
    second.locator(".tray .job:has-text('Width 4,000')").first.get_by_role("button", name="Cancel").click()
    first.wait_for_selector(".job-line:has-text('cancelled')")
    assert verdict(second) == said("70,7")


@pytest.mark.parametrize(
    "room",
    [
        "collapse",
        "groups",
        "memorisation?example=no",
        "width?example=no",
        "audit?example=no",
        "trial",
        "claims",
        "claims/lp-etf",
    ],
)
def test_rooms_fit_a_phone_and_both_themes(new_page, laboratory, room) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    open_room(page, laboratory, room)
    page.wait_for_selector("main h1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    named = page.locator("nav a[aria-current]").bounding_box()
    assert named["x"] >= 0
    assert named["x"] + named["width"] <= 390
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        ("memorisation", ".scores .js-plotly-plot"),
        ("width", "h2:has-text('At the end')"),
        ("audit", "iframe.report"),
        ("trial", ".bars th:text-is('9')"),
        ("claims", "ul.claims li"),
        ("collapse", ".verdict:not(:empty)"),
        ("groups", ".js-plotly-plot"),
    ],
)
def test_no_room_opens_empty(new_page, laboratory, tmp_path, room, shown) -> None:
    """Opened without settings a room shows its example; pictures are kept where LOPSIDED_SCREENSHOTS says."""
    folder = Path(os.environ.get("LOPSIDED_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    page = new_page(viewport={"width": 1280, "height": 844})
    open_room(page, laboratory, room)
    page.wait_for_selector(shown)
    if room == "audit":
        page.frame_locator("iframe.report").locator("h1").wait_for()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(500)  # plots follow the width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=folder / f"{room}-{width}.png", full_page=True)


def test_first_load_is_small(page, laboratory) -> None:
    """What the first page needs, over the wire; the limit is the project's own."""
    sizes = []
    page.on("response", lambda answer: sizes.append(int(answer.headers.get("content-length", 0))))
    page.add_init_script(
        "new MutationObserver(() => { if (!('early' in window) && document.querySelector('.verdict')?.textContent)"
        " window.early = !('Plotly' in window); }).observe(document, { subtree: true, childList: true })"
    )
    page.goto(laboratory)
    page.wait_for_selector(".js-plotly-plot")
    assert page.evaluate("early")  # the forecast stands there before the largest file is even read
    page.wait_for_load_state("networkidle")
    assert 100_000 < sum(sizes) < 2_000_000


def test_audit_of_a_file_with_its_report(page, laboratory, tmp_path) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [300, 80, 6])
    data = tmp_path / "shop<b>.csv"
    rows = [
        "a,b,region,y",
        *(
            f"{x:.4f},{y:.4f},{'north' if x > 0 else 'south'},{k}"
            for (x, y), k in zip(random.normal(size=(386, 2)) + labels[:, None], labels, strict=True)
        ),
    ]
    data.write_text("\n".join(rows))
    open_room(page, laboratory, "audit?example=no")
    page.locator("input[type=file]").set_input_files(data)
    page.locator(".field:has-text('Labels') select").select_option("y")
    page.get_by_role("button", name="Audit", exact=True).click()
    page.wait_for_selector(".recipe pre:has-text('shop<b>.csv')", state="attached")
    page.wait_for_selector(".verdict.bad, .verdict.warn")
    assert page.locator("td:has-text('class 2')").count() > 0
    frame = page.frame_locator("iframe.report")
    assert "shop<b>.csv" in frame.locator("h1").inner_text()
    frame.locator(".js-plotly-plot").first.wait_for()
    # The frame has no origin, so it can reach neither this page nor the server.
    assert page.frames[-1].evaluate("origin") == "null"
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the report").click()
    assert b"shop&lt;b&gt;.csv" in download.value.path().read_bytes()
    page.reload()
    page.wait_for_selector("iframe.report")


def test_trial_of_a_file_is_cancelled_and_tried_again(page, laboratory, tmp_path) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(["often", "seldom<i>"], [90, 30])
    features = random.normal(size=(120, 2)) + 1.5 * (labels == "seldom<i>")[:, None]
    data = tmp_path / "shop<b>.csv"
    data.write_text("\n".join(["a,b,y", *(f"{x:.4f},{y:.4f},{k}" for (x, y), k in zip(features, labels, strict=True))]))
    open_room(page, laboratory, "trial")
    page.wait_for_selector(".bars th:text-is('9')")  # the built-in set stands there first
    page.locator("input[type=file]").set_input_files(data)
    page.locator(".field:has-text('Labels') select").select_option("y")
    page.wait_for_selector(".bars tr:has-text('seldom<i>'):has-text('30')")
    page.get_by_role("button", name="Try the remedies").click()
    page.wait_for_selector(".room-trial progress[value]")
    page.locator(".room-trial").get_by_role("button", name="Cancel").click()
    page.wait_for_selector(".job-line:has-text('cancelled')")
    page.locator("label:has-text('Repeats') + .slider-row input[type=number]").fill("1")
    page.get_by_role("button", name="Try the remedies").click()
    page.wait_for_selector("iframe.report")
    assert "balanced accuracy" in verdict(page)
    assert page.locator("section:has-text('Remedies for the present data') td:text-is('plain')").count() == 1
    assert page.locator(".room-trial pre").first.text_content().count("\n") == 4
    assert "shop<b>.csv" in page.locator(".recipe pre").nth(1).text_content()
    page.frame_locator("iframe.report").locator("#train").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.reload()
    page.wait_for_selector("iframe.report")


def test_beyond_loopback_the_token_is_given_once_and_leaves_the_address(chromium, tmp_path, monkeypatch) -> None:
    process, address = start_server(tmp_path / "store", "--host", "0.0.0.0")
    try:
        address = re.sub("//[^:]+", "//127.0.0.1", address)  # the name of the machine need not resolve
        context = chromium.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{address}#/collapse?counts=70,7")
        page.wait_for_selector(".verdict:not(:empty)")
        assert verdict(page) == said("70,7")
        assert "token" not in page.url
        page.goto(f"{address.partition('?')[0]}#/width?width=40&dimension=20&steps=16")
        page.get_by_role("button", name="Run").click()
        page.wait_for_selector(".job-line:has-text('done in')")  # the stream of events has the cookie too
        monkeypatch.setattr("webbrowser.open", (opened := []).append)
        _open(address, tmp_path)
        sent = chromium.new_context().new_page()
        sent.goto(opened[0])  # as the command opens it: a file leads to the page, and the cookie goes with it
        sent.wait_for_url(address.partition("?")[0] + "**")
        sent.wait_for_selector(".verdict:not(:empty)")
        stranger = chromium.new_context().new_page()
        assert stranger.goto(address.partition("?")[0]).status == 403
    finally:
        stop_server(process)
