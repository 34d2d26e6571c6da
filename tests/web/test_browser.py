"""Every room in a real browser, as a person uses it; the collapse room has a file of its own."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from lopsided.cli.serve import _open
from tests.web.browsing import open_room, said, until, verdict
from tests.web.conftest import PATIENCE, start_server, stop_server

pytestmark = pytest.mark.usefixtures("forgive_refusals")


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
