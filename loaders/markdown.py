"""Markdown: headings become sections, markup goes, text stays. Front matter becomes title and metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, Final

from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import decoded, whole
from .limits import METADATA_CHARACTERS, TEXT_BYTES

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

_FENCE: Final = "---"
_NESTING: Final = 100  # levels of lists and quotations (an item is one below its list); what is deeper has no markup
_MARKERS: Final = re.compile(r"^(?:[>*+-](?=[ \t>]|$)|\d{1,9}[.)](?=[ \t])|[ \t])+", re.MULTILINE)


class MarkdownReader(Reader):
    """Markdown: one document; headings become the title path, front matter the metadata."""

    suffixes = (".md", ".markdown", ".mdown")

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        metadata, body = _front_matter(decoded(whole(stream, TEXT_BYTES)))
        builder = TextBuilder()
        _fill(builder, body)
        yield builder.build(source, source, metadata.pop("title", ""), metadata)


reader = MarkdownReader()


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The `key: value` lines between two `---` at the top, and what comes after them."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].strip() != _FENCE:
        return {}, text
    for number, line in enumerate(lines[1:], start=1):
        if line.strip() in (_FENCE, "..."):
            return dict(_pairs(lines[1:number])), "".join(lines[number + 1 :])
    return {}, text


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, colon, value = line.partition(":")
        value = value.strip().strip("\"'")
        if colon and value and not line[0].isspace() and len(value) <= METADATA_CHARACTERS:
            yield key.strip().lower(), value


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING + 10}).enable("table")  # beyond which it drops text
    parser.block.ruler.before("table", "too_deep", _too_deep)
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


def _fill(builder: TextBuilder, body: str) -> None:
    heading, cells = 0, 0
    lines: list[str] = []  # of the list, quotation or table row that is open
    depth = 0
    for token in _parser().parse(body):
        match token.type:
            case "heading_open":
                heading = int(token.tag[1:])
            case "inline" if heading:
                builder.heading(heading, _inline(token))
                heading = 0
            case "inline" if cells:
                cells += 1
                lines[-1] += (" | " if cells > 2 else "") + _inline(token)
            case "inline":
                lines.append(_inline(token))
            case "fence" | "code_block":
                lines.append(token.content)
            case "tr_open":
                cells = 1
                lines.append("")
            case "tr_close":
                cells = 0
            case _:
                pass
        depth += token.nesting
        if depth == 0 and lines:  # the block is complete: a list or a table is one paragraph, a line for each item
            builder.block("\n".join(lines))
            lines = []


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
