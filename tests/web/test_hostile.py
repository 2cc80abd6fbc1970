"""A corpus that wants to do harm: markup, scripts, characters that hide or turn around, words without end."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_corpus import plain
from starlette.testclient import TestClient

from sparc_search.records import Document
from sparc_search.web.app import create_app
from sparc_search.web.rendering import environment, visible

from .conftest import MakeIndex, client_of

EVIL = "<script>alert(1)</script> <img src=x onerror=alert(2)> \"'><svg/onload=alert(3)> {{ 7*7 }} {% raw %} </title>"
HIDDEN = "abc\u202edcba\u2066x\u2069 \x1b[31mred\x07 \u200bzero \x00 \x85 \ufeff end \ud7ff \U000e0041"
LONG = "x" * 1_000_000


@pytest.fixture(scope="module")
def hostile(make_index: MakeIndex) -> TestClient:
    documents = [
        Document("evil<b>", f"Whymper climbed {EVIL} here.", f"Title {EVIL}", f"/tmp/{EVIL}", {"<i>key": f"v{EVIL}"}),
        Document("hidden", f"Whymper climbed {HIDDEN} there.", f"T {HIDDEN}", "s", {"k": HIDDEN}),
        Document("long", f"Whymper {LONG} climbed.", LONG, LONG, {"k": LONG}),
        plain("dots", "Whymper climbed ../../etc/passwd and % . / ? # & = + again."),
    ]
    return client_of(create_app(make_index(documents)), headers={"accept": "text/html"})


class Seen(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


PAGES = (
    "/?q=Who+climbed%3F&k=20",
    "/?q=%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE",
    "/?q=x&where=%3Cb%3E%3D%22%3E%3Cscript%3E",
    "/discover",
    "/discover?text=%3Cscript%3E",
    "/discover?open=evil%3Cb%3E%2F0&column=metadata.%3Ci%3Ekey&column=text&column=title&column=source",
    "/discover?of=documents",
    "/discover?document=evil%3Cb%3E",
    "/why?q=Who+climbed+%3Cscript%3Ealert(1)%3C%2Fscript%3E%3F",
    "/why?q=Who+climbed%3F&passage=evil%3Cb%3E%2F0&against_passage=hidden%2F0&weights=all",
    "/why?q=Who+climbed%3F&against_phrase=%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/passages/evil%3Cb%3E/0",
    "/passages/evil%3Cb%3E/0?token=4",
    "/passages/evil%3Cb%3E/0?token=4&tab=json",
    "/passages/hidden/0?token=1",
    "/passages/long/0?token=1",
    "/features/%3C",
    "/features/%3Cscript%3E",
    "/features/whymper",
    "/features",
    "/index",
    "/passages/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
)


@pytest.mark.parametrize("address", PAGES)
def test_no_page_runs_or_hides_anything(hostile: TestClient, address: str) -> None:
    answer = hostile.get(address)
    assert answer.status_code in (200, 404, 422), answer.text[:500]
    page = answer.text
    seen = Seen(page)
    scripts = [attributes for tag, attributes in seen.tags if tag == "script"]
    sources = [re.sub("^/static/[0-9a-f]{10}/", "", attributes["src"] or "") for attributes in scripts]
    assert sources == ["theme.js", "main.js", *(["why.js"] if address.startswith("/why") else [])]
    for tag, attributes in seen.tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "style")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        for name in ("href", "src", "action"):
            value = attributes.get(name) or "/"
            assert value.startswith(("/", "#")), value
            assert not value.startswith("//"), value
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f-\x9f\u200b]", page)
    assert len(page) < 1_500_000


def test_bad_words_are_still_readable(hostile: TestClient) -> None:
    page = hostile.get("/passages/evil%3Cb%3E/0").text
    assert "Title &lt;script&gt;alert(1)" in page
    assert "49" not in re.findall(r"\{\{ 7\*7 \}\}|(?<!\d)49(?!\d)", page)[:1] or "{{ 7*7 }}" in page
    assert "⟨U+202E⟩" in hostile.get("/passages/hidden/0").text
    assert "␛" in hostile.get("/passages/hidden/0").text


def test_a_word_of_a_megabyte_is_cut_for_the_eye(hostile: TestClient) -> None:
    page = hostile.get("/passages/long/0").text
    assert "1,000,000 characters" in page
    assert "x" * 20_000 not in page


def test_json_escapes_what_hides(hostile: TestClient) -> None:
    raw = hostile.get("/api/passages/hidden/0").content
    assert raw.isascii()
    assert b"\\u202e" in raw


@settings(deadline=None)
@given(st.text(max_size=60))
def test_whatever_a_template_prints_is_escaped(text: str) -> None:
    page = environment().from_string('<p title="{{ text }}">{{ text }}</p>').render(text=text)
    inner = page.removeprefix('<p title="').removesuffix("</p>")
    assert inner.count("<") == 0
    assert inner.count(">") == 1
    assert inner.count('"') == 1


@settings(deadline=None)
@given(st.text())
def test_visible_text_holds_nothing_that_hides(text: str) -> None:
    shown = visible(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert visible(shown) == shown
    if text.isascii() and text.isprintable():
        assert shown == text
