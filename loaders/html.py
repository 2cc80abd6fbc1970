"""HTML: headings become sections; paragraphs, items, terms, code and tables become blocks; furniture is left out."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import BlockKind, Document

from .builder import TextBuilder
from .decode import Decoded, guessed, whole
from .html_depth import flattened
from .limits import METADATA_CHARACTERS, TEXT_BYTES
from .tables import Cell, grid, head_and_rows

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_SCRIPTS: Final = (
    "script", "style", "noscript", "template", "svg", "math", "select", "textarea", "iframe", "object", "button",
)  # fmt: skip
_FURNITURE: Final = (
    "nav, footer, [role=navigation], [role=contentinfo], [role=search], .navheader, .navfooter, .navbar, .sidebar, "
    ".sphinxsidebar, div.related, .breadcrumb, .breadcrumbs, .pagination, .toc, #toc, .footer, #footer, .skip-link, "
    "#cookie-banner, .cookie-banner, .cookie-notice, .cookie-consent, a.headerlink"
)
_BLOCKS: Final = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "header", "hr", "html", "li", "main", "ol", "p", "section", "summary", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
))  # fmt: skip
_LISTS: Final = frozenset(("ul", "ol", "dl"))
_KINDS: Final[Mapping[str, BlockKind]] = {"li": "item", "dd": "item", "dt": "term"}
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_CHARSET: Final = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_LISTS_AROUND: Final = 20  # lists around an item, on the average of a page, that are looked at
_TERM: Final = 80  # characters of an item under which a nested list stands
_FORM: Final = 300  # letters; a form with more text than this is a page, or the larger part of one
_CELL: Final = 1_000  # characters; a table with a longer cell is not one of data but arranges the page


class HtmlReader(Reader):
    """HTML: one document; headings become the title path, menus and scripts are left out."""

    suffixes = (".html", ".htm", ".xhtml")
    furnished = True
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the page."""
        found = _text(whole(stream, TEXT_BYTES))
        document = page(found.text, source)
        yield replace(document, metadata={**document.metadata, **found.metadata})


reader = HtmlReader()


def page(text: str, source: str) -> Document:
    """The document of a page."""
    from selectolax.lexbor import LexborHTMLParser

    text = flattened(text)
    tree = LexborHTMLParser(text)
    tree.strip_tags(list(_SCRIPTS))
    metadata = _metadata(tree)
    walk = _walked(tree, metadata, furniture=False)
    if walk.builder.is_empty:
        walk = _walked(LexborHTMLParser(text), metadata, furniture=True)  # a page of links is better than none
    else:
        walk.end_with_furniture(tree.body)
    title = tree.css_first("head > title")
    return walk.builder.build(source, source, title.text() if title else "", metadata)


def _walked(tree: LexborHTMLParser, metadata: Mapping[str, str], furniture: bool) -> _Walk:
    walk = _Walk()
    if furniture:
        tree.strip_tags(list(_SCRIPTS))
    else:
        walk.leave_out(node for node in tree.css(_FURNITURE) if node.tag not in ("body", "html", "main"))
        walk.leave_out(_contents(tree))
        walk.leave_out(node for node in tree.css("form") if _letters(node) <= _FORM)
    articles = tree.css("article")
    if root := tree.css_first("main") or (articles[0] if len(articles) == 1 else tree.body):
        walk.builder.facts(metadata, root.text())
        walk.through(root)
    return walk


def _contents(tree: LexborHTMLParser) -> Iterator[LexborNode]:
    """Lists are looked at from the outermost in, but no item many times: thousands may stand within each other."""
    left = _LISTS_AROUND * len(tree.css("li"))
    for node in tree.css("ul, ol"):
        items = node.css("li")
        left -= len(items)
        if left < 0:
            return
        if _is_contents(node, items):
            yield node


def _outermost(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """Those that stand in none of the others, each once: a node is gone when one around it was taken out."""
    found = {node.mem_id: node for node in nodes}
    return [node for node in found.values() if not any(above in found for above in _above(node))]


def _above(node: LexborNode) -> Iterator[int]:
    while (parent := node.parent) is not None:
        yield parent.mem_id
        node = parent


def _is_contents(node: LexborNode, items: Sequence[LexborNode]) -> bool:
    """Whether a list is a table of contents: every item is a link to a place in the page."""
    links = node.css("a")
    inside = all((link.attributes.get("href") or "").startswith("#") for link in links)
    return 3 <= len(items) <= len(links) and inside and _letters(node) <= sum(map(_letters, links)) + 5 * len(items)


def _letters(node: LexborNode) -> int:
    return len("".join(node.text().split()))


def _text(data: bytes) -> Decoded:
    """As UTF-8, unless the page itself names another encoding or is plainly in another."""
    declared = _CHARSET.search(data[:2048])
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = "utf-8"
    if codec in ("utf-8", "ascii"):
        return guessed(data)
    try:
        return Decoded(str(data, codec))
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
        self._kind: BlockKind = "paragraph"  # of the block that is being read
        self._term = ""  # the last one of the innermost list
        self._under = [""]  # what the block stands under, for each list and definition that is open
        self._left_out: list[str] = []
        self._root: LexborNode | None = None

    def leave_out(self, nodes: Iterable[LexborNode]) -> None:
        """Take nodes out of the page; what they say is kept for its end."""
        for node in _outermost(nodes):
            self._left_out.append(_flat(node))
            node.decompose()

    def end_with_furniture(self, body: LexborNode | None) -> None:
        """What was left out, and what stands around the part that was read, stays in the document's text."""
        if body is not None and self._root is not None and body.mem_id != self._root.mem_id:
            self._root.decompose()
            self._left_out.append(_flat(body))
        for text in self._left_out:
            self.builder.block(text, "furniture")

    def through(self, root: LexborNode) -> None:
        """Visit everything below `root`, with a stack of its own: pages may nest deeper than Python recurses."""
        self._root = root
        stack: list[tuple[LexborNode | str, bool]] = [(root, False)]
        while stack:
            node, leaving = stack.pop()
            if isinstance(node, str):
                self._line.append(node)
            elif leaving:
                self._leave(node.tag or "")
            elif not self._taken_whole(node):
                self._enter(node.tag or "")
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(list(_children(node))))
        self._end_block()

    def _taken_whole(self, node: LexborNode) -> bool:
        """Headings, code and tables of data are not walked through."""
        tag = node.tag or ""
        if tag in _HEADINGS:
            self._end_block()
            self.builder.heading(_HEADINGS[tag], node.text())
        elif tag == "pre":
            self._end_block()
            self.builder.block(node.text(), "code", self._under[-1])
        elif tag == "table" and (rows := _data(node)):
            self._end_block()
            caption = node.css_first("caption")
            self.builder.table(*head_and_rows(rows), _flat(caption) if caption else "", self._under[-1])
        else:
            return False
        return True

    def _enter(self, tag: str) -> None:
        if tag == "br":
            self._line.append("\n")
        elif tag in _LISTS:
            text = self._end_block(short_item_is_term=True)
            self._under.append(text or self._under[-1])
        elif tag in _BLOCKS:
            self._end_block()
            self._kind = _KINDS.get(tag, self._kind)
            if tag == "dd":
                self._under.append(self._term)

    def _leave(self, tag: str) -> None:
        if tag not in _BLOCKS:
            return
        text = self._end_block()
        if tag == "dt":
            self._term = text or self._term
        if tag in _LISTS or tag == "dd":
            self._under.pop()
            self._term = self._under[-1] if tag in _LISTS else self._term
        if tag in _KINDS:
            self._kind = "paragraph"

    def _end_block(self, short_item_is_term: bool = False) -> str:
        """Hand over what was read since the last block; its text, if it is a term."""
        lines = (" ".join(line.split()) for line in "".join(self._line).split("\n"))
        text = "\n".join(line for line in lines if line)
        self._line = []
        if not text:
            return ""
        kind, self._kind = self._kind, "paragraph"
        if kind == "item" and short_item_is_term and len(text) <= _TERM:
            kind = "term"
        self.builder.block(text, kind, self._under[-1])
        return " ".join(text.split()) if kind == "term" else ""


def _children(node: LexborNode) -> Iterator[LexborNode | str]:
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            yield (child.text_content or "").replace("\n", " ")
        else:
            yield child


def _data(table: LexborNode) -> list[list[Cell]]:
    """The rows of a table of data; none if it only arranges the page, or has a single column."""
    if table.attributes.get("role") == "presentation" or table.css_first("table table, h1, h2, h3, h4, h5, h6"):
        return []
    rows = [[_cell(cell) for cell in row.css("td, th")] for row in table.css("tr")]
    if max(map(len, rows), default=0) < 2 or any(len(cell.text) > _CELL for row in rows for cell in row):
        return []
    return grid(rows)


def _cell(node: LexborNode) -> Cell:
    group = node.parent.parent if node.parent else None
    head = node.tag == "th" or (group is not None and group.tag == "thead")
    return Cell(_flat(node), _span(node, "colspan"), _span(node, "rowspan"), head)


def _flat(root: LexborNode) -> str:
    """The text of a cell on one line."""
    parts: list[str] = []
    stack: list[LexborNode | str] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        apart = " " if node.tag == "br" or node.tag in _BLOCKS or node.tag == "pre" else ""
        stack.extend((apart, *reversed(list(_children(node))), apart))
    return " ".join("".join(parts).split())


def _span(node: LexborNode, name: str) -> int:
    value = node.attributes.get(name) or "1"
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 5 else 1
