"""A look at some files of a run before it begins: what they have in common is furniture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sparc_search.records import Document

from .formats import Formats
from .furniture import SAMPLE, Furniture
from .plan import Plan
from .reading import Read, Reading
from .walk import Found, walk

_FEWEST: Final = 4  # pages
_MOST_BYTES: Final = 1 << 20  # of a page that is looked at


def learned_furniture(plan: Plan, formats: Formats) -> Furniture:
    """What pages of the plan share. The same folder gives the same, whatever of it has changed."""
    if plan.only is not None:  # files that were rejected before: too few, and chosen by accident
        return Furniture()
    pages = _sample(_pages(plan, formats))
    if len(pages) < _FEWEST:
        return Furniture()
    reading = Reading(formats, plan.options, limits=plan.limits)
    try:
        return Furniture.of_sample(_documents(reading, pages))
    finally:
        reading.close()


def _pages(plan: Plan, formats: Formats) -> Iterator[Found]:
    for entry in walk(plan.roots, plan.filters):
        if not isinstance(entry, Found) or entry.root.kind == "stdin" or entry.size > _MOST_BYTES:
            continue
        if formats.is_page(entry.name):
            yield entry


def _sample(pages: Iterator[Found]) -> list[Found]:
    """Some of them, from all over, however many there are."""
    kept: list[Found] = []
    step = 1
    for number, entry in enumerate(pages):
        if number % step == 0:
            kept.append(entry)
        if len(kept) > SAMPLE:
            kept, step = kept[::2], 2 * step
    return kept


def _documents(reading: Reading, pages: Sequence[Found]) -> Iterator[Document]:
    return (item.document for item in reading.everything(pages) if isinstance(item, Read))
