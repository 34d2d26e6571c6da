"""A real server in a process of its own, and a real browser whose every word on the console is an error."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE = 120_000  # milliseconds; the machines are shared and slow


def start_server(folder: Path, *options: str) -> tuple[subprocess.Popen, str]:
    """`lopsided serve` on a free port; the process and the address it printed."""
    command = [
        sys.executable,
        "-m",
        "lopsided",
        "serve",
        "--port",
        "0",
        "--no-browser",
        "--store",
        str(folder),
        *options,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    found = re.search(r"http://\S+", line)
    if found is None:
        process.kill()
        pytest.fail(f"no address but {line!r}: {process.communicate()[1]}")
    return process, found[0]


def stop_server(process: subprocess.Popen) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    return process.returncode, errors


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory):
    process, address = start_server(tmp_path_factory.mktemp("web") / "store", "--no-token")
    yield address.rstrip("/")
    code, errors = stop_server(process)
    assert (code, errors) == (0, "")


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    # The headless shell is the same engine without the window around it, a fifth cheaper.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if (found := shutil.which(name))), None)
    if program is None:
        reason = "no Chromium is installed (apt-get install chromium)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
        options += ["--disable-gpu"]  # there is none on the machines that run this; its process only copies pictures
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium, laboratory):
    """Makes pages on the laboratory; afterwards none may have complained or asked for anything elsewhere."""
    contexts, complaints, elsewhere = [], [], []

    def route(request_route):
        if request_route.request.url.startswith((laboratory, "data:", "blob:")):
            request_route.continue_()
        else:
            elsewhere.append(request_route.request.url)
            request_route.abort()

    def make(**options):
        context = chromium.new_context(
            accept_downloads=True, **({"viewport": {"width": 1280, "height": 800}} | options)
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        context.add_init_script(
            "addEventListener('securitypolicyviolation', e => console.error('policy', e.violatedDirective, e.sample))"
        )
        page = context.new_page()
        page.route("**/*", route)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    make.complaints = complaints
    yield make
    for context in contexts:
        context.close()
    assert elsewhere == []
    assert complaints == []


@pytest.fixture
def page(new_page):
    return new_page()


@pytest.fixture
def forgive_refusals(new_page):
    """A refused request is written to the console by the browser itself; the page shows it as a sentence."""
    yield
    new_page.complaints[:] = [
        text for text in new_page.complaints if "the server responded with a status of 422" not in text
    ]
