"""What a reader does grows with its file, not with the square of it: counted in steps, so no machine is too slow."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from docx import Document as Document_docx
from openpyxl import Workbook
from written_archive import archive
from written_pdf import pdf

from sparc_search.loaders import blocks
from sparc_search.loaders.blocks import blocks_of
from sparc_search.loaders.resuming import Item
from sparc_search.records import Document

Items = Callable[..., list[Item]]
Trace = Callable[[FrameType, str, Any], Any]

UNITS = {
    "html": ["<div>", "<ul><li>x", "<footer><nav>x</footer>", "<p>x", "<dl><dt>a<dd>b", "<tr><td colspan=9>x",
             "<table><tr><td>a<td>b</table>", "<table><tr><td>", "<h1>x", "<a href='#x'>x</a>", "<!--", "<script>"],
    "markdown": ["*a **b ", "[", "![", "`", "```\n", "- x\n", "> ", "# x\n", "<div>", "[a]: b\n", "+++\n"],
    "text": ["a ", "a\n\n", "Next\n\n", ". . . 3\n", "\f"],
    "rst": ["* x\n\n", "==\nx\n==\n", "`a", "+--+\n|  |\n", ".. x::\n\n   y\n\n", ":a: b\n", "=== ===\n",
            ".. |x| replace:: y\n"],
    "tex": ["\\begin{itemize}\\item x", "\\begin{tabular}{ll}a&b\\\\", "{", "$", "\\newcommand{\\x}{a}", "\\x",
            "\\footnote{a}", "\\begin{verbatim}", "\\textbf{a"],
    "rtf": ["{", "}", "\\par ", "\\u8364?", "\\trowd\\cellx100 a\\cell\\row ", "{\\*\\x ", "{\\fonttbl"],
    "code": ["def f():\n  pass\n", "# x\n", '"""', "/*", "class A {\n", "int a(int b) {\n", "\n"],
    "json": ["[1],", '{"text": "x"},', '"a",'],
    "jsonl": ['{"text": "x"}\n', "[\n"],
    "csv": ["a,b\n", '"', '"a\n', "a,"],
    "chat": ["01.01.20, 10:00 - A: b\n", "x\n"],
    "subtitles": ["1\n00:00:01,000 --> 00:00:02,000\nx\n\n", "<b>", "-->"],
    "mail": ["From a@b Tue Mar  4 10:00:00 2025\n", "Subject: x\n", "--b\n", "> q\n", "=?utf-8?q?a?= "],
    "notebook": ['{"cell_type": "markdown", "source": ["x"]},'],
    "wikipedia": ["<page><title>a</title><ns>0</ns><revision><text>x</text></revision></page>"],
}  # fmt: skip
"""Of which a hostile file is made, for each reader."""

AROUND = {
    "rtf": ("{\\rtf1 ", ""),
    "json": ("[", "1]"),
    "notebook": ('{"nbformat": 4, "cells": [', '{"cell_type": "raw", "source": []}]}'),
    "wikipedia": ("<mediawiki>", "</mediawiki>"),
}
NESTED = "<text:list><item><text:p>x</text:p>", "</item></text:list>"
WORD = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"


def odt(body: str) -> bytes:
    return archive(content_xml=f"<o xmlns:text='t' xmlns:table='b'><body>{body}</body></o>")


def docx(body: str) -> bytes:
    stream = io.BytesIO()
    document = Document_docx()
    document.save(stream)
    changed = io.BytesIO()
    with zipfile.ZipFile(stream) as old, zipfile.ZipFile(changed, "w") as new:
        for member in old.namelist():
            text = f"<w:document {WORD}><w:body>{body}</w:body></w:document>".encode()
            new.writestr(member, text if member == "word/document.xml" else old.read(member))
    return changed.getvalue()


def xlsx(rows: int, columns: int) -> bytes:
    book = Workbook()
    for _ in range(rows):
        book.active.append(["x"] * columns)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def pptx(slides: int, lines: int) -> bytes:
    shown = "<a:p><a:r><a:t>x</a:t></a:r></a:p>" * lines
    slide = f"<p:sld xmlns:p='p' xmlns:a='a'><p:sp><p:txBody>{shown}</p:txBody></p:sp></p:sld>"
    return archive(**{f"ppt__slides__slide{number}_xml": slide for number in range(slides)})


def epub(chapters: int, body: str) -> bytes:
    items = "".join(f"<item id='i{n}' href='{n}.xhtml'/>" for n in range(chapters))
    spine = "".join(f"<itemref idref='i{n}'/>" for n in range(chapters))
    package = f"<package xmlns:dc='d'><dc:title>x</dc:title>{items}{spine}</package>"
    container = "<container><rootfile full-path='b.opf'/></container>"
    pages = {f"{number}_xhtml": body for number in range(chapters)}
    return archive(**{"META-INF__container_xml": container, "b_opf": package}, **pages)


WORD_ROW = "<w:tr><w:tc><w:p/></w:tc><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc></w:tr>"
ROW = "<table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>"
MADE: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "paragraphs of Word": ("docx", lambda n: docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>" * n)),
    "rows of Word": ("docx", lambda n: docx(f"<w:tbl>{WORD_ROW * n}</w:tbl>")),
    "tables of Word": ("docx", lambda n: docx(f"<w:tbl>{WORD_ROW}</w:tbl>" * n)),
    "runs of Word": ("docx", lambda n: docx(f"<w:p>{'<w:r><w:t>x</w:t></w:r>' * n}</w:p>")),
    "paragraphs of odt": ("odt", lambda n: odt("<text:p>x</text:p>" * n)),
    "lists of odt": ("odt", lambda n: odt(NESTED[0] * n + NESTED[1] * n)),
    "rows of odt": ("odt", lambda n: odt(f"<table:table>{ROW * n}</table:table>")),
    "spans of odt": ("odt", lambda n: odt(f"<text:p>{'<text:span>x' * n}{'</text:span>' * n}</text:p>")),
    "rows of a sheet": ("xlsx", lambda n: xlsx(n, 2)),
    "columns of a sheet": ("xlsx", lambda n: xlsx(2, n)),
    "slides": ("pptx", lambda n: pptx(n, 1)),
    "lines of a slide": ("pptx", lambda n: pptx(1, n)),
    "chapters": ("epub", lambda n: epub(n, "<p>x")),
    "elements of a chapter": ("epub", lambda n: epub(1, "<div><p>x" * n)),
    "lines of a page": ("pdf", lambda n: pdf(["x y"] * n)),
    "pages": ("pdf", lambda n: pdf(*[["x y"]] * n)),
    "cells of a page": ("pdf", lambda n: pdf(["x      y      z"] * n)),
}
READERS = str(Path(blocks.__file__).parent)
SMALL = 300
"""Units in the smaller file."""
MOST = 2.6
"""Times the steps for twice the file. Work that grows with the square makes them four times as many."""


@pytest.mark.parametrize(("reader", "unit"), [(reader, unit) for reader, units in UNITS.items() for unit in units])
def test_twice_the_file_is_about_twice_the_work(items: Items, reader: str, unit: str) -> None:
    before, after = AROUND.get(reader, ("", ""))
    must_grow_evenly(items, reader, lambda size: (before + unit * size + after).encode())


@pytest.mark.parametrize("name", MADE)
def test_twice_an_archive_or_pdf_is_about_twice_the_work(items: Items, name: str) -> None:
    reader, made = MADE[name]
    assert any(isinstance(item, Document) for item in items(reader, made(2), "a"))
    must_grow_evenly(items, reader, made, small=100)


def must_grow_evenly(items: Items, reader: str, made: Callable[[int], bytes], small: int = SMALL) -> None:
    """Compare the steps for two sizes of a file."""
    read_whole(items, reader, made(1))  # libraries are imported and patterns made by now
    once, twice = (steps_of(items, reader, made(size)) for size in (small, 2 * small))
    assert twice < MOST * once + 1_000


def steps_of(items: Items, reader: str, data: bytes) -> int:
    """How many functions are called, and lines of readers run, to read a file and find the blocks of its documents."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> Trace | None:
        nonlocal steps
        steps += event in ("line", "call", "c_call")
        return count if frame.f_code.co_filename.startswith(READERS) else None

    sys.setprofile(count)
    sys.settrace(count)
    try:
        read_whole(items, reader, data)
    finally:
        sys.settrace(None)
        sys.setprofile(None)
    return steps


def read_whole(items: Items, reader: str, data: bytes) -> None:
    """Read a file, and find the blocks of its documents."""
    for item in items(reader, data, "a.py" if reader == "code" else "a"):
        if isinstance(item, Document):
            for _ in blocks_of(item):
                pass
