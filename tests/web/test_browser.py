"""The pages in a real browser (Chromium): what people do with them, and that nothing leaves the machine."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sparc_search.index import Index
from sparc_search.records import Document
from sparc_search.web.app import create_app

from .conftest import MakeIndex, served

pytestmark = pytest.mark.browser
PATIENCE = 120_000
PAGES = (
    "/",
    "/?q=Who+climbed+the+Matterhorn%3F",
    "/passages/alps/1?token=1",
    "/features/climbed",
    "/features",
    "/index",
    "/discover?text=climbed&open=alps%2F1",
    "/discover?q=lex%3Aclimbed%3E0.1+-lang%3Ade&order=-weight",
    "/discover?q=lnag%3Aen",
    "/try",
    "/features/start:climbed",
    "/features/was+first+climbed",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("the pages in a browser need Chromium: apt-get install chromium (`make test` does)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(index: Index) -> Iterator[str]:
    with served(create_app(index)) as found:
        yield found


class Tab:
    """A page that keeps account of what it asks for and what it complains about."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.address = address
        self.complaints: list[str] = []
        self.requested: list[str] = []
        self.page.on(
            "console",
            lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))

    def go(self, path: str) -> Any:
        self.page.goto(self.address + path)
        return self.page

    def shows(self, selector: str, text: Any) -> None:
        """Wait until an element says so; the policy of the page lets no test evaluate a string in it."""
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).to_have_text(text, timeout=PATIENCE)

    def shows_not(self, selector: str, text: Any) -> None:
        from playwright.sync_api import expect

        expect(self.page.locator(selector)).not_to_have_text(text, timeout=PATIENCE)

    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.page.url).query)

    def finish(self) -> None:
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.requested if not url.startswith(self.address + "/")] == []


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Tab]:
    opened = Tab(browser, address)
    yield opened
    opened.finish()


def test_ask_click_a_token_follow_a_feature_and_come_back(tab: Tab) -> None:
    page = tab.go("/")
    page.get_by_label("Question").fill("Who climbed the Matterhorn?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer.best")
    assert tab.query()["q"] == ["Who climbed the Matterhorn?"]
    assert "Why this one and not" in page.inner_text(".versus >> nth=0")

    page.get_by_label("Dense first").check()
    tab.shows(".source >> nth=0", re.compile("found by dense search"))
    assert tab.query()["strategy"] == ["dense"]

    page.locator(".source a").first.click()
    page.wait_for_selector("[data-tokens]")
    chosen = page.inner_text(".chosen")
    before = page.inner_text(".weights")
    shades = page.eval_on_selector_all("[data-tokens] .tok", "all => all.map(t => t.className)")
    page.locator("[data-tokens] .tok", has_text="summit").click()
    tab.shows(".chosen", "summit")
    assert chosen != "summit"
    assert page.inner_text(".weights") != before
    assert page.eval_on_selector_all("[data-tokens] .tok", "all => all.map(t => t.className)") != shades
    assert "token" in tab.query()

    name = page.inner_text(".weights .ngram >> nth=0")
    page.locator(".weights .ngram").first.click()
    page.wait_for_selector(".feature-name")
    assert page.inner_text(".feature-name") == name
    page.go_back()
    page.wait_for_selector(".chosen")
    assert page.inner_text(".chosen") == "summit"


def test_drag_over_a_phrase(tab: Tab) -> None:
    page = tab.go("/passages/alps/1")
    first, last = (
        page.locator("[data-tokens] .tok", has_text=word).first.bounding_box() for word in ("Edward", "Whymper")
    )
    page.mouse.move(first["x"] + 4, first["y"] + 6)
    page.mouse.down()
    page.mouse.move(last["x"] + 8, last["y"] + 6, steps=5)
    page.mouse.up()
    tab.shows(".chosen", "Edward Whymper")
    assert "span" in tab.query()
    page.reload()  # the address is the state
    assert page.inner_text(".chosen") == "Edward Whymper"
    page.go_back()
    tab.shows(".chosen", "All phrases")


def test_keys_alone_are_enough(tab: Tab) -> None:
    page = tab.go("/passages/alps/1?token=1")
    page.locator("[data-tokens] .tok.on").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    tab.shows(".chosen", "was")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    tab.shows(".chosen", "was first")
    assert page.locator("[data-tokens] [tabindex='0']").count() == 1
    page = tab.go("/discover")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".detail")
    assert "Whymper" in page.inner_text(".detail")


def test_search_as_you_type_and_copy_the_query(tab: Tab) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = tab.go("/discover")
    assert "371000" in page.inner_text("#found")
    page.get_by_label("Words, fields and weights").press_sequentially("whymper")
    tab.shows_not("#found", re.compile("371000"))
    assert page.evaluate("document.activeElement.value") == "whymper"
    assert tab.query()["q"] == ["whymper"]
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy as OpenSearch query").click()
    page.wait_for_selector("[data-toast][data-shown]")
    assert '"prefix"' in page.evaluate("navigator.clipboard.readText()")
    page.get_by_text("Columns").click()
    page.locator(".columns-choice a", has_text="source").click()
    page.wait_for_selector("th.c-source")
    assert "source" in tab.query()["column"]
    assert page.locator("#columns").get_attribute("open") is not None  # it stays open for the next choice
    assert page.evaluate("document.activeElement.id").startswith("column-")


def background(page: Any) -> int:
    red = re.search(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert red
    return int(red[0])


@pytest.mark.parametrize("system", ["light", "dark"])
def test_light_and_dark_by_system_and_by_switch(browser: Any, address: str, system: str) -> None:
    tab = Tab(browser, address, color_scheme=system)
    page = tab.go("/")
    assert (background(page) > 128) is (system == "light")
    page.get_by_role("button", name="Switch between light and dark").click()
    assert (background(page) > 128) is (system == "dark")
    page = tab.go("/index")  # it is remembered
    assert (background(page) > 128) is (system == "dark")
    page.keyboard.press("t")
    assert (background(page) > 128) is (system == "light")
    tab.finish()


def test_readable_without_scripts(browser: Any, address: str) -> None:
    tab = Tab(browser, address, java_script_enabled=False)
    page = tab.go("/")
    page.get_by_label("Question").fill("Who climbed the Matterhorn?")
    page.get_by_role("button", name="Ask").click()
    page.locator(".source a").first.click()
    page.locator("[data-tokens] .tok", has_text="summit").click()
    assert page.inner_text(".chosen") == "summit"
    page.goto(address + "/discover")
    page.locator(".expand").first.click()
    assert page.locator(".detail").count() == 1
    assert "Choose a word" in tab.go("/passages/alps/1").inner_text(".hint >> nth=0")
    tab.finish()


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_no_page_is_wider_than_the_screen(browser: Any, address: str, width: int) -> None:
    not_wider_than_the_screen(Tab(browser, address, viewport={"width": width, "height": 844}), PAGES)


def not_wider_than_the_screen(tab: Tab, paths: Iterable[str]) -> None:
    for path in paths:
        assert tab.go(path).evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    tab.finish()


@pytest.mark.parametrize("system", ["light", "dark"])
def test_accessible(browser: Any, address: str, system: str) -> None:
    accessible(Tab(browser, address, color_scheme=system), PAGES)


def accessible(tab: Tab, paths: Iterable[str]) -> None:
    for path in paths:
        assert violations(tab.go(path)) == [], path
    tab.context.close()


def violations(page: Any) -> list[tuple[str, list[str]]]:
    """What axe finds on a page as it is now: the rule, and the first places."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(rule["id"], [node["html"][:120] for node in rule["nodes"][:3]]) for rule in found]


def test_a_hostile_corpus_runs_nothing(browser: Any, make_index: MakeIndex) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)> \u202e turned <svg onload=alert(3)>"
    index = make_index([Document("evil", f"Whymper climbed {evil} here.", evil, evil, {"<b>": evil})])
    with served(create_app(index)) as address:
        tab = Tab(browser, address)
        dialogs: list[str] = []
        tab.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        for path in (
            "/?q=Who+climbed%3F",
            "/passages/evil%2F0?token=3",
            "/discover?open=evil%2F0",
            "/index",
            "/features/%3C",
        ):
            tab.go(path)
        tab.go("/discover").get_by_label("Words, fields and weights").press_sequentially("<script>alert(4)")
        tab.shows("#found", re.compile("Nothing|alert"))
        assert dialogs == []
        tab.finish()
