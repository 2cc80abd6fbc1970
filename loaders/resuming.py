"""An iterator that can raise for one bad item and still go on with the next, which a generator cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec

from sparc_search.errors import RejectedDocument, SparcSearchError
from sparc_search.records import Document

Item = Document | RejectedDocument
P = ParamSpec("P")


class Resuming(Iterator[Document]):
    """Hands out the documents among `items`, raises the rejects, and goes on when asked again."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)

    def __next__(self) -> Document:
        item = next(self._items)
        if isinstance(item, RejectedDocument):
            raise item
        return item


def located(where: str, make: Callable[P, Document], *arguments: P.args, **options: P.kwargs) -> Item:
    """The document that a function makes of its arguments; if it is rejected, the reason says where it stood."""
    try:
        return make(*arguments, **options)
    except RejectedDocument as reject:
        return RejectedDocument(f"{where}: {reject.message}", reject.remedy)


def items_of(read: Callable[[], Iterable[Document]]) -> Iterator[Item]:
    """The other way round: what a reader hands out and raises, as one stream. Any way it may fail is a reject."""
    iterator: Iterator[Document] | None = None
    while True:
        try:
            iterator = iterator or iter(read())
            item: Item = next(iterator)
        except StopIteration:
            return
        except Exception as error:  # parsers of foreign formats fail in any way they like
            item = _reject(error)
            if iterator is None or not isinstance(error, RejectedDocument):
                yield item
                return
        yield item


def _reject(error: Exception) -> RejectedDocument:
    if isinstance(error, RejectedDocument):
        return error
    if isinstance(error, SparcSearchError):
        return RejectedDocument(error.message, error.remedy)
    if isinstance(error, MemoryError):
        return RejectedDocument("reading it takes more memory than is allowed", "split it into smaller files")
    return RejectedDocument(f"cannot be read: {type(error).__name__}: {error}", "check or convert the file")
