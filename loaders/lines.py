"""Lines of a byte stream, of which none can fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from sparc_search.errors import RejectedDocument

from .decode import decoded
from .limits import LINE_BYTES


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number (from 1), where it begins in the file, and its text or why it has none."""

    number: int
    position: int
    text: str = ""
    problem: RejectedDocument | None = None


def lines(stream: BinaryIO, limit: int = LINE_BYTES) -> Iterator[Line]:
    """The lines of a stream with their line ends; one that is too long or no text carries its problem instead."""
    number, position = 0, 0
    while data := stream.readline(limit + 1):
        number += 1
        size = len(data)
        if size > limit and not data.endswith(b"\n"):
            del data  # before more is read
            size += _drain(stream)
            reason = f"line {number} has {size:,} bytes, which is too long"
            yield Line(number, position, problem=RejectedDocument(reason, "one line must be one document"))
        else:
            yield _line(number, position, data)
        position += size


def _line(number: int, position: int, data: bytes) -> Line:
    try:
        return Line(number, position, decoded(data, position=position))
    except RejectedDocument as reject:
        return Line(number, position, problem=RejectedDocument(f"line {number}: {reject.message}", reject.remedy))


def _drain(stream: BinaryIO) -> int:
    """Read to the end of the line without keeping it; how many bytes that was."""
    size = 0
    while data := stream.readline(1 << 16):
        size += len(data)
        if data.endswith(b"\n"):
            break
    return size
