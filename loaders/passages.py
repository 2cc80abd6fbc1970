"""Cutting a document into passages.

A paragraph of the source is a passage. A long one is cut at sentence ends (failing that at line ends, words, word
pieces) to fit the encoder's window; a very short one is joined to the next under the same heading. Headings are not
passage text but become the title path. Every other character that is not white space is in exactly one passage, and
every passage is a slice of its document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from sparc_search.encoder import Encoder
from sparc_search.records import Document, Passage, Section

from .builder import ARROW
from .sentences import sentence_ends

VERSION: Final = 1
"""Raised when the same document would be cut differently, so that it counts as changed."""

SHORT: Final = 8
"""A paragraph of less than one part in so many of the window is joined to the next."""

_PARAGRAPH_BREAK: Final = re.compile(r"(?:\r\n|\n|\r)[^\S\n\r]*(?:\r\n|\n|\r)\s*|[\f\u2029]\s*")
_LINE_END: Final = re.compile(r"(?<=[^\s])(?=\s*[\n\r])")
_WORD_END: Final = re.compile(r"(?<=\S)(?=\s)")
_BLOCK: Final = 12
"""Characters looked at when a paragraph is cut, for each word piece of the window: about two windows of English."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text that will be a passage: where it stands, how many word pieces it has, where its parts meet."""

    start: int
    end: int
    tokens: int
    joints: tuple[int, ...] = ()


def cut(document: Document, encoder: Encoder) -> list[Passage]:
    """The passages of a document, in its order."""
    return [passage for passage, _ in cut_and_count(document, encoder)]


def cut_and_count(document: Document, encoder: Encoder) -> list[tuple[Passage, int]]:
    """The passages of a document, each with its number of word pieces."""
    pieces = [
        (section, piece)
        for section, end in _ranges(document)
        for piece in _cut_section(document, section, end, encoder)
    ]
    return [
        (_passage(document, section, piece, number), piece.tokens) for number, (section, piece) in enumerate(pieces)
    ]


def passage_id(document_id: str, number: int) -> str:
    """The id of a passage: the same whenever the same document is cut."""
    return blake2b(f"{document_id}\0{number}".encode(), digest_size=16).hexdigest()


def content_hash(document: Document, window: int) -> str:
    """What decides whether a document must be encoded again: its text, title, sections, metadata, and how it is cut."""
    digest = blake2b(digest_size=16)
    for part in _hashed_parts(document, window):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))  # so that no two lists of parts run together the same
        digest.update(data)
    return digest.hexdigest()


def _hashed_parts(document: Document, window: int) -> Iterator[str]:
    yield f"{VERSION} {SHORT} {window}"
    yield document.title
    yield document.text
    for section in document.sections:
        yield f"{section.start} {section.page} {section.skip} {section.heading}"
    for key, value in sorted(document.metadata.items()):
        yield key
        yield value


def _passage(document: Document, section: Section, piece: Piece, number: int) -> Passage:
    return Passage(
        id=passage_id(document.id, number),
        document_id=document.id,
        number=number,
        text=document.text[piece.start : piece.end],
        start=piece.start,
        title=ARROW.join(part for part in (document.title, section.heading) if part),
        source=document.source,
        page=section.page,
        metadata=document.metadata,
        joints=tuple(joint - piece.start for joint in piece.joints),
    )


def _ranges(document: Document) -> Iterator[tuple[Section, int]]:
    """Each section with where it ends; text before the first stands under no heading."""
    sections = [Section(0), *sorted(document.sections, key=lambda section: section.start)]
    for section, following in pairwise([*sections, Section(len(document.text))]):
        yield section, following.start


def _cut_section(document: Document, section: Section, end: int, encoder: Encoder) -> Iterable[Piece]:
    text = document.text
    paragraphs = _paragraphs(text, min(section.start + section.skip, end), end)
    pieces = (piece for start, stop in paragraphs for piece in _pieces(text, start, stop, encoder))
    return _joined(text, pieces, encoder)


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _PARAGRAPH_BREAK.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _pieces(text: str, start: int, end: int, encoder: Encoder) -> Iterator[Piece]:
    """A paragraph as one piece, or as several that fit the window; white space at their ends is left out."""
    start, end = _trimmed(text, start, end)
    while start < end:
        block = text[start : min(end, start + _BLOCK * encoder.window)]
        offsets = encoder.token_offsets(block)
        if len(offsets) <= encoder.window and start + len(block) == end:
            yield Piece(start, end, len(offsets))
            return
        length = _cut_length(block, offsets, encoder, last=start + len(block) == end)
        piece_start, piece_end = _trimmed(text, start, start + length)
        yield Piece(piece_start, piece_end, len(encoder.token_offsets(text[piece_start:piece_end])))
        start, _ = _trimmed(text, start + length, end)


def _cut_length(block: str, offsets: Sequence[tuple[int, int]], encoder: Encoder, last: bool) -> int:
    """How many characters of the block make the next passage."""
    room = encoder.window
    while True:
        length = _best_cut(block, offsets, room, last)
        count = len(encoder.token_offsets(block[:length].rstrip()))
        if count <= encoder.window or room == 1:
            return length
        room = max(1, min(room, len(offsets)) - (count - encoder.window))  # a cut inside a word made more pieces of it


def _best_cut(block: str, offsets: Sequence[tuple[int, int]], room: int, last: bool) -> int:
    limit = offsets[room][0] if len(offsets) > room else len(block)
    wanted = limit
    if last and len(offsets) > room:  # the rest is known, so its parts can be made about equal
        parts = -(-len(offsets) // room)
        wanted = offsets[-(-len(offsets) // parts) - 1][1]
    for ends in (sentence_ends(block), _ends(_LINE_END, block), _ends(_WORD_END, block)):
        fitting = [end for end in ends if wanted / 4 <= end <= limit]
        if fitting:
            return min(fitting, key=lambda end: abs(end - wanted))
    return max(1, limit)


def _ends(pattern: re.Pattern[str], block: str) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(block))


def _joined(text: str, pieces: Iterable[Piece], encoder: Encoder) -> list[Piece]:
    """Very short pieces with the one that follows; a very short last one with the one before it."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and _is_short(joined[-1], encoder) and (both := _join(text, joined[-1], piece, encoder)):
            joined[-1] = both
        else:
            joined.append(piece)
    if len(joined) > 1 and _is_short(joined[-1], encoder) and (both := _join(text, joined[-2], joined[-1], encoder)):
        joined[-2:] = [both]
    return joined


def _is_short(piece: Piece, encoder: Encoder) -> bool:
    return piece.tokens * SHORT < encoder.window


def _join(text: str, first: Piece, second: Piece, encoder: Encoder) -> Piece | None:
    if first.tokens + second.tokens > 2 * encoder.window:
        return None
    tokens = len(encoder.token_offsets(text[first.start : second.end]))
    joints = (*first.joints, second.start, *second.joints)
    return Piece(first.start, second.end, tokens, joints) if tokens <= encoder.window else None


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without white space at either end."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
