from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import date

import pytest
from written_archive import archive

from sparc_search.loaders.resuming import Item
from sparc_search.records import Document

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]


def test_odt(one: One) -> None:
    content = """<o xmlns:text="t" xmlns:table="b"><body>
    <text:h text:outline-level="1">Huts</text:h><text:p>A <span>first</span> paragraph.</text:p>
    <text:list><item><text:p>bread</text:p></item><item><text:p>cheese</text:p></item></text:list>
    <table:table><table:table-row><table:table-cell><text:p>hut</text:p></table:table-cell><table:table-cell>
    <text:p>beds</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>Old</text:p>
    </table:table-cell><table:table-cell><text:p>12</text:p></table:table-cell></table:table-row></table:table>
    </body></o>"""
    document = one("odt", archive(content_xml=content), "huts.odt")
    assert document.text == "Huts\n\nA first paragraph.\n\nbread\ncheese\n\nhut | beds\nOld | 12"
    assert [section.kind for section in document.sections][-4:] == ["head", "cell", "row", "cell"]


def slide(title: str, *lines: str) -> str:
    body = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f"""<p:sld xmlns:p="p" xmlns:a="a"><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><p:txBody>
    <a:p><a:r><a:t>{title}</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:txBody>{body}</p:txBody></p:sp></p:sld>"""


def test_pptx_slides_are_pages_in_the_order_of_their_numbers(one: One) -> None:
    data = archive(ppt__slides__slide10_xml=slide("Ten", "x"), ppt__slides__slide2_xml=slide("Two", "bread", "cheese"))
    document = one("pptx", data, "talk.pptx")
    assert document.text == "Two\n\nbread\ncheese\n\nTen\n\nx"
    headings = [(section.heading, section.page) for section in document.sections if section.heading]
    assert headings == [("Two", 1), ("Two", 2), ("Ten", 2)]


def test_epub_chapters_in_the_order_of_the_spine(items: Items) -> None:
    container = '<container><rootfile full-path="OPS/book.opf"/></container>'
    package = """<package xmlns:dc="d"><dc:title>Alps</dc:title>
    <item id="b" href="two.xhtml"/><item id="a" href="o%6ee.xhtml"/>
    <itemref idref="a"/><itemref idref="b"/></package>"""
    pages = {"OPS__one_xhtml": "<!DOCTYPE html><h1>One</h1><p>First.", "OPS__two_xhtml": "<p>Second."}
    data = archive(**{"META-INF__container_xml": container, "OPS__book_opf": package}, **pages)
    first, second = items("epub", data, "alps.epub")
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.title, first.text, second.text) == ("Alps", "One\n\nFirst.", "Second.")
    assert (first.id, second.id) == ("alps.epub#1", "alps.epub#2")


def test_xlsx_sheets_are_tables(one: One) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Staff"
    for row in (("name", "born", "desk"), ("Ada", date(1815, 12, 10), 7), ("Charles", None, 8)):
        book.active.append(row)
    data = io.BytesIO()
    book.save(data)
    document = one("xlsx", data.getvalue(), "staff.xlsx")
    assert document.text == "Staff\n\nname | born | desk\nAda | 1815-12-10 | 7\nCharles |  | 8"


@pytest.mark.parametrize("name", ["odt", "pptx", "epub", "xlsx"])
def test_damaged_and_hostile_archives_are_rejected(reject: Reject, name: str) -> None:
    assert reject(name, b"no archive")
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("content.xml", bytes(300 << 20))
    assert "suspicious" in reject(name, bomb.getvalue())
    entities = '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'
    assert "document type" in reject(name, archive(content_xml=entities))
