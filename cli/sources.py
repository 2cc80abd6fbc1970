"""Where an answer stands: its title and headings, its file and line, its page."""

from __future__ import annotations

from itertools import chain

from sparc_search.records import Answer, Occurrence, Passage
from sparc_search.source_lines import line_of


def where_from(passage: Passage, start: int, end: int, *, title: bool = True) -> str:
    """Title and headings, file with line, and page of a place in a passage, as far as it has them."""
    line = line_of(passage, start, end)
    source = f"{passage.source}:{line}" if line else passage.source
    page = f"page {passage.page}" if passage.page is not None else ""
    return " · ".join(filter(None, (passage.title if title else "", source, page))) or passage.document_id


def sources(answer: Answer, *, titles: bool = True) -> list[str]:
    """Every place of an answer, one for each document, its own first; a copy of the same file is called one."""
    places = chain([Occurrence(answer.passage, answer.scored.start, answer.scored.end, answer.score)], answer.others)
    by_document: dict[str, Occurrence] = {}
    for place in places:
        by_document.setdefault(place.passage.document_id, place)
    return [_source(answer.passage, place, titles) for place in by_document.values()]


def _source(first: Passage, place: Occurrence, titles: bool) -> str:
    shown = where_from(place.passage, place.start, place.end, title=titles)
    if place.passage.document_id == first.document_id or place.passage.text != first.text:
        return shown
    return f"{shown} · identical {'file' if _same_file(first.source, place.passage.source) else 'text'}"


def _same_file(one: str, other: str) -> bool:
    try:
        from filecmp import cmp

        return cmp(one, other, shallow=False)
    except (OSError, ValueError):
        return False
