from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sparc_search.encoder import Encoder
from sparc_search.loaders.blocks import blocks_of
from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.passages import cut
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document
from sparc_search.source_lines import line_of

One, Reject, ReadFiles = Callable[..., Document], Callable[..., str], Callable[..., list[Document | Passed]]

PYTHON = '''"""Module docs."""
import os

# The default timeout
# is 5 seconds.
TIMEOUT = 5


class Hut(Base):
    """A hut."""

    # how many fit
    @cached
    def beds(self, a,
            b):
        """Count them."""
        return a


hut = Hut()
'''
C = """/* Copyright
 * someone */
#include <stdio.h>

// Adds two.
static int add(int a, int b)
{
    if (a) {
        return b;
    }
}
"""
GO = "package main\n\nfunc (s *Server) Start(port int) error {\n\treturn nil\n}\n"


def blocks(document: Document) -> list[tuple[str, str, str]]:
    return [
        (section.heading, block.kind, document.text[block.start : block.end].partition("\n")[0])
        for section, some in blocks_of(document)
        for block in some
    ]


def test_definitions_are_headings_and_comments_are_paragraphs(one: One) -> None:
    document = one("code", PYTHON.encode(), "huts/hut.py")
    assert (document.title, document.text) == ("hut.py", PYTHON)
    assert blocks(document) == [
        ("", "paragraph", '"""Module docs."""'),
        ("", "code", "import os"),
        ("", "paragraph", "# The default timeout"),
        ("", "code", "TIMEOUT = 5"),
        ("class Hut", "code", "class Hut(Base):"),
        ("class Hut", "paragraph", '"""A hut."""'),
        (f"class Hut{ARROW}def beds", "paragraph", "# how many fit"),
        (f"class Hut{ARROW}def beds", "code", "@cached"),
        (f"class Hut{ARROW}def beds", "paragraph", '"""Count them."""'),
        (f"class Hut{ARROW}def beds", "code", "return a"),
        ("", "code", "hut = Hut()"),
    ]


def test_languages_with_braces(one: One) -> None:
    assert blocks(one("code", C.encode(), "add.c")) == [
        ("", "paragraph", "/* Copyright"),
        ("", "code", "#include <stdio.h>"),
        ("static int add", "paragraph", "// Adds two."),
        ("static int add", "code", "static int add(int a, int b)"),
    ]
    assert blocks(one("code", GO.encode(), "main.go"))[-1][0] == "func (s *Server) Start"


def test_an_answer_in_code_knows_its_line(read_files: ReadFiles, tmp_path: Path, toy_encoder: Encoder) -> None:
    """Also where the same line stands twice, with line ends of either kind."""
    text = "def one():\n    return x\n\n\ndef two():\n    return x\n"
    for name, content in (("a.py", text), ("b.py", text.replace("\n", "\r\n"))):
        (tmp_path / name).write_bytes(content.encode())
        (document,) = read_files(tmp_path / name)
        assert isinstance(document, Document)
        passages = cut(document, toy_encoder)
        at = [line_of(passage, passage.text.index("return"), len(passage.text)) for passage in passages]
        assert at == [2, 6]


def test_code_that_no_person_wrote(reject: Reject) -> None:
    assert "very long" in reject("code", b"var a=1;" * 1000, "app.min.js")
