"""Reading gzip and bzip2 without being blown up: what comes out is measured against what went in."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO, Final, cast

from sparc_search.errors import RejectedDocument

from .limits import EXPANSION, EXPANSION_FLOOR

_OPENERS: Final[Mapping[str, Callable[[BinaryIO], BinaryIO]]] = {
    ".gz": lambda raw: cast(BinaryIO, gzip.GzipFile(fileobj=raw)),
    ".bz2": lambda raw: cast(BinaryIO, bz2.BZ2File(raw)),
}
SUFFIXES: Final = tuple(_OPENERS)


def inner_name(name: str) -> str:
    """The name without its ending for compression: `a.jsonl.gz` is `a.jsonl` inside."""
    return name[: -len(suffix)] if (suffix := _suffix(name)) else name


def decompressed(raw: io.BufferedReader, name: str) -> io.BufferedReader:
    """What is inside, as a stream; `raw` itself if the name has no ending for compression."""
    suffix = _suffix(name)
    if not suffix:
        return raw
    return io.BufferedReader(_Measured(raw, _OPENERS[suffix](raw)), 1 << 16)


def _suffix(name: str) -> str:
    return next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")


class _Measured(io.RawIOBase):
    """Counts bytes in and out; too many out for those in is a reject, and so are damaged bytes."""

    def __init__(self, raw: BinaryIO, inside: BinaryIO) -> None:
        self._raw, self._inside, self._out = raw, inside, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._inside.read(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            raise RejectedDocument(f"damaged compressed data: {error}", "fetch or compress the file again") from error
        self._out += len(data)
        if self._out > EXPANSION_FLOOR and self._out > EXPANSION * max(1, self._raw.tell()):
            raise RejectedDocument(
                f"suspicious compression: {self._out:,} bytes out of the first {self._raw.tell():,}",
                "decompress it yourself if you trust it",
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._inside.close()
        super().close()
