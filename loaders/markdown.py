"""Markdown: headings become sections, markup goes, text stays. Front matter becomes title and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, Final

from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import decoded, whole
from .limits import METADATA_CHARACTERS, TEXT_BYTES

if TYPE_CHECKING:
    from markdown_it.token import Token

_FENCE: Final = "---"
_NESTING: Final = 100  # levels of lists and quotations; what is deeper is not read


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


def _fill(builder: TextBuilder, body: str) -> None:
    from markdown_it import MarkdownIt

    heading, cells = 0, 0
    lines: list[str] = []  # of the list, quotation or table row that is open
    depth = 0
    for token in MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table").parse(body):
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
