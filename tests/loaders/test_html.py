from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letters import Letters
from selectolax.lexbor import LexborHTMLParser

from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.furniture import furniture_of
from sparc_search.loaders.html_depth import DEEPEST, flattened
from sparc_search.loaders.passages import cut
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document

One, Reject, ReadFiles = Callable[..., Document], Callable[..., str], Callable[..., list[Document | Passed]]

PAGE = """<!doctype html><html><head><title>Alpine
huts</title><meta name="author" content="A. Warden"><style>p {color: red}</style></head>
<body><nav><a href="/">Home</a></nav><header>Club</header>
<main><h1>Alpine huts</h1><p>A <em>first</em>
paragraph.<br>Second line.</p>
<script>alert("no")</script>
<h2>Opening</h2>loose text <b>too</b>
<ul><li>in summer<li>in winter</ul>
<h3>Beds</h3><table><tr><th>hut<th>beds<tr><td>Old<td>12</table>
<div>One<div>Two</div>Three</div></main><footer>(c)</footer></body></html>"""


def test_headings_become_sections_and_furniture_goes(one: One) -> None:
    document = one("html", PAGE.encode(), "huts.html")
    assert document.title == "Alpine huts"
    assert document.metadata == {"author": "A. Warden"}
    assert document.text == (
        "Alpine huts\n\nA first paragraph.\nSecond line.\n\nOpening\n\nloose text too\n\nin summer\nin winter\n\n"
        "Beds\n\nhut | beds\nOld | 12\n\nOne\n\nTwo\n\nThree\n\nHome\n\n(c)\n\nClub"
    )
    assert list(furniture_of(document)) == ["Home", "(c)", "Club"]
    headings = [section.heading for section in document.sections if not section.kind]
    assert headings == ["", "Opening", f"Opening{ARROW}Beds"]


def test_the_encoding_that_the_page_names_is_used(one: One) -> None:
    page = '<meta charset="iso-8859-1"><p>Zürich</p>'
    assert one("html", page.encode("latin-1")).text == "Zürich"


def test_a_page_that_is_not_what_it_says_is_rejected(reject: Reject) -> None:
    assert "not" in reject("html", b'<meta charset="base64"><p>Z\xfcrich</p>')


@pytest.mark.parametrize("charset", ["utf-8", "no-such-charset"])
def test_a_page_that_is_plainly_in_another_encoding_is_read_and_told(one: One, charset: str) -> None:
    document = one("html", f'<meta charset="{charset}"><p>'.encode() + b"Z\xfcrich</p>")
    assert document.text == "Zürich"
    assert document.metadata == {"encoding": "windows-1252"}


def test_a_damaged_page_still_gives_its_text(one: One) -> None:
    assert one("html", b"<p>One</div></p><h2>Head<p>Two <b>bold<tabl").text == "One\n\nHeadTwo bold"


def test_a_page_whose_elements_are_never_closed_is_read(one: One) -> None:
    fonts = "".join(f"<font color={number}>" for number in range(400))  # each paragraph would begin with all of them
    assert one("html", (fonts + "<p>word" * 5_000).encode()).text.split() == ["word"] * 5_000


@pytest.mark.parametrize("tag", ["div", "blockquote", "ul><li", "span", "custom-tag", "section"])
def test_elements_nest_to_a_bounded_depth_and_no_text_is_lost(tag: str, one: One) -> None:
    """Depth, not time: what a parser does for each block grows with the elements that are open."""
    page = f"<{tag}>word " * 2_000
    deepest = LexborHTMLParser(flattened(page)).css("*")[-1]
    depth = 0
    while deepest.parent is not None:
        deepest, depth = deepest.parent, depth + 1
    assert depth <= 2 * DEEPEST + 3  # of an item and its list only the list is counted
    assert one("html", page.encode()).text.split() == ["word"] * 2_000


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["<div>", "</div>", "<ul><li>", "</ul>", "<b>", "</b>", "<p>", "<!-- <div> -->", "</p>"]))
)
def test_what_is_not_deep_stays_as_it_is_and_words_stay_in_any_case(tags: list[str]) -> None:
    page = "".join(f"{tag}word{number} " for number, tag in enumerate(tags))
    assert flattened(page) == page
    words = [f"word{number}" for number in range(len(tags))]
    assert LexborHTMLParser(flattened(page, deepest=2)).body.text().split() == words


def test_tags_in_comments_and_scripts_are_none() -> None:
    page = f"<!--{'<div>' * 600}--><script>'{'<div>' * 600}'</script><div>text</div>"
    assert flattened(page) == page


def test_elements_that_were_left_open_end_with_what_is_around_them() -> None:
    page = "<table>" + "<tr><td><font>cell</td></tr>" * 600 + "</table><div>text</div>"
    assert "<div>text</div>" in flattened(page + "<p>" * 600)


def test_menus_are_marked_at_the_end_of_the_text_and_not_indexed(one: One) -> None:
    page = """<header>Our club</header><main><nav class="toc">Up</nav><p>Text.</p>
    <footer class="footer"><nav>Next</nav> page</footer></main><p>Imprint</p>"""
    document = one("html", page.encode())
    assert document.text == "Text.\n\nUp\n\nNext page\n\nOur club Imprint"
    assert list(furniture_of(document)) == ["Up", "Next page", "Our club Imprint"]
    assert [passage.text for passage in cut(document, Letters(200))] == ["Text."]


def test_a_form_around_a_whole_page_is_the_page(one: One) -> None:
    text = "The hut is open from June to October. " * 20
    page = f"<form><p>{text}</p><form></form></form><form>Find <select><option>all</select></form>"
    document = one("html", page.encode())
    assert document.text == f"{text.strip()}\n\nFind"
    assert list(furniture_of(document)) == ["Find"]


def test_lists_in_lists_are_looked_at_a_bounded_number_of_times(one: One) -> None:
    page = "<ul><li>word " * 20_000
    assert one("html", page.encode()).text.split() == ["word"] * 20_000


def test_a_table_of_contents_within_a_list_is_left_out(one: One) -> None:
    contents = "".join(f"<li><a href='#{name}'>{name}</a></li>" for name in ("one", "two", "three"))
    document = one("html", f"<ul><li>kept<ul>{contents}</ul></li></ul>".encode())
    assert list(furniture_of(document)) == ["one two three"]
    assert [passage.text for passage in cut(document, Letters(200))] == ["kept"]
