"""Markdown: headings become sections, markup goes, lists, tables and code become blocks of text.

Front matter becomes title and metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, Final

from sparc_search.reader import Reader
from sparc_search.records import BlockKind, Document

from .builder import TextBuilder
from .decode import guessed, whole
from .front_matter import front_matter
from .limits import TEXT_BYTES
from .tables import Cell, head_and_rows

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_TERM: Final = 80  # characters of an item under which a nested list stands
_DEFINED: Final = re.compile(r"[^\n]+(?:\n: [^\n]+)+(?:\n(?!: )[^\n]+)*")  # a term and its definitions, a line each
_NESTING: Final = 100  # levels of lists and quotations (an item is one below its list); what is deeper has no markup
_BRACKETS: Final = 5  # of a line within each other; each costs the whole paragraph once more, and none is a link
_MARKERS: Final = re.compile(r"^(?:[>*+-](?=[ \t>]|$)|\d{1,9}[.)](?=[ \t])|[ \t])+", re.MULTILINE)


class MarkdownReader(Reader):
    """Markdown: one document; headings become the title path, front matter the metadata."""

    suffixes = (".md", ".markdown", ".mdown")

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        found = guessed(whole(stream, TEXT_BYTES))
        metadata, body = front_matter(found.text)
        metadata |= found.metadata
        builder = TextBuilder()
        builder.facts(metadata, body)
        add_markdown(builder, body)
        yield builder.build(source, source, metadata.pop("title", ""), metadata)


reader = MarkdownReader()


def add_markdown(builder: TextBuilder, text: str) -> None:
    """Add what a text in Markdown holds."""
    _Walk(builder).through(_parser().parse(text))


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING + 10}).enable("table")  # beyond which it drops text
    parser.block.ruler.before("table", "too_deep", _too_deep)
    inline = MarkdownIt("commonmark", {"maxNesting": _BRACKETS})

    def within_blocks(state: StateCore) -> None:
        """The parser's own step, with a bound of its own: `[` and `!`, 50 KB of them, took seconds to be no link."""
        for token in state.tokens:
            if token.type == "inline":
                token.children = []
                inline.inline.parse(token.content, inline, state.env, token.children)

    parser.core.ruler.at("inline", within_blocks)
    return parser


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule of the parser: in an item that is nested very deep, the rest of its lines is text as it stands."""
    if state.level < _NESTING or silent:
        return False
    line = start
    while line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        line += 1
    text = state.getLines(start, line, state.blkIndent, False)
    state.push("code_block", "code", 0).content = _MARKERS.sub("", text)
    state.line = line
    return True


class _Walk:
    """Goes through the tokens of a page and hands finished blocks to a builder."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._heading = 0
        self._kind: BlockKind = "paragraph"  # of the next block
        self._under = [""]  # what it stands under, for each list that is open
        self._rows: list[list[Cell]] = []  # of the table that is open
        self._in_row = self._in_head = False
        self._item: tuple[str, BlockKind] | None = None  # held back: a short item under which a list stands is a term

    def through(self, tokens: Iterable[Token]) -> None:
        """Visit all tokens."""
        for token in tokens:
            match token.type:
                case "heading_open":
                    self._heading = int(token.tag[1:])
                case "inline":
                    self._text(_inline(token))
                case "fence" | "code_block":
                    self._block(token.content, "code")
                case "list_item_open":
                    self._end_item()
                    self._kind = "item"
                case "bullet_list_open" | "ordered_list_open":
                    self._under.append(self._end_item(list_follows=True) or self._under[-1])
                case "bullet_list_close" | "ordered_list_close":
                    self._end_item()
                    self._under.pop()
                    self._kind = "paragraph"
                case "thead_open" | "thead_close":
                    self._in_head = token.nesting > 0
                case "tr_open":
                    self._in_row = True
                    self._rows.append([])
                case "tr_close":
                    self._in_row = False
                case "table_close":
                    self._end_item()
                    self._builder.table(*head_and_rows(self._rows), under=self._under[-1])
                    self._rows = []
                case _:
                    pass
        self._end_item()

    def _text(self, text: str) -> None:
        if self._heading:
            self._end_item()
            self._builder.heading(self._heading, text)
            self._heading = 0
        elif self._in_row:
            self._rows[-1].append(Cell(text, head=self._in_head))
        elif _DEFINED.fullmatch(text):
            term, *definitions = text.split("\n: ")
            self._block(term, "term")
            for definition in definitions:
                self._block(definition, "item", " ".join(term.split()))
        else:
            self._block(text, self._kind)

    def _block(self, text: str, kind: BlockKind, under: str = "") -> None:
        self._end_item()
        self._kind = "paragraph"
        if kind == "item" and not under and len(text) <= _TERM:
            self._item = text, kind
        else:
            self._builder.block(text, kind, under or self._under[-1])

    def _end_item(self, list_follows: bool = False) -> str:
        """Hand over the item that was held back; its text, if it is the term for the list that follows."""
        if not self._item:
            return ""
        (text, kind), self._item = self._item, None
        self._builder.block(text, "term" if list_follows else kind, self._under[-1])
        return " ".join(text.split()) if list_follows else ""


def _inline(token: Token) -> str:
    """The text of a line of Markdown: links by their words, images by their description, no marks of emphasis."""
    return "".join(_inline_part(child) for child in token.children or ())


def _inline_part(token: Token) -> str:
    match token.type:
        case "text" | "code_inline" | "image":
            return token.content
        case "softbreak" | "hardbreak":
            return "\n"
        case _:
            return ""
