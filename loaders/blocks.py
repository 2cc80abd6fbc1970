"""The blocks of a document: paragraphs, items, terms, code and rows of tables, as ranges of its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from sparc_search.records import BlockKind, Document, Section

from .builder import CELL_GAP

Range = tuple[int, int]

_PARAGRAPH_BREAK: Final = re.compile(r"(?:\r\n|\n|\r)[^\S\n\r]*(?:\r\n|\n|\r)\s*|[\f\u2029]\s*")
_LISTED: Final = frozenset(("item", "term", "head", "row", "code"))
_LEAD: Final = 100  # characters of a line that introduces a list


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the text that no answer leaves: without white space at its ends, never empty."""

    start: int
    end: int
    kind: BlockKind
    under: str = ""
    """What it stands under besides its headings: a term, a caption, the line before its list."""
    cells: tuple[Range, ...] = ()
    """Of a row: its cells, of which some may be empty."""
    name: str = ""
    """What blocks that follow stand under, if they stand under this one."""


def blocks_of(document: Document) -> Iterator[tuple[Section, list[Block]]]:
    """Each section with its blocks; text before the first section stands under no heading."""
    for section, marks, end in _sections(document):
        start = min(section.start + section.skip, end)
        yield section, list(_introduced(document.text, _blocks(document.text, start, end, marks)))


def trimmed(text: str, start: int, end: int) -> Range:
    """Without white space at either end."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _sections(document: Document) -> Iterator[tuple[Section, list[Section], int]]:
    """Each section, the marks of its blocks, and where it ends."""
    section, marks = Section(0), list[Section]()
    for mark in sorted(document.sections, key=lambda mark: mark.start):
        if mark.kind:
            marks.append(mark)
        else:
            yield section, marks, mark.start
            section, marks = mark, []
    yield section, marks, len(document.text)


def _blocks(text: str, start: int, end: int, marks: Sequence[Section]) -> Iterator[Block]:
    first = Section(start, kind="paragraph")
    last = Section(end)
    rows = _with_cells([first, *(mark for mark in marks if start <= mark.start < end)])
    for (mark, cells), (following, _) in pairwise([*rows, (last, ())]):
        if mark.kind == "furniture":
            continue
        if mark.kind == "paragraph":
            for begin, stop in _paragraphs(text, mark.start, following.start):
                yield from _block(text, begin, stop, mark)
        else:
            for block in _block(text, mark.start, following.start, mark):
                yield replace(block, cells=_cells(text, block, cells)) if mark.kind in ("row", "head") else block


def _with_cells(marks: Sequence[Section]) -> Iterator[tuple[Section, tuple[int, ...]]]:
    """Each mark but those of cells, with where the further cells of it begin."""
    held: Section | None = None
    cells: list[int] = []
    for mark in marks:
        if mark.kind == "cell":
            cells.append(mark.start)
            continue
        if held:
            yield held, tuple(cells)
        held, cells = mark, []
    if held:
        yield held, tuple(cells)


def _block(text: str, start: int, end: int, mark: Section) -> Iterator[Block]:
    start, end = trimmed(text, start, end)
    if start < end:
        name = " ".join(text[start:end].split()) if mark.kind == "term" else ""
        yield Block(start, end, mark.kind, mark.heading, (), name)


def _cells(text: str, block: Block, starts: Sequence[int]) -> tuple[Range, ...]:
    begins = [block.start, *(start for start in starts if block.start < start <= block.end), block.end]
    return tuple(_without_gap(text, begin, following) for begin, following in pairwise(begins))


def _without_gap(text: str, start: int, end: int) -> Range:
    if text.endswith(CELL_GAP, max(0, start - 1), end):  # of an empty cell, the block may have lost the space before it
        end = max(start, end - len(CELL_GAP))
    return trimmed(text, start, end)


def _paragraphs(text: str, start: int, end: int) -> Iterator[Range]:
    for match in _PARAGRAPH_BREAK.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _introduced(text: str, blocks: Iterator[Block]) -> Iterator[Block]:
    """The items of a list stand under the line that introduces it, as "The colours are:" does."""
    held: Block | None = None
    lead = ""
    for block in blocks:
        if held and held.kind == "paragraph" and not held.under:
            line = _last_line(text, held) if block.kind in _LISTED else ""
            held, lead = replace(held, name=line), line
        elif block.kind == "paragraph":
            lead = ""
        if held:
            yield held
        held = replace(block, under=lead) if lead and block.kind in _LISTED and not block.under else block
    if held:
        yield held


def _last_line(text: str, block: Block) -> str:
    """The last line or sentence of a paragraph, if it ends with a colon; nothing if it does not."""
    if text[block.end - 1] != ":":
        return ""
    line = re.split(r"[.!?]\s|\n", text[max(block.start, block.end - 4 * _LEAD) : block.end - 1])[-1].strip()
    return line if len(line) <= _LEAD else ""
