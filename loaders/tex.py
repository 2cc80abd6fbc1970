"""LaTeX: sections become headings, items, tables and verbatim text become blocks, commands go and their words stay.

It is not run: macros of the file's own are put in by their letters (`tex_macros`), others are commands that go,
and files that it takes in are read by themselves.
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
from .tex_macros import AS_IT_IS, Macros, argument, hidden, shown

_COMMENT: Final = re.compile(r"(?m)(?<!\\)((?:\\\\)*)%.*(?:\n[ \t]*(?=\S))?")
_LEVELS: Final = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_STRUCTURE: Final = re.compile(
    rf"\\begin\s*\{{(?P<begin>[^{{}}]{{1,40}})\}}|\\end\s*\{{(?P<end>[^{{}}]{{1,40}})\}}"
    rf"|\\(?P<heading>{'|'.join(_LEVELS)})\*?(?![A-Za-z])(?:\[[^\]]{{0,400}}\])?"
    r"|\\(?P<item>item(?![A-Za-z])|bibitem(?:\[[^\]]{0,400}\])?\s*\{[^{}]{0,400}\})"
    r"|\\(?P<caption>caption)\*?(?![A-Za-z])(?:\[[^\]]{0,400}\])?|(?P<gap>\n[ \t]*\n\s*)"
)
_TABLES: Final = frozenset(("tabular", "tabular*", "tabularx", "longtable", "array"))
_LISTS: Final = frozenset(("itemize", "enumerate", "description"))
_FACTS: Final = 20_000  # characters of the body in which title, author and date are looked for
_DROPPED: Final = re.compile(
    r"\\(?:label|ref|eqref|pageref|autoref|cref|Cref|cite[a-z]*|index|vspace|hspace|includegraphics|input|include"
    r"|bibliography|bibliographystyle|usepackage|documentclass|pagestyle|thispagestyle|setlength|setcounter|color"
    r"|newenvironment|renewenvironment|newtheorem|fontsize|rule|hypersetup|addtocounter|newcounter|newlength)"
    r"\*?(?![A-Za-z])(?:\s*\[[^\]]{0,400}\]|\s*\{[^{}]{0,400}\})*"
)
_LOOKS: Final = re.compile(  # arguments that say how the last one looks, or where it leads
    r"\\(?:(?:href|textcolor|colorbox|parbox|raisebox|rotatebox|scalebox|foreignlanguage)(?:\s*\[[^\]]{0,400}\])*"
    r"|(?:multirow|resizebox)\s*\{[^{}]{0,80}\})\s*\{[^{}]{0,2000}\}"
)
_NOTE: Final = re.compile(r"\\(?:footnote|footnotetext|thanks)(?![A-Za-z])(?:\[[^\]]{0,40}\])?")
_ACCENT: Final = re.compile(
    r"\\([\"'`^~=.]|[uvHcdbkr](?![A-Za-z]))\s*(?:\{\\?([A-Za-z])\}|\\([ij])(?![A-Za-z]) ?|([A-Za-z]))"
)
_ACCENTS: Final = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323", "b": "\u0331", "k": "\u0328",
    "r": "\u030a",
}  # fmt: skip
_LETTERS: Final = {
    "ss": "ß", "o": "ø", "O": "Ø", "ae": "æ", "AE": "Æ", "oe": "œ", "aa": "å", "l": "ł", "L": "Ł", "ldots": "…",
    "dots": "…", "LaTeX": "LaTeX", "TeX": "TeX", "S": "§", "pounds": "£", "euro": "€", "and": ", ", "OE": "Œ",
    "AA": "Å", "i": "\u0131", "copyright": "©", "textdegree": "°", "times": "\u00d7", "pm": "±", "leq": "≤",
    "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "approx": "≈", "cdot": "·", "to": "→", "rightarrow": "→",
    "infty": "∞", "textless": "<", "textgreater": ">", "textbar": "|", "textendash": "\u2013", "textemdash": "\u2014",
    "quad": " ", "qquad": " ",
    **{name: hidden(character) for name, character in (
        ("textbackslash", "\\"), ("textasciitilde", "~"), ("textasciicircum", "^"), ("textunderscore", "_"),
        ("textdollar", "$"), ("textquotesingle", "'"), ("textasciigrave", "`"),
    )},
}  # fmt: skip
_COMMAND: Final = re.compile(r"\\([A-Za-z]+)\*?(?:\s*\[[^\]\n]{0,400}\])?[ \t]*(?:\{\})?")
_MARKS: Final = {
    "``": "\u201c",
    "''": "\u201d",
    '"`': "\u201e",
    "\"'": "\u201c",
    "---": "\u2014",
    "--": "\u2013",
    "~": " ",
}
_MARK: Final = re.compile(r"``|''|\"`|\"'|---|(?<=\w)--(?=\w)|(?<=\s)--(?=\s)|~")  # not the -- of an option
_SPAN: Final = re.compile(r"\\multicolumn\s*\{(\d{1,3})\}\s*\{[^{}]{0,80}\}")
_RULE: Final = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot"
    r"|c(?:mid)?(?:line|rule)(?:\([^)]{0,80}\))?\{[^{}]{0,80}\})"
)
_SPACE: Final = re.compile(r" (?=[,.;:)])")  # left by what pointed elsewhere


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
        macros = Macros()
        preamble, body = macros.expanded(preamble), macros.expanded(body.partition("\\end{document}")[0])
        stated = dict(_stated(_COMMENT.sub(r"\1", preamble + body[:_FACTS])))
        title, metadata = stated.pop("title", ""), stated | found.metadata
        builder = TextBuilder()
        builder.facts(metadata, body)
        _Walk(builder).through(body)
        yield builder.build(source, source, title, metadata)


reader = TexReader()


def _stated(text: str) -> Iterator[tuple[str, str]]:
    for name in ("title", "author", "date"):
        if match := re.search(rf"\\{name}(?![A-Za-z])\s*(?:\[[^\]]*\])?\s*(?=\{{)", text):
            said, _ = _without_notes(argument(text, match.end())[0])
            value = " ".join(_words(said).split())
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
                heading, at = argument(text, at)
                self._builder.heading(_LEVELS.index(match["heading"]) + 1, _words(_COMMENT.sub(r"\1", heading)))
            elif match["caption"]:
                caption, at = argument(text, at)
                self._builder.block(_words(_COMMENT.sub(r"\1", caption)))
            elif match["item"]:
                at = self._item(text, at)
            start = at
        self._block(text[start:])

    def _begin(self, text: str, at: int, name: str) -> int:
        """What an environment holds, if that is not walked through; where to go on."""
        if name == "comment" or name in AS_IT_IS or name in _TABLES:
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
                text = text[argument(text, 0)[1] :].lstrip()
        rows = [
            [_cell(cell) for cell in re.split(r"(?<!\\)&", row)] for row in re.split(r"\\\\(?:\[[^\]]{0,40}\])?", text)
        ]
        rows = [row for row in rows if any(cell.text for cell in row)]
        self._builder.table(*head_and_rows(grid(rows)), under=self._term)

    def _block(self, text: str) -> None:
        text, notes = _without_notes(_COMMENT.sub(r"\1", text))
        if words := _words(text).strip():
            self._builder.block(words, self._kind, self._term)
            self._kind = "paragraph"
        for note in notes:  # after the sentence it would stand in the middle of
            self._builder.block(_words(note), "paragraph", self._term)


def _without_notes(text: str) -> tuple[str, list[str]]:
    """A text, and what stands in its footnotes."""
    parts, notes, at = list[str](), list[str](), 0
    while match := _NOTE.search(text, at):
        note, end = argument(text, match.end())
        parts += [text[at : match.start()], "" if note else " "]
        notes += [note] if note else []
        at = end if note else match.end()
    return "".join([*parts, text[at:]]), notes


def _cell(text: str) -> Cell:
    text = _RULE.sub("", text)
    span = _SPAN.search(text)
    return Cell(" ".join(_words(_SPAN.sub("", text)).split()), int(span[1]) if span else 1)


def _words(text: str) -> str:
    """A text without its commands: their arguments stay, what points elsewhere goes."""
    text = re.sub(r"\\\\(?:\[[^\]]{0,40}\])?|\\newline\b", "\n", text)
    text = re.sub(r"\\([{}&%$#_])", lambda match: hidden(match[1]), text)
    text = _LOOKS.sub("", _DROPPED.sub("", text))
    text = _NOTE.sub(" ", text)
    text = _ACCENT.sub(lambda match: _accented(match[1], match[2] or match[3] or match[4]), text)
    text = _COMMAND.sub(lambda match: _LETTERS.get(match[1], ""), text)
    text = re.sub(r"\\[-/@]", "", text)
    text = re.sub(r"\\[,;:! ]", " ", text)
    text = re.sub(r"[{}$]|\\[()\[\]]", "", text)
    text = _MARK.sub(lambda match: _MARKS[match[0]], text)
    return "\n".join(_SPACE.sub("", " ".join(line.split())) for line in shown(text).split("\n"))


def _accented(accent: str, letter: str) -> str:
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])
