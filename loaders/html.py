"""HTML: headings become sections, blocks become paragraphs; scripts, menus and other furniture are left out."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import decoded, whole
from .limits import METADATA_CHARACTERS, TEXT_BYTES

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_FURNITURE: Final = (
    "script", "style", "noscript", "template", "svg", "math", "nav", "footer", "form", "iframe", "object", "button",
)  # fmt: skip
_BLOCKS: Final = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "header", "hr", "html", "li", "main", "ol", "p", "pre", "section", "summary", "table",
    "tbody", "tfoot", "thead", "tr", "ul",
))  # fmt: skip
_TOGETHER: Final = frozenset(("ul", "ol", "dl", "table"))  # their items are lines of one paragraph
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_CHARSET: Final = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)


class HtmlReader(Reader):
    """HTML: one document; headings become the title path, menus and scripts are left out."""

    suffixes = (".html", ".htm", ".xhtml")
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the page."""
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(_text(whole(stream, TEXT_BYTES)))
        tree.strip_tags(list(_FURNITURE))
        walk = _Walk()
        if root := tree.css_first("main") or tree.css_first("article") or tree.body:
            walk.through(root)
        title = tree.css_first("head > title")
        yield walk.builder.build(source, source, title.text() if title else "", _metadata(tree))


reader = HtmlReader()


def _text(data: bytes) -> str:
    """As UTF-8, unless the page itself names another encoding."""
    declared = _CHARSET.search(data[:2048])
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = "utf-8"
    if codec in ("utf-8", "ascii"):
        return decoded(data)
    try:
        return str(data, codec)
    except (UnicodeDecodeError, LookupError) as error:
        raise RejectedDocument(f"not {codec}, which the page says it is: {error}", "convert it to UTF-8") from error


def _metadata(tree: LexborHTMLParser) -> dict[str, str]:
    metadata = {}
    for name in ("author", "date", "description", "keywords"):
        node = tree.css_first(f'meta[name="{name}"]')
        value = (node.attributes.get("content") or "").strip() if node else ""
        if value and len(value) <= METADATA_CHARACTERS:
            metadata[name] = value
    return metadata


class _Walk:
    """Goes through the nodes in their order and hands finished blocks to a builder."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._line: list[str] = []
        self._lines: list[str] = []

    def through(self, root: LexborNode) -> None:
        """Visit everything below `root`, with a stack of its own: pages may nest deeper than Python recurses."""
        stack: list[tuple[LexborNode | str, bool]] = [(root, False)]
        together = 0  # how many lists and tables are open
        while stack:
            node, leaving = stack.pop()
            if isinstance(node, str):
                self._line.append(node)
                continue
            tag = node.tag or ""
            if tag in _HEADINGS:
                self._end_block()
                self.builder.heading(_HEADINGS[tag], node.text())
                continue
            if tag == "br":
                self._line.append("\n")
            elif tag in ("td", "th"):
                self._line.append("" if leaving else " ")
            elif tag in _BLOCKS:
                together -= leaving and tag in _TOGETHER
                self._end_line()
                if not together:
                    self._end_block()
                together += not leaving and tag in _TOGETHER
            if not leaving:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(list(_children(node))))
        self._end_block()

    def _end_line(self) -> None:
        lines = "".join(self._line).split("\n")
        self._lines.extend(line for line in (" ".join(line.split()) for line in lines) if line)
        self._line = []

    def _end_block(self) -> None:
        self._end_line()
        self.builder.block("\n".join(self._lines))
        self._lines = []


def _children(node: LexborNode) -> Iterator[LexborNode | str]:
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            yield (child.text_content or "").replace("\n", " ")
        else:
            yield child
