"""What a person does in a browser: open a room, wait, and read what it says."""

import pytest

import lopsided


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


def said(counts):
    from lopsided.report.collapse import verdict

    return verdict(lopsided.collapse(counts, feature_energy=5, weight_energy=1))
