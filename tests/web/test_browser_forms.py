"""What is typed wrong or in private, in a real browser: the console stays empty, and no address tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sparc_search.index import Index
from sparc_search.web.app import create_app

from .conftest import served
from .test_browser import Tab, address, browser, tab, violations
from .test_browser_discover import expect

__all__ = ["address", "browser", "tab"]  # fixtures
pytestmark = pytest.mark.browser
TOKEN = "0123456789abcdef0123456789abcdef"
PRIVATE = "The Eiger was first climbed in 1858 by Charles Barrington."


def test_a_filter_typed_wrong_leaves_the_console_empty(tab: Tab) -> None:
    page = tab.go("/?q=Who+climbed+the+Matterhorn%3F")
    page.get_by_label("Filter").fill("abc")
    page.keyboard.press("Enter")
    expect(page.locator("#where-error")).to_contain_text("A filter is a key of the metadata")
    expect(page.get_by_label("Question")).to_have_value("Who climbed the Matterhorn?")
    assert page.locator(".answer").count()
    tab.go("/?q=Who+climbed+the+Matterhorn%3F&where=abc&k=999")  # as an address too
    page = tab.go("/passages/alps/1")
    page.get_by_label("Phrase").fill("zebra")
    page.keyboard.press("Enter")
    expect(page.locator("#phrase-error")).to_contain_text("does not stand in the passage")
    assert tab.complaints == []  # and once more when the tab is closed


@pytest.mark.parametrize("typed", ["lnag:en", "start:climbed>x", "'", '"gold', "-", "start:"])
def test_what_is_mistyped_on_discover_leaves_the_console_empty(tab: Tab, typed: str) -> None:
    page = tab.go("/discover")
    with page.expect_response("**/discover?*"):
        page.get_by_label("Words, fields and weights").press_sequentially(typed)
    page.keyboard.press("Enter")
    expect(page.locator("#main[aria-busy]")).to_have_count(0)
    assert tab.complaints == []


def test_a_wrong_token_leaves_the_console_empty(browser: Any, index: Index) -> None:
    with served(create_app(index, token=TOKEN)) as locked:
        tab = Tab(browser, locked)
        page = tab.go("/index")
        page.get_by_label("Token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#wrong")).to_have_text("That is not the token.")
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Index", exact=True)).to_be_visible()
        tab.finish()


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def trying(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Tab]:
    tab = Tab(browser, address, java_script_enabled=request.param, viewport={"width": 375, "height": 800})
    yield tab
    told = [url for url in tab.requested if "Eiger" in url or "1858" in url or "?" in url]
    assert told == []
    assert tab.page.url == address + "/try"
    tab.finish()


def test_a_text_is_tried_and_no_address_has_it(trying: Tab) -> None:
    page = trying.go("/try")
    page.get_by_label("Text").fill(PRIVATE)
    page.get_by_role("button", name="Show its weights").click()
    expect(page.locator(".chosen")).to_have_text("All phrases")
    page.locator("[data-tokens] .tok", has_text="climbed").click()
    expect(page.locator(".chosen")).to_have_text("climbed")
    page.get_by_role("button", name="JSON").click()
    expect(page.locator("pre.json")).to_contain_text("boundaries")
    page.get_by_label("Phrase").fill("Charles Barrington")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".chosen")).to_have_text("Charles Barrington")
    page.get_by_role("button", name="clear").click()
    expect(page.locator(".chosen")).to_have_text("All phrases")
    expect(page.get_by_label("Text")).to_have_value(PRIVATE)


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_phrase_of_a_tried_text_by_mouse_and_by_keys(browser: Any, address: str, system: str) -> None:
    tab = Tab(browser, address, color_scheme=system)
    page = tab.go("/try")
    page.get_by_label("Text").fill(PRIVATE)
    page.get_by_role("button", name="Show its weights").click()
    first, last = (page.locator("[data-tokens] .tok", has_text=w) for w in ("Charles", "Barrington"))
    page.mouse.move(first.bounding_box()["x"] + 4, first.bounding_box()["y"] + 6)
    page.mouse.down()
    page.mouse.move(last.bounding_box()["x"] + 8, last.bounding_box()["y"] + 6, steps=5)
    page.mouse.up()
    expect(page.locator(".chosen")).to_have_text("Charles Barrington")
    page.locator("[data-tokens] .tok", has_text="first").click()
    expect(page.locator(".chosen")).to_have_text("first")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".chosen")).to_have_text("first climbed")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.url == address + "/try"
    tab.finish()


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_tried_text_is_accessible(browser: Any, address: str, system: str) -> None:
    tab = Tab(browser, address, color_scheme=system)
    page = tab.go("/try")
    page.get_by_label("Text").fill(PRIVATE)
    page.get_by_role("button", name="Show its weights").click()
    page.locator("[data-tokens] .tok", has_text="climbed").click()
    expect(page.locator(".chosen")).to_have_text("climbed")
    assert violations(page) == []
    tab.context.close()
