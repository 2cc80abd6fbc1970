"""LaTeX: sections become headings, items, tables and verbatim text become blocks, commands go and their words stay.

It is not run: what a macro would write is not known, and files that it takes in are read by themselves.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import BinaryIO, Final

from sparc_search.reader import Reader
from sparc_search.records import BlockKind, Document

from .builder import TextBuilder
from .decode import guessed, whole
from .limits import METADATA_CHARACTERS, TEXT_BYTES
from .tables import Cell, grid, head_and_rows

_COMMENT: Final = re.compile(r"(?m)(?<!\\)((?:\\\\)*)%.*(?:\n[ \t]*(?=\S))?")
_LEVELS: Final = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_STRUCTURE: Final = re.compile(
    rf"\\begin\s*\{{(?P<begin>[^{{}}]{{1,40}})\}}|\\end\s*\{{(?P<end>[^{{}}]{{1,40}})\}}"
    rf"|\\(?P<heading>{'|'.join(_LEVELS)})\*?(?![A-Za-z])(?:\[[^\]]*\])?|\\(?P<item>item)(?![A-Za-z])"
    r"|\\(?P<caption>caption)\*?(?![A-Za-z])(?:\[[^\]]*\])?|(?P<gap>\n[ \t]*\n\s*)"
)
_AS_IT_IS: Final = frozenset(("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt"))
_TABLES: Final = frozenset(("tabular", "tabular*", "tabularx", "longtable", "array"))
_LISTS: Final = frozenset(("itemize", "enumerate", "description"))
_ARGUMENT: Final = 2_000  # characters of an argument; a brace that is never closed must not be looked for for ever
_DROPPED: Final = re.compile(
    r"\\(?:label|ref|eqref|pageref|cite[a-z]*|index|vspace|hspace|includegraphics|input|include|bibliography"
    r"|bibliographystyle|usepackage|documentclass|pagestyle|thispagestyle|setlength|setcounter|newcommand|renewcommand)"
    r"\*?(?![A-Za-z])(?:\s*\[[^\]]{0,400}\]|\s*\{[^{}]{0,400}\})*"
)
_LINK: Final = re.compile(r"\\href\s*\{[^{}]{0,2000}\}")
_ACCENT: Final = re.compile(r"\\([\"'`^~=.]|[uvHcdbkr](?![A-Za-z]))\s*(?:\{\\?([A-Za-z])\}|\\?([A-Za-z]))")
_ACCENTS: Final = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323", "b": "\u0331", "k": "\u0328",
    "r": "\u030a",
}  # fmt: skip
_LETTERS: Final = {
    "ss": "ß", "o": "ø", "O": "Ø", "ae": "æ", "AE": "Æ", "oe": "œ", "aa": "å", "l": "ł", "L": "Ł", "ldots": "…",
    "dots": "…", "textbackslash": "\\", "LaTeX": "LaTeX", "TeX": "TeX", "S": "§", "pounds": "£", "euro": "€",
}  # fmt: skip
_COMMAND: Final = re.compile(r"\\([A-Za-z]+)\*?(?:\s*\[[^\]\n]{0,400}\])?[ \t]*(?:\{\})?")
_MARKS: Final = {"``": "\u201c", "''": "\u201d", "---": "\u2014", "--": "\u2013", "~": " "}
_MARK: Final = re.compile(r"``|''|---|(?<=\w)--(?=\w)|(?<=\s)--(?=\s)|~")  # not the -- of an option
_SPAN: Final = re.compile(r"\\multicolumn\s*\{(\d{1,3})\}\s*\{[^{}]{0,80}\}")
_RULE: Final = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot"
    r"|c(?:mid)?(?:line|rule)(?:\([^)]*\))?\{[^{}]*\})"
)
_SPACE: Final = re.compile(r" (?=[,.;:)])")  # left by what pointed elsewhere
_ESCAPED: Final = "\ue000"  # in place of a brace that is a character, until the others are gone


class TexReader(Reader):
    """LaTeX (.tex): one document; sections become the title path."""

    suffixes = (".tex", ".latex")
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        found = guessed(whole(stream, TEXT_BYTES))
        text = found.text.replace("\r\n", "\n")
        preamble, begins, body = text.partition("\\begin{document}")
        if not begins:
            preamble, body = "", text
        stated = dict(_stated(_COMMENT.sub(r"\1", preamble + body[: 10 * _ARGUMENT])))
        title, metadata = stated.pop("title", ""), stated | found.metadata
        builder = TextBuilder()
        body = body.partition("\\end{document}")[0]
        builder.facts(metadata, body)
        _Walk(builder).through(body)
        yield builder.build(source, source, title, metadata)


reader = TexReader()


def _stated(text: str) -> Iterator[tuple[str, str]]:
    for name in ("title", "author", "date"):
        if match := re.search(rf"\\{name}(?![A-Za-z])\s*(?:\[[^\]]*\])?\s*(?=\{{)", text):
            value = " ".join(_words(_argument(text, match.end())[0]).split())
            if value and len(value) <= METADATA_CHARACTERS:
                yield name, value


class _Walk:
    """Goes through the text from one piece of structure to the next and hands finished blocks to a builder."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._kind: BlockKind = "paragraph"
        self._term = ""
        self._caption = ""

    def through(self, text: str) -> None:
        """Read everything."""
        at, start = 0, 0
        while match := _STRUCTURE.search(text, at):
            at = match.end()
            self._block(text[start : match.start()])
            if match["begin"]:
                at = self._begin(text, at, match["begin"])
            elif match["end"]:
                self._kind, self._term = ("paragraph", "") if match["end"] in _LISTS else (self._kind, self._term)
            elif match["heading"]:
                heading, at = _argument(text, at)
                self._builder.heading(_LEVELS.index(match["heading"]) + 1, _words(_COMMENT.sub(r"\1", heading)))
            elif match["caption"]:
                caption, at = _argument(text, at)
                self._builder.block(_words(_COMMENT.sub(r"\1", caption)))
            elif match["item"]:
                at = self._item(text, at)
            start = at
        self._block(text[start:])

    def _begin(self, text: str, at: int, name: str) -> int:
        """What an environment holds, if that is not walked through; where to go on."""
        if name == "comment" or name in _AS_IT_IS or name in _TABLES:
            end = text.find(f"\\end{{{name}}}", at)
            end = len(text) if end < 0 else end
            inside = text[at:end]
            if name in _TABLES:
                self._table(_COMMENT.sub(r"\1", inside))
            elif name != "comment":
                self._builder.block(re.sub(r"\A(?:\[[^\]]*\]|\{[^{}]*\})*[ \t]*\n", "", inside), "code", self._term)
            return min(len(text), end + len(name) + 6)
        while option := re.compile(r"\s*(?:\[[^\]]{0,400}\]|\{[^{}\n]{0,80}\})").match(text, at):
            at = option.end()
        return at

    def _item(self, text: str, at: int) -> int:
        self._kind, self._term = "item", ""
        if term := re.compile(r"\s*\[((?:[^\[\]{}]|\{[^{}]{0,400}\}){0,400})\]").match(text, at):
            self._term = " ".join(_words(term[1]).split())
            self._builder.block(self._term, "term")
            return term.end()
        return at

    def _table(self, text: str) -> None:
        text = re.sub(r"\A\s*(?:\[[^\]]*\])?\s*", "", text)
        for _ in range(2):  # the width of some, and the columns
            if text.startswith("{"):
                text = text[_argument(text, 0)[1] :].lstrip()
        rows = [[_cell(cell) for cell in re.split(r"(?<!\\)&", row)] for row in re.split(r"\\\\(?:\[[^\]]*\])?", text)]
        rows = [row for row in rows if any(cell.text for cell in row)]
        self._builder.table(*head_and_rows(grid(rows)), under=self._term)

    def _block(self, text: str) -> None:
        if words := _words(_COMMENT.sub(r"\1", text)).strip():
            self._builder.block(words, self._kind, self._term)
            self._kind = "paragraph"


def _cell(text: str) -> Cell:
    text = _RULE.sub("", text)
    span = _SPAN.search(text)
    return Cell(" ".join(_words(_SPAN.sub("", text)).split()), int(span[1]) if span else 1)


def _argument(text: str, at: int) -> tuple[str, int]:
    """The text in the braces that begin here, and where it ends; nothing if none begin."""
    while at < len(text) and text[at].isspace():
        at += 1
    if not text.startswith("{", at):
        return "", at
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at, min(len(text), at + _ARGUMENT)):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return text[at + 1 : match.start()], match.end()
    return "", at + 1


def _words(text: str) -> str:
    """A text without its commands: their arguments stay, what points elsewhere goes."""
    text = _LINK.sub("", _DROPPED.sub("", text))
    text = re.sub(r"\\footnote(?![A-Za-z])", " ", text)
    text = _ACCENT.sub(lambda match: _accented(match[1], match[2] or match[3]), text)
    text = re.sub(r"\\\\(?:\[[^\]]*\])?|\\newline\b", "\n", text)
    text = re.sub(r"\\([{}])", lambda match: chr(ord(_ESCAPED) + "{}".index(match[1])), text)
    text = re.sub(r"\\([&%$#_])", r"\1", text)
    text = _COMMAND.sub(lambda match: _LETTERS.get(match[1], ""), text)
    text = re.sub(r"\\[,;:! ]", " ", text)
    text = re.sub(r"[{}$]|\\[()\[\]]", "", text)
    text = _MARK.sub(lambda match: _MARKS[match[0]], text)
    text = text.replace(_ESCAPED, "{").replace(chr(ord(_ESCAPED) + 1), "}")
    return "\n".join(_SPACE.sub("", " ".join(line.split())) for line in text.split("\n"))


def _accented(accent: str, letter: str) -> str:
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])
