"""Discover, explanations and feedback in a real browser: by mouse, by keys alone, on paper, on a busy server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparc_search.index import Index
from sparc_search.records import Document
from sparc_search.web.app import create_app

from .conftest import MakeIndex, served
from .test_browser import PATIENCE, Tab, address, browser, tab

__all__ = ["address", "browser", "tab"]  # fixtures
pytestmark = pytest.mark.browser
ASK = "/?q=Who+climbed+the+Matterhorn%3F"
WHY = "/why?q=Who+climbed+the+Matterhorn%3F"


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=PATIENCE)
    return expected(locator)


def test_complete_filter_and_save_a_view(tab: Tab) -> None:
    page = tab.go("/discover")
    box = page.get_by_label("Words, fields and weights")
    box.press_sequentially("lang:e")
    page.wait_for_selector("#completions [role=option]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).to_have_value("lang:en ")
    expect(page.locator("#pills .chip")).to_have_count(1)
    page.locator("#side a", has_text=re.compile("^water$")).click()
    expect(page.locator(".facts b")).to_have_text("1")
    expect(box).to_have_value("lang:en kind:water")
    page.get_by_text("Saved views").click()
    page.get_by_label("Name").fill("wet")
    page.get_by_role("button", name="Save this view").click()
    page = tab.go("/discover")
    page.get_by_text("Saved views").click()
    page.get_by_role("link", name="wet").click()
    expect(page.locator("#pills .chip")).to_have_count(2)
    page.get_by_role("link", name="Remove kind:water").click()
    expect(page.locator(".facts b")).to_have_text("3")


def test_brushing_the_histogram_sets_the_threshold(tab: Tab) -> None:
    page = tab.go("/discover?q=lex%3Aclimbed")
    bars = page.locator("[data-brush] a .back")
    first, last = bars.nth(2).bounding_box(), bars.nth(10).bounding_box()
    page.mouse.move(first["x"] + 3, first["y"] + 10)
    page.mouse.down()
    page.mouse.move(last["x"] + 3, last["y"] + 10, steps=6)
    page.mouse.up()
    expect(page.locator("#pills .chip")).to_have_count(2)
    assert re.fullmatch(r"lex:climbed>=[\d.]+ lex:climbed<[\d.]+", tab.query()["q"][0])
    expect(page.locator(".facts b").first).to_have_text("0")
    expect(page.locator("[data-brush] a")).to_have_count(24)


def test_what_is_mistyped_is_told_and_the_rows_stay(tab: Tab) -> None:
    page = tab.go("/discover?q=climbed")
    rows = page.locator(".grid tbody tr")
    expect(rows).to_have_count(2)
    box = page.get_by_label("Words, fields and weights")
    box.press("End")
    box.press_sequentially(" lnag:en x")
    expect(page.locator("#box-error")).to_contain_text("no field 'lnag'")
    expect(rows).to_have_count(2)
    assert tab.query()["q"] == ["climbed"]  # the address is that of the rows


def test_a_busy_server_changes_neither_address_nor_rows(browser: Any, address: str) -> None:
    tab = Tab(browser, address)
    page = tab.go("/discover")
    page.route("**/discover?*", lambda route: route.fulfill(status=503, body="busy"))
    page.get_by_label("Words, fields and weights").fill("whymper")
    page.wait_for_selector("[data-toast][data-shown]")
    assert "371000" in page.inner_text("#found")
    assert tab.query() == {}
    page.unroute("**/discover?*")
    assert all("503" in complaint for complaint in tab.complaints)
    tab.context.close()


def test_keys_open_rows_and_explanations_and_keep_the_focus(tab: Tab) -> None:
    page = tab.go("/discover")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".detail")
    assert page.evaluate("document.activeElement.id") == "open-2"
    page.keyboard.press("Enter")
    expect(page.locator(".detail")).to_have_count(0)
    assert page.evaluate("document.activeElement.id") == "open-2"
    page = tab.go(ASK)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("details[data-rank='2'] .explanation")).to_be_visible()
    assert tab.query()["rank"] == ["2"]
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_regions_that_speak_stay_the_elements_they_were(tab: Tab) -> None:
    page = tab.go("/discover")
    page.eval_on_selector("#found [role=status]", "one => { one.seen = true; }")
    page.get_by_label("Words, fields and weights").fill("whymper")
    expect(page.locator(".facts b")).to_have_text("1")
    assert page.eval_on_selector("#found [role=status]", "one => one.seen")
    assert page.locator("#main[aria-busy]").count() == 0


def test_modules_are_asked_for_once(tab: Tab) -> None:
    tab.go("/discover")
    first = [url for url in tab.requested if "/static/" in url]
    assert first
    assert all(re.search("/static/[0-9a-f]{10}/", url) for url in first)


def test_thumbs_and_the_right_answer_dragged(browser: Any, index: Index, tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    with served(create_app(index, feedback_file=file)) as address:
        tab = Tab(browser, address)
        page = tab.go(ASK)
        page.locator(".answer").first.get_by_role("button", name=re.compile("is wrong")).click()
        page.wait_for_selector("[data-toast][data-shown]")
        page = tab.go("/passages/alps/1?q=Who+climbed+the+Matterhorn%3F")
        ends = [page.locator("[data-tokens] .tok", has_text=w).first.bounding_box() for w in ("Edward", "Whymper")]
        page.mouse.move(ends[0]["x"] + 4, ends[0]["y"] + 6)
        page.mouse.down()
        page.mouse.move(ends[1]["x"] + 8, ends[1]["y"] + 6, steps=5)
        page.mouse.up()
        page.get_by_role("button", name=re.compile("This answers")).click()
        expect(page.locator("[data-feedback] [aria-pressed=true]")).to_have_count(1)
        tab.finish()
    wrong, right = map(json.loads, file.read_text().splitlines())
    assert (wrong["verdict"], right["verdict"]) == ("down", "right")
    assert right["answers"] == ["Edward Whymper"]


@pytest.fixture(scope="module")
def arabic(make_index: MakeIndex) -> Iterator[str]:
    with served(create_app(make_index([Document("ar", "صعد ادوارد ويمبر الجبل عام 1865.")]))) as found:
        yield found


def test_a_phrase_in_text_from_right_to_left_is_boxed_at_its_own_ends(browser: Any, arabic: str) -> None:
    tab = Tab(browser, arabic)
    page = tab.go("/passages/ar/0?span=4-16")
    assert page.eval_on_selector("[data-tokens]", "one => getComputedStyle(one).direction") == "rtl"
    assert page.eval_on_selector(".tok.first", "one => getComputedStyle(one).borderRightWidth") == "2px"
    assert page.eval_on_selector(".tok.last", "one => getComputedStyle(one).borderLeftWidth") == "2px"
    link = tab.go("/discover").locator(".c-title a")
    assert link.inner_text() == "ar"  # untitled, and a link with a name all the same
    tab.finish()


def test_on_paper_shades_and_marks_stay(tab: Tab) -> None:
    page = tab.go("/passages/alps/1?token=1")
    page.emulate_media(media="print")
    assert page.eval_on_selector("[data-tokens] .tok", "one => getComputedStyle(one).printColorAdjust") == "exact"
    assert not page.locator(".top").is_visible()
    assert not page.get_by_label("select text instead").is_visible()
    assert page.locator("[data-tokens]").is_visible()
    page = tab.go(ASK)
    question = page.locator(".on-paper", has_text="Who climbed the Matterhorn?")
    page.emulate_media(media="screen")
    assert not question.is_visible()
    page.emulate_media(media="print")
    assert question.is_visible()
    assert not page.get_by_label("Question").is_visible()


def test_text_of_a_passage_can_be_selected_and_copied(tab: Tab) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = tab.go("/passages/alps/1")
    assert page.eval_on_selector("[data-tokens]", "one => getComputedStyle(one).userSelect") != "none"
    page.get_by_role("button", name="Copy text").click()
    page.wait_for_selector("[data-toast][data-shown]")
    assert "Whymper" in page.evaluate("navigator.clipboard.readText()")
    page = tab.go("/passages/alps/1")
    page.get_by_role("button", name="Copy as curl").click()
    page.wait_for_selector("[data-toast][data-shown]")
    assert page.evaluate("navigator.clipboard.readText()") == f"curl '{tab.address}/api/passages/alps%2F1'"


@pytest.mark.parametrize("by", ["switch", "Alt"])
@pytest.mark.parametrize("path", ["/passages/alps/1", "/why?q=Who+climbed+the+Matterhorn%3F"])
def test_a_drag_may_select_text_and_choose_nothing(tab: Tab, path: str, by: str) -> None:
    page = tab.go(path)
    address = page.url
    if by == "switch":
        page.get_by_label("select text instead").check()
    first, last = (page.locator("[data-tokens] .tok").nth(at).bounding_box() for at in (0, 3))
    if by == "Alt":
        page.keyboard.down("Alt")
    page.mouse.move(first["x"] + 1, first["y"] + first["height"] / 2)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] - 1, last["y"] + last["height"] / 2, steps=4)
    assert page.locator(".dragging").count() == 0
    page.mouse.up()
    page.keyboard.up("Alt")
    assert len(page.evaluate("String(getSelection())").split()) >= 3
    assert page.url == address
    if by == "switch":
        page.locator("[data-tokens] .tok").nth(5).click()  # selects nothing, and goes nowhere
        assert page.url == address
        page.get_by_label("select text instead").uncheck()
        page.locator("[data-tokens] .tok").nth(5).click()
        page.wait_for_url(re.compile("token=5|against_span"))


@pytest.mark.parametrize(
    ("path", "chosen"),
    [("/passages/alps/1?phrase=Edward+Whymper", "Edward Whymper"), (WHY + "&phrase=Edward+Whymper", "Edward Whymper")],
)
def test_copying_takes_the_phrase_that_is_chosen(tab: Tab, path: str, chosen: str) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = tab.go(path)
    page.locator("body").press("Control+c")
    expect(page.locator("[data-toast][data-shown]")).to_have_text(f"Copied “{chosen}”.")
    assert page.evaluate("navigator.clipboard.readText()") == chosen


def test_a_column_of_a_histogram_says_what_it_stands_for(tab: Tab) -> None:
    page = tab.go("/discover?q=lex%3Aclimbed")
    told = page.locator(".brush output")
    page.locator("[data-brush] a").last.hover()
    expect(told).to_have_text(re.compile(r"^[\d.]+ to [\d.]+: \d+$"))
    assert page.locator("[data-brush] a[tabindex='0']").count() == 1
    page.locator("[data-brush] a[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(told).to_have_text(page.locator("[data-brush] a").nth(2).locator("title").text_content())
    page.keyboard.press("Enter")
    expect(page.locator("#pills .chip")).to_have_text(re.compile("lex:climbed>="))
    page = tab.go("/index")
    drawing = page.locator(".histogram svg").first
    assert re.search(r"\d to [\d.]+: \d", drawing.get_attribute("aria-label"))
    drawing.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".histogram output").first).to_have_text(re.compile(r"to [\d.]+: \d+$"))


def test_a_narrow_screen_names_what_has_no_column_to_stand_below(browser: Any, address: str) -> None:
    tab = Tab(browser, address, viewport={"width": 375, "height": 812})
    page = tab.go("/discover?of=documents")
    named = page.locator("td.c-passages").first.evaluate("cell => getComputedStyle(cell, '::before').content")
    assert named == '"passages: "'
    assert page.locator("#side").get_by_text("passages", exact=True).first.is_visible()  # counts are of these
    tab.finish()


def test_a_narrow_screen_breaks_no_word_of_a_comparison(browser: Any, address: str) -> None:
    tab = Tab(browser, address, viewport={"width": 375, "height": 812})
    page = tab.go(ASK)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    heights = page.eval_on_selector_all(
        ".differences tbody th small", "all => all.map(one => one.getClientRects().length)"
    )
    assert heights
    assert set(heights) == {1}
    page.get_by_text("What the words mean").click()
    assert page.get_by_text("a piece that goes on with the word before it").is_visible()
    tab.finish()
