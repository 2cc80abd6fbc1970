"""Cutting a document into passages.

A block (a paragraph, an item, a term with its definition, a row, a piece of code) is a passage. A long one is cut at
sentence ends (failing that at line ends, words, word pieces) to fit the encoder's window; a very short one is joined to
the next under the same heading. Headings are not passage text but become the title path. Every other character that is
not white space is in exactly one passage, and every passage is a slice of its document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, TypedDict

from sparc_search.encoder import Encoder
from sparc_search.records import AlignedPiece, BlockKind, Border, BorderKind, Document, Passage, Section
from sparc_search.sentences import sentence_ends

from .blocks import Block, Range, blocks_of, trimmed
from .builder import ARROW
from .verbal import Part, cells_in_words, column_names, head_in_words, rendered

VERSION: Final = 2
"""Raised when the same document would be cut differently, so that it counts as changed."""

SHORT: Final = 8
"""A paragraph of less than one part in so many of the window is joined to the next."""

SHORT_OF: Final[dict[BlockKind, int]] = {"item": 4, "term": 16, "row": 64}
"""The same for items, which say little by themselves, for a term with its definition, and for rows in words, which say
all there is."""

_BORDERS: Final[Mapping[BlockKind, BorderKind]] = {"item": "item", "term": "item", "code": "code"}
_LINE_END: Final = re.compile(r"(?<=[^\s])(?=\s*[\n\r])")
_WORD_END: Final = re.compile(r"(?<=\S)(?=\s)")
_NAME: Final = 80  # characters of a term in the title path
_BLOCK: Final = 12
"""Characters looked at when a paragraph is cut, for each word piece of the window: about two windows of English."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of text that will be a passage: where it stands, how many word pieces it has, where its blocks meet."""

    start: int
    end: int
    tokens: int
    parts: tuple[Part, ...]
    """What the model reads: the range itself, except of tables."""
    borders: tuple[Border, ...]
    """Counted in the document; the first is where it begins."""
    under: str = ""
    """What it stands under besides its headings."""
    names: frozenset[str] = frozenset()
    """What it names itself, for blocks that stand under it."""
    kind: BlockKind = "paragraph"
    """What it is: of several blocks, the last; of a term with its definition, a term."""
    introduces: bool = False
    """Whether it ends with a term, a caption, the head of a table or the line before a list: with what follows, if that
    fits."""


def cut(document: Document, encoder: Encoder) -> list[Passage]:
    """The passages of a document, in its order."""
    return [passage for passage, _ in cut_and_count(document, encoder)]


def cut_and_count(document: Document, encoder: Encoder) -> list[tuple[Passage, int]]:
    """The passages of a document, each with its number of word pieces."""
    pieces = [
        (section, piece)
        for section, blocks in blocks_of(document)
        for piece in _joined(document.text, _pieces(document.text, blocks, encoder), encoder)
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
    yield f"{VERSION} {SHORT} {SHORT_OF} {window}"
    yield document.title
    yield document.text
    for section in document.sections:
        yield f"{section.start} {section.page} {section.skip} {section.kind} {section.heading}"
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
        title=ARROW.join(part for part in (document.title, section.heading, _shortened(piece.under)) if part),
        source=document.source,
        page=section.page,
        metadata=document.metadata,
        borders=tuple(border._replace(offset=border.offset - piece.start) for border in piece.borders[1:]),
        **_encoded_text(document.text, piece),
    )


class _EncodedText(TypedDict, total=False):
    encoded_text: str
    alignment: tuple[AlignedPiece, ...]


def _encoded_text(text: str, piece: Piece) -> _EncodedText:
    """What the model reads of a piece, if that is not its text, and how the two belong together."""
    if piece.parts == ((piece.start, piece.end),):
        return {}
    alignment, at, shown = list[AlignedPiece](), 0, 0
    for part in piece.parts:
        length = len(part) if isinstance(part, str) else part[1] - part[0]
        start, end = (shown, shown) if isinstance(part, str) else (part[0] - piece.start, part[1] - piece.start)
        alignment.append(AlignedPiece(at, at + length, start, end))
        at, shown = at + length, end
    return {"encoded_text": rendered(text, piece.parts), "alignment": tuple(alignment)}


def _shortened(name: str) -> str:
    """A long term (the signature of a function, say) by its beginning."""
    return name if len(name) <= _NAME else name[:_NAME].rpartition(" ")[0] or name[:_NAME]


# --- blocks become pieces that fit the window ------------------------------------------------------------------------


def _pieces(text: str, blocks: Sequence[Block], encoder: Encoder) -> Iterator[Piece]:
    names_of_columns = column_names(text, blocks)
    for unit in _units(blocks):
        first, last = unit[0], unit[-1]
        if first.kind in ("head", "row"):
            yield from _row(text, first, names_of_columns.get(first.start, ()), encoder)
            continue
        borders = [Border(block.start, _BORDERS.get(block.kind, "paragraph")) for block in unit]
        more = Border(0, borders[-1].kind)
        names = frozenset(block.name for block in unit if block.name)
        under = first.under
        kind, introduces = first.kind, bool(last.name)
        lines = last.kind == "code"
        for start, end, tokens in _fitting(text, first.start, last.end, encoder, lines):
            inside = tuple(border for border in borders if start <= border.offset < end)
            if not inside or inside[0].offset != start:
                inside = (more._replace(offset=start), *inside)
            yield Piece(start, end, tokens, ((start, end),), inside, under, names, kind, introduces)
            names, under = frozenset(), last.under  # what is cut off from its term stands under it


def _units(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Terms together with the first block that stands under the last of them; all other blocks alone."""
    terms: list[Block] = []
    for block in blocks:
        if block.kind == "term":
            terms.append(block)
        elif terms and block.under == terms[-1].name and block.kind not in ("head", "row"):
            yield [*terms, block]
            terms = []
        else:
            yield from [terms, [block]] if terms else [[block]]
            terms = []
    if terms:
        yield terms


def _row(text: str, row: Block, names: Sequence[str], encoder: Encoder) -> Iterator[Piece]:
    """A row in words; one that is wider than the window as several pieces, each with the row's first cell before it."""
    if row.kind == "head":
        parts = head_in_words(row)
        if _fits(text, parts, encoder):
            cells = [cell for cell in row.cells if cell[0] < cell[1]]
            yield replace(_row_piece(text, row, cells, parts, encoder), introduces=True)
            return
    parts, cells = list[Part](), list[Range]()
    for cell, said, said_first in cells_in_words(text, row, names):
        longer: list[Part] = [*parts, *said, cell] if cells else [*said_first, cell]
        if cells and not _fits(text, longer, encoder):
            yield _row_piece(text, row, cells, parts, encoder)
            longer, cells = [*said_first, cell], []
        parts, cells = longer, [*cells, cell]
        if len(cells) == 1 and not _fits(text, parts, encoder):
            for start, end, tokens in _fitting(text, *cell, encoder, lines=False):
                yield Piece(start, end, tokens, ((start, end),), (Border(start, "cell"),), row.under, kind="row")
            parts, cells = [], []
    if cells:
        yield _row_piece(text, row, cells, parts, encoder)


def _row_piece(text: str, row: Block, cells: Sequence[Range], parts: Sequence[Part], encoder: Encoder) -> Piece:
    borders = tuple(Border(start, "cell") for start, _ in cells)
    start, end = cells[0][0], cells[-1][1]
    return Piece(start, end, _count(text, parts, encoder), tuple(parts), borders, row.under, kind="row")


def _fits(text: str, parts: Sequence[Part], encoder: Encoder) -> bool:
    """Whether the window holds some parts; no piece is less than a character, so little text is not even counted."""
    said = rendered(text, parts)
    return len(said) < encoder.window or encoder.token_count(said) <= encoder.window


def _count(text: str, parts: Sequence[Part], encoder: Encoder) -> int:
    return encoder.token_count(rendered(text, parts))


def _fitting(text: str, start: int, end: int, encoder: Encoder, lines: bool) -> Iterator[tuple[int, int, int]]:
    """A range as one piece, or as several that fit the window; white space at their ends is left out."""
    start, end = trimmed(text, start, end)
    while start < end:
        block = text[start : min(end, start + _BLOCK * encoder.window)]
        last = start + len(block) == end
        if last and (tokens := encoder.token_count(block)) <= encoder.window:
            yield start, end, tokens
            return
        length = _cut_length(block, encoder.token_offsets(block), encoder, lines, last)
        piece_start, piece_end = trimmed(text, start, start + length)
        yield piece_start, piece_end, encoder.token_count(text[piece_start:piece_end])
        start, _ = trimmed(text, start + length, end)


def _cut_length(block: str, offsets: Sequence[tuple[int, int]], encoder: Encoder, lines: bool, last: bool) -> int:
    """How many characters of the block make the next passage."""
    room = encoder.window
    while True:
        length = _best_cut(block, offsets, room, lines, last)
        count = encoder.token_count(block[:length].rstrip())
        if count <= encoder.window or room == 1:
            return length
        room = max(1, min(room, len(offsets)) - (count - encoder.window))  # a cut inside a word made more pieces of it


def _best_cut(block: str, offsets: Sequence[tuple[int, int]], room: int, lines: bool, last: bool) -> int:
    limit = offsets[room][0] if len(offsets) > room else len(block)
    wanted = limit
    if last and len(offsets) > room:  # the rest is known, so its parts can be made about equal
        parts = -(-len(offsets) // room)
        wanted = offsets[-(-len(offsets) // parts) - 1][1]
    by_sentence, by_line, by_word = sentence_ends(block), _ends(_LINE_END, block), _ends(_WORD_END, block)
    for ends in (by_line, by_word) if lines else (by_sentence, by_line, by_word):
        fitting = [end for end in ends if wanted / 4 <= end <= limit]
        if fitting:
            return min(fitting, key=lambda end: abs(end - wanted))
    return max(1, limit)


def _ends(pattern: re.Pattern[str], block: str) -> Iterator[int]:
    return (match.start() for match in pattern.finditer(block))


# --- short pieces are joined -----------------------------------------------------------------------------------------


def _joined(text: str, pieces: Iterable[Piece], encoder: Encoder) -> list[Piece]:
    """Very short pieces with the one that follows; where that cannot be, with the one before."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and _wants(joined[-1], piece, encoder) and (both := _join(text, joined[-1], piece, encoder)):
            joined[-1] = both
        else:
            _join_last(text, joined, encoder)
            joined.append(piece)
    _join_last(text, joined, encoder)
    return joined


def _join_last(text: str, joined: list[Piece], encoder: Encoder) -> None:
    """The last piece with the one before it, if it is very short."""
    may = len(joined) > 1 and _is_short(joined[-1], encoder) and not joined[-1].introduces
    if may and (both := _join(text, joined[-2], joined[-1], encoder)):
        joined[-2:] = [both]


def _wants(first: Piece, second: Piece, encoder: Encoder) -> bool:
    if first.introduces:
        return True
    return _is_short(first, encoder) if first.kind == second.kind else first.tokens * SHORT < encoder.window


def _is_short(piece: Piece, encoder: Encoder) -> bool:
    return piece.tokens * SHORT_OF.get(piece.kind, SHORT) < encoder.window


def _join(text: str, first: Piece, second: Piece, encoder: Encoder) -> Piece | None:
    """Both as one, if that fits the window and each still stands under what it stood under."""
    known = second.under == first.under or second.under in first.names
    apart = text[first.end : second.start].strip(" \t\r\n\f\u2029|")  # furniture, which is in no passage
    if not known or apart or first.tokens + second.tokens > 2 * encoder.window:
        return None
    parts = _joined_parts(first, second)
    adds_up = encoder.additive and (len(parts) > 1 or text[first.end : second.start].isspace())
    tokens = first.tokens + second.tokens if adds_up else _count(text, parts, encoder)
    if tokens > encoder.window:
        return None
    borders, names = (*first.borders, *second.borders), first.names | second.names
    return Piece(first.start, second.end, tokens, parts, borders, first.under, names, second.kind, second.introduces)


def _joined_parts(first: Piece, second: Piece) -> tuple[Part, ...]:
    if len(first.parts) == len(second.parts) == 1:  # both as they stand in the document, and so is what is between them
        return ((first.start, second.end),)
    return (*first.parts, "\n", *second.parts)
