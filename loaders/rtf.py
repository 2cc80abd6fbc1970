"""RTF: paragraphs, headings by their outline level, items, tables; fonts, pictures and running heads are left out."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import whole
from .limits import METADATA_CHARACTERS, TEXT_BYTES
from .tables import Cell, head_and_rows

_TOKEN: Final = re.compile(
    r"\\([A-Za-z]{1,32})(-?\d{1,9})? ?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z'])|([{}])|[\r\n]+|([^\\{}\r\n]+)|."
)
_LEFT_OUT: Final = frozenset((
    "fonttbl", "colortbl", "stylesheet", "listtable", "listoverridetable", "revtbl", "rsidtbl", "generator",
    "info", "pict", "object", "nonshppict", "header", "headerl", "headerr", "headerf", "footer", "footerl",
    "footerr", "footerf", "themedata", "colorschememapping", "datastore", "latentstyles", "xmlnstbl",
    "mmathPr", "fldinst", "filetbl", "listtext", "pntext",
))  # fmt: skip
_STATED: Final = frozenset(("title", "author"))  # groups of `info`
_CHARACTERS: Final = {
    "tab": "\t", "line": "\n", "emdash": "\u2014", "endash": "\u2013", "lquote": "\u2018", "rquote": "\u2019",
    "ldblquote": "\u201c", "rdblquote": "\u201d", "bullet": "\u2022", "emspace": " ", "enspace": " ", "nestcell": " ",
}  # fmt: skip
_SYMBOLS: Final = {"~": "\N{NO-BREAK SPACE}", "_": "\N{NON-BREAKING HYPHEN}", "\n": "\n", "\r": "\n"}
_DEEPEST: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds until the closing brace."""

    shown: bool = True
    stated: str = ""
    """Which fact about the document it tells."""
    after_unicode: int = 1
    """Characters that stand beside `\\u` for programs that do not know it."""


class RtfReader(Reader):
    """RTF: one document; headings become the title path, tables stay tables."""

    suffixes = (".rtf",)
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        data = whole(stream, TEXT_BYTES)
        if not data.lstrip().startswith(b"{\\rtf"):
            raise RejectedDocument("not RTF: it does not begin with {\\rtf", "check its ending, or name its --format")
        walk = _Walk()
        walk.through(data.decode("latin-1"))
        title = walk.stated.pop("title", "")
        yield walk.builder.build(source, source, title, walk.stated)


reader = RtfReader()


class _Walk:
    """Goes through the tokens of a file and hands finished blocks to a builder."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.stated: dict[str, str] = {}
        self._groups = [_Group()]
        self._text: list[str] = []
        self._bytes = bytearray()  # characters of the code page that are not decoded yet
        self._codec = "cp1252"
        self._skip = 0  # characters that stand for one that was read already
        self._heading = 0
        self._is_item = self._in_table = False
        self._row: list[Cell] = []
        self._rows: list[list[Cell]] = []

    def through(self, text: str) -> None:
        """Read everything; what is missing at the end of a file that was cut off is no more than missing."""
        at = 0
        while match := _TOKEN.match(text, at):
            at = match.end()
            word, number, byte, symbol, brace, plain = match.groups()
            if word == "bin":
                at += max(0, int(number or 0))
            elif word:
                self._word(word, None if number is None else int(number))
            elif byte:
                self._character(bytes.fromhex(byte))
            elif brace:
                self._brace(brace)
            elif symbol == "*":
                self._change(shown=False)
            elif symbol:
                self._add(_SYMBOLS.get(symbol, symbol if symbol in "\\{}" else ""))
            elif plain:
                self._plain(plain)
        self._end_paragraph()
        self._end_table()

    def _brace(self, brace: str) -> None:
        self._flush()
        if brace == "{":
            if len(self._groups) >= _DEEPEST:
                raise RejectedDocument(f"more than {_DEEPEST:,} groups within each other", "save it again as RTF")
            self._groups.append(self._groups[-1])
            return
        group = self._groups.pop() if len(self._groups) > 1 else self._groups[0]
        if group.stated and group.stated != self._groups[-1].stated:
            value = " ".join(self._taken().split())
            if value and len(value) <= METADATA_CHARACTERS:
                self.stated[group.stated] = value

    def _change(self, **values: object) -> None:
        self._groups[-1] = replace(self._groups[-1], **values)  # type: ignore[arg-type]

    def _word(self, word: str, number: int | None) -> None:
        if word in _STATED and not self._groups[-1].shown:
            self._flush()
            self._text.clear()
            self._change(stated=word)
        elif word in _LEFT_OUT:
            self._is_item |= word in ("listtext", "pntext")
            self._change(shown=False)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word == "u" and number is not None:
            self._add(chr(number & 0xFFFF))
            self._skip = self._groups[-1].after_unicode
        elif word == "uc":
            self._change(after_unicode=max(0, number or 0))
        elif word == "ansicpg":
            self._codec = _codec(number or 0)
        elif action := _ACTIONS.get(word):
            action(self, number)

    def _character(self, byte: bytes) -> None:
        if self._skip:
            self._skip -= 1
        else:
            self._bytes += byte

    def _plain(self, text: str) -> None:
        skipped, self._skip = min(self._skip, len(text)), max(0, self._skip - len(text))
        if text := text[skipped:]:
            self._bytes += text.encode("latin-1")

    def _add(self, text: str) -> None:
        self._flush()
        if self._groups[-1].shown or self._groups[-1].stated:
            self._text.append(text)

    def _flush(self) -> None:
        text, self._bytes = self._bytes.decode(self._codec, "replace"), bytearray()
        if text and (self._groups[-1].shown or self._groups[-1].stated):
            self._text.append(text)

    def _taken(self) -> str:
        """What was read since it was taken last; two halves of a character become one."""
        self._flush()
        text, self._text = "".join(self._text), []
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "")

    # --- words that end or describe something ------------------------------------------------------------------------

    def _end_paragraph(self, number: int | None = None) -> None:
        if not self._groups[-1].shown:
            return
        if self._in_table:
            self._add("\n")
            return
        if text := self._taken().strip():
            self._end_table()
            if self._heading:
                self.builder.heading(self._heading, text)
            else:
                self.builder.block(text, "item" if self._is_item else "paragraph")
        self._is_item = False

    def _plain_paragraph(self, number: int | None) -> None:
        self._heading, self._in_table = 0, False

    def _outline(self, number: int | None) -> None:
        self._heading = min(max(number or 0, 0), 8) + 1

    def _table(self, number: int | None) -> None:
        self._in_table = True

    def _end_cell(self, number: int | None) -> None:
        self._row.append(Cell(self._taken()))

    def _end_row(self, number: int | None) -> None:
        self._rows.append(self._row)
        self._row, self._in_table = [], False

    def _end_table(self) -> None:
        if rows := [*self._rows, *([self._row] if self._row else [])]:
            self.builder.table(*head_and_rows(rows))
        self._rows, self._row = [], []


_ACTIONS: Final[Mapping[str, Callable[[_Walk, int | None], None]]] = {
    "par": _Walk._end_paragraph,
    "sect": _Walk._end_paragraph,
    "page": _Walk._end_paragraph,
    "pard": _Walk._plain_paragraph,
    "outlinelevel": _Walk._outline,
    "intbl": _Walk._table,
    "cell": _Walk._end_cell,
    "row": _Walk._end_row,
}


def _codec(page: int) -> str:
    name = {10000: "mac_roman", 65001: "utf-8"}.get(page, f"cp{page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"
