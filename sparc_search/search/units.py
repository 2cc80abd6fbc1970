"""Answers in the size that was asked for: each phrase taken up to the unit that holds it, every unit once.

The ranking is that of the phrases, so a unit scores what its best phrase does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ..records import Answer, Occurrence, Span, Unit
from ..sentences import sentence_around
from .candidates import FoundAnswer
from .confidence import words

RIVALS = 50
"""Phrases that are looked at for one that says something else than the best."""

PLACES = 24
"""Phrases that are looked at for places that say the same: each has its text read."""


class Chosen(NamedTuple):
    """The answers that are shown, and the score of the best phrase that says something else than the first."""

    shown: list[FoundAnswer]
    rival: float | None


Copies = Callable[[str, str], bool]
"""Whether two documents, by their ids, have the same text."""


def choose(
    found: Iterator[FoundAnswer], k: int, unit: Unit, *, merge: bool, rival: bool, copies: Copies | None = None
) -> Chosen:
    """The first k units; with `merge`, those that say the same are one, which names all its places."""
    places: set[Hashable] = set()
    meaning = _Meaning(copies)
    groups: dict[Hashable, list[FoundAnswer]] = {}
    first: tuple[str, ...] | None = None
    other: float | None = None
    for number, phrase in enumerate(found):
        said = words(phrase.answer.text)
        first = said if first is None else first
        if other is None and said != first and number < max(RIVALS, k):
            other = phrase.answer.score
        answer = in_unit(phrase.answer, unit)
        place = _place(answer)
        if place not in places:
            places.add(place)
            key = meaning.of(answer) if merge else place
            if key in groups or len(groups) < k:
                groups.setdefault(key, []).append(phrase._replace(answer=answer))
        if len(groups) == k and _enough(number + 1, merge=merge, rival=rival and other is None):
            break
    return Chosen([_merged(group) for group in groups.values()], other if rival else None)


def in_unit(answer: Answer, unit: Unit) -> Answer:
    """The answer taken up to a unit."""
    if unit == "phrase":
        return answer
    text, span = answer.passage.text, Span(answer.text, answer.start, answer.end)
    start, end = 0, len(text)
    if unit == "sentence":
        start, end = sentence_around(text, answer.start, answer.end, answer.passage.joints)
    return replace(answer, text=text[start:end], start=start, end=end, unit=unit, phrase=span)


def _place(answer: Answer) -> Hashable:
    """What must be shown once only."""
    if answer.unit == "document":
        return answer.passage.document_id
    return answer.passage.id, answer.start, answer.end


class _Meaning:
    """What answers say, as a key that is the same for those that say the same."""

    def __init__(self, copies: Copies | None) -> None:
        self._copies = copies
        self._documents: dict[Hashable, str] = {}  # a passage of each document that was met, by what it says and where

    def of(self, answer: Answer) -> Hashable:
        """Documents are told apart by their names, unless one is a copy of another: then its passages are, too."""
        if answer.unit != "document":
            return words(answer.text) or answer.text
        passage = answer.passage
        first = self._documents.setdefault((passage.start, passage.text), passage.document_id)
        same = first != passage.document_id and self._copies is not None and self._copies(first, passage.document_id)
        return first if same else passage.document_id


def _enough(looked_at: int, *, merge: bool, rival: bool) -> bool:
    """Whether so many phrases will do, if places that say the same, or a rival, are still looked for."""
    return looked_at >= max(PLACES if merge else 0, RIVALS if rival else 0)


def _merged(group: list[FoundAnswer]) -> FoundAnswer:
    best, *others = group
    places = tuple(
        Occurrence(other.answer.passage, other.answer.start, other.answer.end, other.answer.score) for other in others
    )
    return best._replace(answer=replace(best.answer, others=places)) if places else best
