"""Bytes of a source: taken whole if there are not too many, and as text, or a reject that says where they are none."""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, Final

from sparc_search.errors import RejectedDocument

from .limits import JSON_BYTES

_OTHER_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def whole(stream: BinaryIO, limit: int) -> bytes:
    """Everything in the stream; a reject if that is more than `limit` bytes, of which no more are read."""
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise RejectedDocument(f"larger than {limit >> 20} MiB", "split it into smaller files")
    return data


def seekable(stream: BinaryIO) -> BinaryIO:
    """The stream itself if it can be read back and forth, else its contents in memory."""
    return stream if stream.seekable() else io.BytesIO(whole(stream, JSON_BYTES))


def decoded(data: bytes, *, position: int = 0) -> str:
    """UTF-8 as text, without a byte order mark. `position` is where `data` stands in its file."""
    if not position:
        _refuse_other_marks(data)
        data, position = (data[3:], 3) if data.startswith(codecs.BOM_UTF8) else (data, 0)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte, where = data[error.start], position + error.start
        raise RejectedDocument(
            f"not UTF-8: byte 0x{byte:02x} at position {where} ({error.reason})",
            "convert it, for example with: iconv -f WINDOWS-1252 -t UTF-8",
        ) from None
    if "\0" in text:
        where = position + len(text[: text.index("\0")].encode())
        raise RejectedDocument(f"a binary file: NUL byte at position {where}", "exclude it, or name its --format")
    return text


def _refuse_other_marks(data: bytes) -> None:
    for mark, name in _OTHER_MARKS:
        if data.startswith(mark):
            raise RejectedDocument(f"not UTF-8 but {name}", f"convert it, for example with: iconv -f {name} -t UTF-8")
