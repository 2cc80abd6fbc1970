"""/why in a real browser: any phrase is dragged, what pays lights up, parts are weighed anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from sparc_search.index import Index
from sparc_search.records import Document
from sparc_search.web.app import create_app

from . import test_browser as pages
from .conftest import MakeIndex, served

pytestmark = pytest.mark.browser
browser, tab, Tab = pages.browser, pages.tab, pages.Tab
WHY = "/why?q=Who+climbed+the+Matterhorn%3F"
ADDRESSES = (WHY, WHY + "&weights=all", WHY + "&against=tfidf", WHY + "&against_phrase=summit", "/why")


@pytest.fixture(scope="module")
def address(index: Index, make_index: MakeIndex) -> Iterator[str]:
    second = make_index([Document("old", "The Matterhorn was climbed by Michel Croz. Matterhorn.")])
    with served(create_app(index, also={"before": second})) as found:
        yield found


def numbers(page: Any, selector: str) -> list[float]:
    texts = page.locator(selector).all_inner_texts()
    return [float(text.replace("−", "-").replace(",", "")) for text in texts]


def sums(page: Any) -> None:
    """What is shown adds up: the rows to the difference, the difference to the scores."""
    rows, (total,) = numbers(page, ".tug tbody:not(.sums) .lead"), numbers(page, ".tug tfoot .lead")
    parts = numbers(page, ".tug .sums .lead")
    a, b = numbers(page, ".side .score")
    assert sum(rows) == pytest.approx(total, abs=0.005 * (len(rows) + 1))
    assert sum(parts) == pytest.approx(total, abs=0.02)
    assert a - b == pytest.approx(total, abs=0.011)
    assert numbers(page, ".between h2 b") == [total]


def drag(page: Any, first: str, last: str, text: str = ".side-a") -> None:
    begin, end = (page.locator(f"{text} .painted .tok", has_text=word).first.bounding_box() for word in (first, last))
    page.mouse.move(begin["x"] + 4, begin["y"] + 6)
    page.mouse.down()
    page.mouse.move(end["x"] + 8, end["y"] + 6, steps=5)
    page.mouse.up()


def test_drag_a_phrase_that_was_no_answer_and_see_the_sums(tab: Any) -> None:
    page = tab.go(WHY)
    sums(page)
    drag(page, "Seven", "men")
    tab.shows(".side-b h2", "Seven men")
    sums(page)
    assert {"against_span", "against_passage"} <= set(tab.query())
    page.reload()  # the address is the state
    assert page.inner_text(".side-b h2") == "Seven men"
    page.locator(".side-b .painted .tok", has_text="summit").click()  # a word of the other text, too
    tab.shows(".side-b h2", "summit")
    sums(page)
    page.go_back()
    tab.shows(".side-b h2", "Seven men")


def test_what_pays_lights_up_in_both_texts_and_in_the_question(tab: Any) -> None:
    page = tab.go(WHY + "&against_phrase=summit")
    page.locator(".tug tr[data-g]", has_text="matterhorn").first.hover()
    page.wait_for_selector(".asked .tok.lit")
    assert page.locator(".asked .tok.lit").first.inner_text().startswith("Matterhorn")
    assert page.locator(".painted .tok.lit").count()
    page.locator(".asked").hover(position={"x": 1, "y": 1})
    page.locator(".tug tr[data-place='first']").first.hover()
    page.wait_for_selector(".painted .tok.on.first.lit")


def test_rows_light_up_by_keys(tab: Any) -> None:
    page = tab.go(WHY + "&against_phrase=summit")
    rows = page.locator(".tug tr[data-g], .tug tr[data-place]")
    assert page.locator(".tug tr[tabindex='0']").count() == 1  # one stop for the Tab key
    page.locator(".tug tr[tabindex='0']").focus()
    for at in range(rows.count()):
        row = rows.nth(at)
        assert row.evaluate("row => row === document.activeElement")
        lit = page.locator(".side .lit").count()
        assert lit or row.get_attribute("data-g"), row.inner_text()
        if "matterhorn" in row.inner_text():
            assert lit
            assert page.locator(".asked .tok.lit").count()
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert rows.nth(rows.count() - 2).evaluate("row => row === document.activeElement")
    page.locator("#paid").focus()
    assert page.locator(".lit").count() == 0


@pytest.mark.parametrize("script", [True, False])
def test_a_word_of_the_trade_leads_to_what_it_means(browser: Any, address: str, script: bool) -> None:
    tab = Tab(browser, address, java_script_enabled=script)
    for path, word, meaning in (
        (WHY + "&against_phrase=summit", "span", "belong together"),
        ("/?q=Who+climbed+the+Matterhorn%3F", "state", "grows with each change"),
        ("/index", "state", "grows with each change"),
    ):
        page = tab.go(path)
        assert not page.locator("#words dl").is_visible()
        page.locator("a.explained", has_text=re.compile(f"^{word}$")).first.click()
        told = page.locator("#words div", has_text=meaning)
        told.wait_for(state="visible")
        assert told.evaluate("one => one.matches(':target')")
    tab.finish()


def test_sliders_weigh_the_answers_anew(tab: Any) -> None:
    page = tab.go(WHY + "&k=8")
    rows = page.eval_on_selector_all(
        ".reranked li", "all => all.map(li => [li.querySelector('a').textContent, {...li.dataset}])"
    )
    assert numbers(page, "[data-score]") == sorted(numbers(page, "[data-score]"), reverse=True)
    for factors in ({"dense": 0.0}, {"dense": 0.0, "lexical": 3.0}, {"sparse": 3.0}):
        for group in ("dense", "sparse", "lexical"):
            page.locator(f"[data-group={group}]").fill(str(factors.get(group, 1)))
        scores = [
            sum(float(parts[group]) * factors.get(group, 1.0) for group in ("dense", "sparse", "lexical"))
            for _, parts in rows
        ]
        order = sorted(range(len(rows)), key=lambda row: (-scores[row], int(rows[row][1]["rank"])))
        assert page.locator(".reranked li > a").all_inner_texts() == [rows[row][0] for row in order]
        assert numbers(page, "[data-score]") == pytest.approx([scores[row] for row in order], abs=0.006)
        drawn(page, rows, factors)
    page.locator("[data-reset]").click()
    assert page.locator(".reranked li > a").all_inner_texts() == [text for text, _ in rows]
    assert not page.locator("[data-reset]").is_visible()


def drawn(page: Any, rows: list[Any], factors: dict[str, float]) -> None:
    """A bar is as long as its parts, those below zero left of the line; all bars have one scale."""
    groups = ("dense", "sparse", "lexical")
    parts = [[float(own[group]) * factors.get(group, 1.0) for group in groups] for _, own in rows]
    below = max(sum(-value for value in own if value < 0) for own in parts)
    above = max(sum(value for value in own if value > 0) for own in parts)
    for item in page.locator(".reranked li").all():
        own = parts[int(item.get_attribute("data-rank")) - 1]
        widths = item.locator("rect").evaluate_all("all => all.map(one => parseFloat(one.getAttribute('width')))")
        assert widths == pytest.approx([100 * abs(value) / (above + below) for value in own], abs=0.01)
        zero = float(item.locator("line").get_attribute("x1").rstrip("%"))
        for rect, value in zip(item.locator("rect").all(), own, strict=True):
            assert value == 0 or (float(rect.get_attribute("x").rstrip("%")) < zero - 0.001) is (value < 0)


def test_beside_it_anything(tab: Any) -> None:
    page = tab.go(WHY)
    page.get_by_role("link", name="the same by tf-idf").click()
    tab.shows(".cause", "tf-idf")
    sums(page)
    page.get_by_role("link", name="best of before").click()
    tab.shows(".side-b .badge >> nth=0", "before")
    sums(page)
    page.get_by_label("Of which passage").fill("seas/0")
    page.keyboard.press("Enter")
    page.wait_for_selector(".side-b:has-text('Caspian')")
    sums(page)
    page.get_by_role("link", name="swap A and B").click()
    page.wait_for_selector(".side-a:has-text('Caspian')")
    page.get_by_role("link", name="all weights").click()
    page.wait_for_selector(".painted.all")
    page.get_by_label("Of which passage").fill("")
    page.get_by_label("Any other phrase").fill("Everest")
    page.keyboard.press("Enter")
    tab.shows("[role=alert]", re.compile("Everest"))
    assert page.locator(".side-a").count() == 1  # the page is still there


def test_keys_are_enough(tab: Any) -> None:
    page = tab.go(WHY)
    page.locator(".side-a .painted [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    chosen = page.evaluate("document.activeElement.firstChild.textContent")
    page.keyboard.press("Enter")
    tab.shows(".side-b h2", chosen)
    page.locator(".side-a .painted [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**against_span**")
    tab.shows_not(".side-b h2", chosen)
    assert " " in page.inner_text(".side-b h2")
    assert page.locator(".painted [tabindex='0']").count() == 2  # one stop for each text
    page.locator("[data-group=sparse]").focus()
    page.keyboard.press("End")
    assert page.locator("[data-group=sparse] + output").inner_text() == "× 3.00"


def test_the_focus_stays_and_the_verdict_is_announced(tab: Any) -> None:
    page = tab.go(WHY)
    verdict = page.query_selector(".verdict[role=status]")
    page.locator(".side-a .painted [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    word = page.evaluate("document.activeElement.id")
    page.keyboard.press("Enter")
    page.wait_for_url("**against_span**")
    tab.shows(".side-b h2", page.evaluate("id => document.getElementById(id).firstChild.textContent", word))
    assert page.evaluate("document.activeElement.id") == word
    assert page.evaluate("told => told.isConnected", verdict)  # the element that was there, with other words in it
    page.locator("#all").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#all[aria-current]")
    assert page.evaluate("document.activeElement.id") == "all"


def test_from_an_answer_to_its_passage_and_on_the_question_stays(tab: Any) -> None:
    page = tab.go("/?q=Who+climbed+the+Matterhorn%3F")
    page.locator(".source a").first.click()
    page.wait_for_selector("[data-tokens]")
    assert tab.query()["q"] == ["Who climbed the Matterhorn?"]
    page.locator("[data-tokens] .tok", has_text="summit").click()
    tab.shows(".chosen", "summit")
    page.get_by_role("link", name="what it pays for here").click()
    page.wait_for_selector(".side-a")
    assert page.inner_text(".side-a h2") == "summit"
    page = tab.go("/?q=Who+climbed+the+Matterhorn%3F")
    page.locator(".to-why").nth(1).click()
    page.wait_for_selector(".duel")
    assert page.inner_text(".side-a .badge >> nth=0") == "answer 2"


def test_without_scripts(browser: Any, address: str) -> None:
    tab = Tab(browser, address, java_script_enabled=False)
    page = tab.go(WHY)
    sums(page)
    assert not page.locator(".sliders").is_visible()
    page.get_by_label("Any other phrase").fill("Seven men")
    page.get_by_role("button", name="Why not this?").click()
    assert page.inner_text(".side-b h2") == "Seven men"
    page.get_by_role("link", name="all weights").click()
    assert page.locator(".painted.all").count() == 2
    tab.finish()


@pytest.mark.parametrize("width", [375, 768, 1280])
def test_not_wider_than_the_screen(browser: Any, address: str, width: int) -> None:
    pages.not_wider_than_the_screen(Tab(browser, address, viewport={"width": width, "height": 800}), ADDRESSES)


@pytest.mark.parametrize("system", ["light", "dark"])
def test_accessible(browser: Any, address: str, system: str) -> None:
    pages.accessible(Tab(browser, address, color_scheme=system), ADDRESSES)


def test_on_paper_the_paint_stays_and_the_controls_go(tab: Any) -> None:
    page = tab.go(WHY)
    page.emulate_media(media="print")
    assert not page.locator(".beside").is_visible()
    assert not page.locator(".top").is_visible()
    assert page.locator(".side .painted").count() == 2
    for text in page.locator(".side .painted").all():  # the sidebar of Discover goes, and is no side of this page
        assert text.is_visible()
    word = page.locator(".painted .tok.paid").first
    assert word.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"
    assert word.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
