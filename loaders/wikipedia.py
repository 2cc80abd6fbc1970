"""A Wikipedia XML dump: each article is one document, its section headings the title path. Needs the extra `wikipedia`.

The XML is read as a stream, one page at a time. Real dumps have no document type, so one that has is refused: there
are then no entities to expand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final
from xml.etree import ElementTree

from sparc_search.errors import MissingExtra, RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .limits import TEXT_BYTES
from .resuming import Item, Resuming, located
from .wikitext import add_wikitext

_CHUNK: Final = 1 << 16
_PROLOG: Final = 1 << 16


class WikipediaReader(Reader):
    """Wikipedia XML dumps (.xml, .xml.bz2): articles without redirects and talk pages (extra `wikipedia`)."""

    suffixes = (".xml",)
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each article; one that cannot be read is one reject."""
        try:
            import mwparserfromhell  # noqa: F401 - asked for before the first page is read
        except ImportError:
            raise MissingExtra("reading Wikipedia dumps", "wikipedia") from None
        return Resuming(_items(stream, source))


reader = WikipediaReader()


def _items(stream: BinaryIO, source: str) -> Iterator[Item]:
    wiki = "wiki"
    for element in _elements(stream):
        if element.tag == "siteinfo":
            wiki = element.findtext("dbname") or wiki
        elif (title := element.findtext("title")) and _is_article(element):
            yield located(f"page {title!r}", _document, element, title, wiki, source)


def _elements(stream: BinaryIO) -> Iterator[Any]:
    """Each `siteinfo` and `page`, without namespaces, forgotten as soon as it has been used."""
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    root: Any = None
    data, pending = _prolog(stream), 0
    try:
        while data:
            parser.feed(data)
            pending += len(data)
            for event, element in parser.read_events():
                element.tag = element.tag.rpartition("}")[2]
                root = element if root is None else root
                if event == "end" and element.tag in ("siteinfo", "page"):
                    yield element
                    root.clear()
                    pending = 0
            if pending > TEXT_BYTES:
                raise RejectedDocument("a page of more than 40 MiB; the rest is not read", "check the dump")
            data = stream.read(_CHUNK)
        parser.close()
    except ElementTree.ParseError as error:
        raise RejectedDocument(f"damaged XML: {error}; the rest is not read", "fetch the dump again") from error


def _prolog(stream: BinaryIO) -> bytes:
    """The beginning of the file, if it is that of a dump."""
    head = stream.read(_PROLOG)
    before, found, _ = head.partition(b"<mediawiki")
    if not found:
        raise RejectedDocument("XML, but not a MediaWiki dump", "convert it to HTML or JSON Lines")
    if b"<!" in before.replace(b"<!--", b""):
        raise RejectedDocument("XML with a document type, which could define entities", "remove the <!DOCTYPE …>")
    return head


def _is_article(page: Any) -> bool:
    return (page.findtext("ns") or "0") == "0" and page.find("redirect") is None


def _document(page: Any, title: str, wiki: str, source: str) -> Document:
    builder = TextBuilder()
    add_wikitext(builder, page.findtext("revision/text") or "")
    return builder.build(f"{wiki}:{page.findtext('id')}", source, title)
