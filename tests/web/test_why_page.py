"""/why as a page: what it shows, how it stays a page, and who leads to it."""

from __future__ import annotations

import html
import re

from starlette.testclient import TestClient

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
