"""From a file that was found to its documents: opened safely, given to the right reader, named."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BufferedReader, FileIO
from typing import IO, BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document
from sparc_search.stored import EncodedDocument

from .compressed import decompressed
from .formats import HEAD_BYTES, Formats, by_content
from .furniture import Furniture, furniture_of
from .limits import JSON_BYTES, ChildLimits
from .parts import Part
from .resuming import Item, items_of
from .sandbox import Sandbox
from .walk import Found, Passed, Root

_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Read:
    """A document as it was read, and the root it came from."""

    document: Document
    root: Root
    encoded: EncodedDocument | None = None
    """The same with its passages, if it comes from an index and need not be encoded."""
    left_out: tuple[str, ...] = ()
    """Furniture in it, which is not indexed."""


class Reading:
    """Reads files one after another; keeps count of the bytes for the progress bar."""

    def __init__(
        self,
        formats: Formats,
        options: Mapping[str, str],
        corpus: str = "",
        limits: ChildLimits | None = None,
        furniture: Furniture | None = None,
        part: Part | None = None,
    ) -> None:
        self._formats, self._options, self._corpus = formats, options, corpus
        self._furniture, self._part = furniture or Furniture(), part or Part()
        self._sandbox = Sandbox(limits)
        self.bytes_read = 0
        """Bytes of the files read so far; may be looked at from another thread."""

    def interrupt(self) -> None:
        """From another thread: let a file that is parsed in a child process end at once, as a reject."""
        self._sandbox.interrupt()

    def close(self) -> None:
        """End the child process."""
        self._sandbox.close()

    def everything(self, entries: Iterable[Found | Passed]) -> Iterator[Read | Passed]:
        """All documents of all files, and what is passed over, as far as it is in the part that is read."""
        for item in self._items_of_all(entries):
            if self._part.holds(item.document.id if isinstance(item, Read) else os.path.basename(item.source)):
                yield item

    def _items_of_all(self, entries: Iterable[Found | Passed]) -> Iterator[Read | Passed]:
        for entry in entries:
            if isinstance(entry, Passed):
                yield entry
            elif entry.root.kind != "stdin" and not self._formats.knows(entry.name):
                ending = os.path.splitext(entry.name)[1] or "without an ending"
                yield Passed("skipped", entry.source, f"no reader for files {ending}", "name its --format", entry.root)
            else:
                yield from self._read_file(entry)

    def _read_file(self, entry: Found) -> Iterator[Read | Passed]:
        before = self.bytes_read
        try:
            with _opened(entry) as file:
                for item, furnished in self._items(entry, file):
                    yield self._named(item, entry, furnished)
                    self.bytes_read = before + _position(file)
        except OSError as error:
            yield _rejected(
                entry, f"cannot be read: {error.strerror or error}", "check that it is there and its rights"
            )
        except RejectedDocument as reject:
            yield _rejected(entry, reject.message, reject.remedy)
        self.bytes_read = before + entry.size

    def _items(self, entry: Found, file: BufferedReader) -> Iterator[tuple[Item, bool]]:
        """Each document or reject, and whether it may hold furniture."""
        stream = decompressed(file, entry.name)
        name = self._format(entry, stream)
        reader = self._formats.reader(name)
        for item in self._read(name, reader, entry, file, stream):
            yield item, reader.furnished

    def _read(
        self, name: str, reader: Reader, entry: Found, file: BufferedReader, stream: BufferedReader
    ) -> Iterator[Item]:
        if not reader.sandboxed:
            yield from items_of(lambda: reader.read(stream, entry.name, self._options))
        elif entry.root.kind == "stdin" and not self._formats.only:
            with tempfile.TemporaryFile() as spool:  # the beginning was looked at, so the pipe no longer has it
                _copy(file, spool)
                yield from self._sandbox.read(name, spool, entry.name, self._options)
        else:
            if entry.root.kind != "stdin":
                os.lseek(file.fileno(), 0, os.SEEK_SET)  # its beginning may have been looked at
            yield from self._sandbox.read(name, file, entry.name, self._options)

    def _format(self, entry: Found, stream: BufferedReader) -> str:
        if entry.root.kind == "stdin" and not self._formats.only:
            return by_content(stream.peek(HEAD_BYTES))
        return self._formats.choose(entry.name, lambda: stream.peek(HEAD_BYTES))

    def _named(self, item: Item, entry: Found, furnished: bool) -> Read | Passed:
        if isinstance(item, RejectedDocument):
            return _rejected(entry, item.message, item.remedy)
        document, left_out = self._furniture.marked(item) if furnished else (item, list(furniture_of(item)))
        document = replace(document, source=entry.source)
        if self._corpus:
            metadata = {**document.metadata, "corpus": self._corpus}
            document = replace(document, id=f"{self._corpus}/{document.id}", metadata=metadata)
        return Read(document, entry.root, left_out=tuple(left_out))


def _opened(entry: Found) -> BufferedReader:
    """The file, if it is (still) a plain one; never waits for the other end of a FIFO."""
    if entry.root.kind == "stdin":
        return _buffered(os.dup(sys.stdin.fileno()))
    follow = 0 if entry.root.kind == "file" else os.O_NOFOLLOW
    file = _buffered(os.open(entry.path, _FLAGS | follow))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise RejectedDocument("no longer a plain file", "try again")
    return file


def _buffered(number: int) -> BufferedReader:
    return BufferedReader(FileIO(number, "rb"), HEAD_BYTES)


def _copy(stream: BinaryIO, spool: IO[bytes]) -> None:
    size = 0
    while data := stream.read(HEAD_BYTES):
        size += len(data)
        if size > JSON_BYTES:
            raise RejectedDocument(f"more than {JSON_BYTES >> 20} MiB from standard input", "name its --format")
        spool.write(data)
    spool.seek(0)


def _position(file: BinaryIO) -> int:
    return file.tell() if file.seekable() else 0


def _rejected(entry: Found, reason: str, remedy: str) -> Passed:
    return Passed("rejected", entry.source, reason, remedy, entry.root)
