"""Bytes of a source: taken whole if there are not too many, and as text, or a reject that says where they are none."""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass
from typing import BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.source_lines import ENCODING

from .limits import JSON_BYTES

_CANDIDATES: Final = (
    "cp1252", "cp1251", "cp1253", "koi8_r", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr",
)  # fmt: skip
_TELLING: Final = 64  # bytes beyond ASCII without which nothing can be told apart
_LOOKED_AT: Final = 1 << 16
_CONTROLS: Final = bytes({*range(32), 127} - {*b"\t\n\r\f\x1a\x1b"})
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


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and its encoding if that is not UTF-8."""

    text: str
    encoding: str = ""

    @property
    def metadata(self) -> dict[str, str]:
        """What a document of this text says of it."""
        return {ENCODING: self.encoding} if self.encoding else {}


def guessed(data: bytes) -> Decoded:
    """UTF-8 as text, or UTF-16, Windows-1252 and others that people have, as what they most likely are."""
    if encoding := encoding_of(data):
        try:
            return Decoded(data.decode(encoding).removeprefix("\ufeff"), encoding)
        except UnicodeDecodeError:
            pass  # the reason is told in terms of UTF-8
    return Decoded(decoded(data))


def encoding_of(data: bytes) -> str:
    """The encoding of text that is not UTF-8; empty if it is, or if it is no text at all."""
    for mark, name in _OTHER_MARKS:
        if data.startswith(mark):
            return name.lower()
    zeros = data[:_LOOKED_AT:2].count(0), data[1:_LOOKED_AT:2].count(0)
    pairs = len(data[:_LOOKED_AT]) // 2
    if pairs and max(zeros) > 0.6 * pairs and min(zeros) < 0.1 * pairs:
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "" if data[:_LOOKED_AT].translate(None, _CONTROLS) != data[:_LOOKED_AT] else _by_statistics(data)
    return ""


def _by_statistics(data: bytes) -> str:
    """Windows-1252, unless there is enough of another to tell."""
    if len(data.translate(None, bytes(range(128)))) >= _TELLING:
        from charset_normalizer import from_bytes

        best = from_bytes(data[:_LOOKED_AT], cp_isolation=list(_CANDIDATES)).best()
        if best and best.encoding != "cp1252":
            return best.encoding.replace("_", "-")
    return "windows-1252"


def _refuse_other_marks(data: bytes) -> None:
    for mark, name in _OTHER_MARKS:
        if data.startswith(mark):
            raise RejectedDocument(f"not UTF-8 but {name}", f"convert it, for example with: iconv -f {name} -t UTF-8")
