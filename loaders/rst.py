"""reStructuredText, as it is written for docutils and Sphinx: headings, lists, terms, tables and code become blocks.

Directives are known by their kind, not by their name: what one describes (a function, an option) is a term over its
text; notes and the like are text; code is code; what only steers the program that makes pages is left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import BinaryIO, Final

from sparc_search.reader import Reader
from sparc_search.records import BlockKind, Document

from .builder import TextBuilder
from .decode import guessed, whole
from .limits import LINE_BYTES, METADATA_CHARACTERS, TEXT_BYTES
from .tables import Cell, head_and_rows

_ADORNED: Final = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*")
_DIRECTIVE: Final = re.compile(r"\.\. +(?:\|[^|]{1,80}\| +)?([\w:.+-]{1,60}?)::(?: +(.*))?$")
_FOOTNOTE: Final = re.compile(r"\.\. +\[[^\]]{1,60}\] +(.*)$")
_ITEM: Final = re.compile(r"(?:[-*+\u2022]|\(?(?:\d{1,4}|#|[A-Za-z])[.)]) +(?=\S)")
_FIELD: Final = re.compile(r":((?:[^:\\`]|\\.){1,80}):(?: +(.*))?$")
# Possessive: with two ways to read the dashes of each, a line of n flags that ends in no option had 2 to the nth ways.
_FLAG: Final = r"(?:--?+|/)[\w?#-]{1,40}+(?:[ =][<\w>-]{1,40}+)?+"
_OPTION: Final = re.compile(rf"({_FLAG}(?:, {_FLAG})*)(?:  +(\S.*))?$")
_GRID: Final = re.compile(r"\+(?:[-=]+\+)+\s*$")
_RULED: Final = re.compile(r"=+(?: +=+)+\s*$")
_CODE: Final = frozenset((
    "code", "code-block", "sourcecode", "highlight", "parsed-literal", "math", "productionlist", "prompt",
    "testcode", "doctest", "console",
))  # fmt: skip
_LEFT_OUT: Final = frozenset((
    "toctree", "contents", "image", "include", "literalinclude", "raw", "index", "only", "meta",
    "default-role", "role", "highlightlang", "currentmodule", "module", "sectionauthor", "codeauthor",
    "tabularcolumns", "unicode", "testsetup", "testcleanup", "automodule", "autoclass", "autofunction",
    "replace", "target-notes", "sectnum", "header", "footer",
))  # fmt: skip
_TEXT: Final = frozenset((
    "note", "warning", "tip", "hint", "important", "caution", "danger", "attention", "error", "seealso",
    "admonition", "topic", "sidebar", "epigraph", "figure", "container", "compound", "rubric", "centered",
    "versionadded", "versionchanged", "deprecated", "todo", "table", "list-table", "csv-table", "rst-class",
    "class", "cssclass", "hlist",
))  # fmt: skip
_INLINE: Final = (
    (re.compile(r"(?<!`)``(.+?)``(?!`)", re.DOTALL), r"\1"),
    (re.compile(r":[\w:+-]{1,60}:`[~!]?([^`<]*?[^`<\s])\s*<[^`<>]*>`"), r"\1"),
    (re.compile(r":[\w:+-]{1,60}:`[~!]?([^`]+)`"), r"\1"),
    (re.compile(r"`([^`<]*?[^`<\s])\s*<[^`<>]*>`__?"), r"\1"),
    (re.compile(r"`([^`]+)`(?:__?)?"), r"\1"),
    (re.compile(r"(?<![\w*])\*\*(?=\S)([^*]+?)\*\*(?!\w)"), r"\1"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)\*(?!\w)"), r"\1"),
    (re.compile(r" ?\[(?:\d+|#\w*|\*)\]_"), ""),
    (re.compile(r"(?<=\w)__?(?=[\s.,;:!?)]|$)"), ""),
    (re.compile(r"\\([^\w\s])"), r"\1"),
)
_DEEPEST: Final = 40  # levels of lists and quotations; what is deeper has no structure


class RstReader(Reader):
    """reStructuredText: one document; headings become the title path, fields at its top the metadata."""

    suffixes = (".rst", ".rest")
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        csv.field_size_limit(LINE_BYTES)  # of a csv-table; the library's own is 128 KiB
        found = guessed(whole(stream, TEXT_BYTES))
        walk = _Walk()
        lines = [line.rstrip() for line in re.split(r"\r\n|[\n\r\f]", found.text.expandtabs(8))]
        walk.through(lines)
        title = walk.stated.pop("title", "")
        yield walk.builder.build(source, source, title, walk.stated | found.metadata)


reader = RstReader()


class _Walk:
    """Goes through lines, and into what is indented below them."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.stated: dict[str, str] = {}
        self._styles: list[tuple[str, bool]] = []  # of headings, in the order of their first use: that is their level
        self._has_text = False

    def through(self, lines: Sequence[str], under: str = "", depth: int = 0) -> None:
        """Read some lines that have the same indentation, and what stands below them."""
        at = 0
        while at < len(lines):
            line = lines[at]
            if not line:
                at += 1
            elif line[0] == " ":
                at = self._quotation(lines, at, under, depth)
            elif not depth and (taken := self._heading(lines, at)):
                at += taken
            elif _GRID.match(line) or _RULED.match(line):
                at = self._table(lines, at, under)
            elif line.startswith(".."):
                at = self._explicit(lines, at, under, depth)
            elif item := _ITEM.match(line):
                at = self._item(lines, at, item.end(), under, depth)
            elif field := _FIELD.match(line):
                at = self._field(lines, at, field, under)
            else:
                at = self._text(lines, at, under, depth)

    def _add(self, text: str, kind: BlockKind = "paragraph", under: str = "") -> None:
        self._has_text = True
        self.builder.block(text, kind, under)

    def _heading(self, lines: Sequence[str], at: int) -> int:
        """How many lines a heading takes that begins here; 0 if none does."""
        over = bool(_ADORNED.fullmatch(lines[at]))
        rest = [*lines[at + over : at + over + 2], "", ""]
        title, adornment = rest[0].strip(), rest[1]
        match = _ADORNED.fullmatch(adornment)
        if not match or not title or _ADORNED.fullmatch(title) or len(adornment) < min(len(title), 4):
            return 1 if over else 0  # a line between paragraphs
        if over and lines[at][0] != adornment[0]:
            return 1
        style = adornment[0], over
        if style not in self._styles:
            self._styles.append(style)
        self.builder.heading(self._styles.index(style) + 1, _plain(title))
        return 2 + over

    def _quotation(self, lines: Sequence[str], at: int, under: str, depth: int) -> int:
        body, end = _indented(lines, at)
        self._below(body, under, depth)
        return end

    def _below(self, body: Sequence[str], under: str, depth: int) -> None:
        if depth < _DEEPEST:
            self.through(body, under, depth + 1)
        else:
            self._add("\n".join(body), under=under)

    def _explicit(self, lines: Sequence[str], at: int, under: str, depth: int) -> int:
        """A directive, a footnote, a comment, a target."""
        body, end = _indented(lines, at + 1)
        if footnote := _FOOTNOTE.match(lines[at]):
            self._below([footnote[1], *body], under, depth)
        elif directive := _DIRECTIVE.match(lines[at]):
            name = directive[1].rpartition(":")[2].lower()
            self._directive(name, directive[2] or "", body, under, depth)
        return end

    def _directive(self, name: str, argument: str, body: list[str], under: str, depth: int) -> None:
        options = 0
        while options < len(body) and _FIELD.match(body[options]):
            options += 1
        rest = body[options:]
        if name in _LEFT_OUT:
            return
        if name in _CODE:
            self._add("\n".join(rest), "code", under)
        elif name == "csv-table":
            self._rows(list(csv.reader(rest)), under, _plain(argument), _option(body, "header"))
        elif name == "list-table":
            head = int(value) if (value := _option(body, "header-rows")).isdecimal() and len(value) < 3 else 0
            self._rows(_listed(rest), under, _plain(argument), head_rows=head)
        elif name in _TEXT or not argument:
            self._below([argument, "", *rest] if argument else rest, under, depth)
        else:
            terms = [argument, *body[:options]] if body and not _FIELD.match(body[0]) else [argument]
            term = " ".join(_plain(terms[0]).split())
            self._add(term, "term", under)
            self._below(rest, term, depth)

    def _item(self, lines: Sequence[str], at: int, width: int, under: str, depth: int) -> int:
        _, end = _indented(lines, at + 1)
        text = [
            lines[at][width:],
            *(line[width:] if not line[:width].strip() else line.lstrip() for line in lines[at + 1 : end]),
        ]
        first = _paragraph(text, 0)
        self._add(_introducing(text[:first]), "item", under)
        after = self._literal(text, first, under) if text[first - 1].endswith("::") else first
        self._below(text[after:], under, depth)
        return end

    def _field(self, lines: Sequence[str], at: int, field: re.Match[str], under: str) -> int:
        body, end = _indented(lines, at + 1)
        name, value = _plain(field[1]), _plain(" ".join([field[2] or "", *body]).strip())
        if not self._has_text and value and len(value) <= METADATA_CHARACTERS:
            self.stated[name.lower()] = value
        if value:
            self.builder.block(f"{name}: {value}", "item", under)
        return end

    def _text(self, lines: Sequence[str], at: int, under: str, depth: int) -> int:
        """A paragraph, an option or a term with what is said of it, or an example."""
        line = lines[at]
        if line.startswith(">>> "):
            end = _paragraph(lines, at)
            self._add("\n".join(lines[at:end]), "code", under)
            return end
        body, after = _indented(lines, at + 1)
        option = _OPTION.match(line)
        if option and (option[2] or body):
            return self._defined(option[1], [option[2] or "", *body], after, under, depth)
        if body and lines[at + 1] and not line.endswith("::"):
            return self._defined(_plain(line), body, after, under, depth)
        end = _paragraph(lines, at)
        text = lines[at:end]
        self._add(_introducing(text), under=under)
        return self._literal(lines, end, under) if text[-1].endswith("::") else end

    def _literal(self, lines: Sequence[str], at: int, under: str) -> int:
        """Add the code that begins after these empty lines; where it ends."""
        while at < len(lines) and not lines[at]:
            at += 1
        body, end = _indented(lines, at)
        self._add("\n".join(body), "code", under)
        return end

    def _defined(self, term: str, body: Sequence[str], end: int, under: str, depth: int) -> int:
        name = " ".join(term.split())
        self._add(name, "term", under)
        first = _paragraph(body, 0 if body[0] else 1)
        self._add(_plain("\n".join(body[:first])).strip(), "item", name)
        self._below(body[first:], name, depth)
        return end

    # --- tables ------------------------------------------------------------------------------------------------------

    def _table(self, lines: Sequence[str], at: int, under: str) -> int:
        end = at
        ruled = _RULED.match(lines[at])
        if ruled:
            rules = 0
            while end < len(lines) and (lines[end] or rules < 3):
                rules += bool(_RULED.match(lines[end]))
                end += 1
                if rules > 1 and end < len(lines) and not lines[end] and _RULED.match(lines[end - 1]):
                    break
            cells, head_rows = _ruled_rows(lines[at:end])
        else:
            while end < len(lines) and lines[end][:1] in ("+", "|"):
                end += 1
            cells, head_rows = _grid_rows(lines[at:end])
        self._rows(cells, under, head_rows=head_rows)
        return end

    def _rows(
        self, rows: Sequence[Sequence[str]], under: str, caption: str = "", header: str = "", head_rows: int = 0
    ) -> None:
        if header:
            rows, head_rows = [*csv.reader([header]), *rows], 1
        cells = [[Cell(_plain(text), head=number < head_rows) for text in row] for number, row in enumerate(rows)]
        self._has_text = True
        self.builder.table(*head_and_rows(cells), caption, under)


def _indented(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """The indented lines from here on, without their common indentation, and where they end."""
    end = at
    while end < len(lines) and (not lines[end] or lines[end][0] == " "):
        end += 1
    body = list(lines[at:end])
    depth = min((len(line) - len(line.lstrip()) for line in body if line), default=0)
    while body and not body[-1]:
        body.pop()
    return [line[depth:] for line in body], end


def _paragraph(lines: Sequence[str], at: int) -> int:
    """Where the lines end that begin here: at the first empty one."""
    while at < len(lines) and lines[at]:
        at += 1
    return at


def _introducing(lines: Sequence[str]) -> str:
    """The text of a paragraph; `::` at its end, which says that code follows, is a colon."""
    text = _plain("\n".join(lines))
    if not text.endswith("::"):
        return text
    return text[:-3].rstrip() if text.endswith(" ::") else text[:-2] + ":" * (len(text) > 2)


def _option(body: Sequence[str], name: str) -> str:
    fields = (_FIELD.match(line) for line in body)
    return next((field[2] or "" for field in fields if field and field[1] == name), "")


def _listed(lines: Sequence[str]) -> list[list[str]]:
    """The rows of a list of lists: `* - a` begins a row, `- b` the next cell of it."""
    rows: list[list[str]] = []
    for line in lines:
        stripped = line.lstrip("* ") if line.startswith("* ") else line.strip()
        if line.startswith("* "):
            rows.append([])
        if stripped.startswith("-") and rows:
            rows[-1].append(stripped[1:].strip())
        elif rows and rows[-1]:
            rows[-1][-1] += f" {stripped}"
    return rows


def _grid_rows(lines: Sequence[str]) -> tuple[list[list[str]], int]:
    """The rows of a table drawn with + and |; those above a line of = are its head."""
    rows: list[list[str]] = []
    head = 0
    fresh = True
    for line in lines:
        if line.startswith("+"):
            head = len(rows) if "=" in line else head
            fresh = True
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if fresh:
            rows.append(cells)
        else:
            rows[-1] = [f"{a} {b}".strip() for a, b in zip(rows[-1], [*cells, *[""] * len(rows[-1])], strict=False)]
        fresh = False
    return rows, head


def _ruled_rows(lines: Sequence[str]) -> tuple[list[list[str]], int]:
    """The rows of a table whose columns are told by lines of =; of three such lines the second ends its head."""
    columns = [(match.start(), match.end()) for match in re.finditer("=+", lines[0])]
    bounds = [*(start for start, _ in columns), None]
    rows: list[list[str]] = []
    heads: list[int] = []
    for line in lines:
        if _RULED.match(line):
            heads.append(len(rows))
            continue
        cells = [line[start:end].strip() for start, end in pairwise(bounds)]
        if not any(cells) or re.fullmatch(r"[- ]+", line):
            continue
        if rows and not cells[0] and len(heads) > 1:  # a cell of several lines
            rows[-1] = [f"{a} {b}".strip() for a, b in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    return rows, heads[1] if len(heads) > 2 else 0


def _plain(text: str) -> str:
    """Without marks of emphasis, roles and targets."""
    for pattern, words in _INLINE:
        text = pattern.sub(words, text)
    return text
