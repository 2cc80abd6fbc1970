"""What a reader does grows with its file, not with the square of it: counted in calls, so no machine is too slow."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from sparc_search.loaders.blocks import blocks_of
from sparc_search.loaders.resuming import Item
from sparc_search.records import Document

Items = Callable[..., list[Item]]

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
SMALL = 500
"""Units in the smaller file."""
MOST = 2.6
"""Times the calls for twice the file. Work that grows with the square makes them four times as many."""


@pytest.mark.parametrize(("reader", "unit"), [(reader, unit) for reader, units in UNITS.items() for unit in units])
def test_twice_the_file_is_about_twice_the_work(items: Items, reader: str, unit: str) -> None:
    before, after = AROUND.get(reader, ("", ""))
    read_whole(items, reader, (before + unit + after).encode())  # libraries are imported and patterns made by now
    once, twice = (calls_of(items, reader, (before + unit * size + after).encode()) for size in (SMALL, 2 * SMALL))
    assert twice < MOST * once + 1_000


def calls_of(items: Items, reader: str, data: bytes) -> int:
    """How many functions are called, in Python and in C, to read a file and find the blocks of its documents."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read_whole(items, reader, data)
    finally:
        sys.setprofile(None)
    return calls


def read_whole(items: Items, reader: str, data: bytes) -> None:
    """Read a file, and find the blocks of its documents."""
    for item in items(reader, data, "a.py" if reader == "code" else "a"):
        if isinstance(item, Document):
            for _ in blocks_of(item):
                pass
