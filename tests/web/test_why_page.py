"""/why as a page: what it shows, how it stays a page, and who leads to it."""

from __future__ import annotations

import html
import re

import pytest
from starlette.testclient import TestClient

from sparc_search.inspection.verdict import GROUPS
from sparc_search.inspection.why import Cure
from sparc_search.web.why_page import reach

from .test_pages import Page

WHY = "/why?q=Who+climbed+the+Matterhorn%3F"


def test_why_shows_both_phrases_what_pays_and_the_verdict(client: TestClient) -> None:
    told = client.get("/api" + WHY).json()
    page = client.get(WHY).text
    for side in ("a", "b"):
        assert f"<b>{told[side]['score']:.2f}</b>" in page
    assert html.escape(told["verdict"]["sentence"], quote=False) in page
    assert len(re.findall('class="painted', page)) == 2
    assert 'data-from="' in page
    assert len(page) < 60_000


def test_why_stays_a_page_when_a_phrase_is_nowhere(client: TestClient) -> None:
    for other in ("&against_phrase=Everest", "&phrase=Everest", "&passage=nowhere", "&against=40", "&against_index=x"):
        answer = client.get(WHY + other)
        assert answer.status_code == 200, other
        assert 'role="alert"' in answer.text
        assert 'class="side side-a"' in answer.text
    assert "Ask a question" in client.get("/why").text


def test_answers_and_passages_lead_to_why_and_keep_the_question(client: TestClient) -> None:
    ask = Page(client, "/?q=Who+climbed+the+Matterhorn%3F&k=3")
    assert len({href for href in ask.hrefs("/why") if "answer=" in href}) == 3
    assert all("q=Who+climbed" in href for href in ask.hrefs("/passages/"))
    sentences = Page(client, "/?q=Who+climbed+the+Matterhorn%3F&unit=sentence")
    assert all("span=" in href for href in sentences.hrefs("/why"))
    passage = Page(client, "/passages/alps/1?phrase=summit&q=Who+climbed%3F")
    (why,) = passage.hrefs("/why")
    assert "passage=alps%2F1" in why
    assert client.get(why).status_code == 200
    assert all("q=Who" in href for href in passage.hrefs("/passages/"))


def test_what_is_wrong_beside_a_is_told_beside_its_fields_which_keep_it(client: TestClient) -> None:
    page = client.get(WHY + "&against_passage=nowhere").text
    assert 'value="nowhere" aria-invalid="true" aria-describedby="any-error"' in page
    told = re.search('id="any-error"[^>]*>([^<]+)', page)
    assert told
    assert html.unescape(told[1]) == "There is no passage 'nowhere' in the index: Discover lists what there is."


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("&where=abc", "A filter is a key of the metadata"),
        ("&k=0", "give a whole number from 1 to 50"),
        ("&strategy=best", "choose one of"),
        ("&answer=1&phrase=Whymper", "exclude each other"),
        ("&against=2&against_phrase=Whymper", "exclude each other"),
    ],
)
def test_what_cannot_be_read_is_told_on_the_page_and_refused_by_the_api(
    client: TestClient, wrong: str, told: str
) -> None:
    page = client.get(WHY + wrong, headers={"accept": "text/html"})
    assert page.status_code == 200
    assert told in page.text
    assert 'class="side side-a"' in page.text
    assert client.get("/api" + WHY + wrong).status_code in (409, 422)


def test_a_slider_reaches_the_weight_that_is_told_to_cure(client: TestClient) -> None:
    assert re.findall(r'max="(\d+)" step[^>]*data-group="(\w+)"', client.get(WHY).text)[1] == ("3", "sparse")
    cures = [Cure("sparse", 11.65, None), Cure("dense", 0.2, 0.4), Cure("lexical", 4000.0, None)]
    assert [reach(cures, group) for group in GROUPS] == [3, 13, 3]
