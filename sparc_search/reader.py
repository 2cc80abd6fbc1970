"""The contract of a file reader: a file becomes documents (`sparc_search.readers`). An entry point names one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import BinaryIO, ClassVar

from .records import Document


class Reader(ABC):
    """Reads one kind of file."""

    suffixes: ClassVar[tuple[str, ...]]
    """File name endings it takes, such as `.md`; `.gz` is taken off before."""

    sandboxed: ClassVar[bool] = False
    """Whether it runs in a process of its own: for parsers that a hostile file may crash or hang."""

    furnished: ClassVar[bool] = False
    """Whether its files are pages that may hold menus, footers and the like, which are then not indexed."""

    @abstractmethod
    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """Yield the documents of one open file; raise `RejectedDocument` for one that cannot be read."""
