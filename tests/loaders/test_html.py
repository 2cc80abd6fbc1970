from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.limits import ChildLimits
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
        "Beds\n\nhut | beds\nOld | 12\n\nOne\n\nTwo\n\nThree"
    )
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


def test_a_page_that_takes_for_ever_is_one_reject(read_files: ReadFiles, tmp_path: Path) -> None:
    (tmp_path / "a-deep.html").write_bytes(b"<div>" * 300_000 + b"deep")  # the parser's time grows with its square
    (tmp_path / "b-good.html").write_bytes(b"<p>good")
    bad, good = read_files(tmp_path, limits=ChildLimits(seconds=5, seconds_per_mebibyte=0))
    assert isinstance(bad, Passed)
    assert "took longer than 5 seconds" in bad.reason
    assert isinstance(good, Document)
    assert good.text == "good"


def test_lists_in_lists_are_looked_at_a_bounded_number_of_times(one: One) -> None:
    page = "<ul><li>word " * 20_000
    assert one("html", page.encode()).text.split() == ["word"] * 20_000


def test_a_table_of_contents_within_a_list_is_left_out(one: One) -> None:
    contents = "".join(f"<li><a href='#{name}'>{name}</a></li>" for name in ("one", "two", "three"))
    assert one("html", f"<ul><li>kept<ul>{contents}</ul></li></ul>".encode()).text == "kept"
