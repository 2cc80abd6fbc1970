"""The tools' work, without the protocol: ask, search, fetch and list, over all indexes or one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..engine import View, supports
from ..errors import NotThere, UsageError
from ..index import Index
from ..inspection.plain import view_from
from ..records import Answer, Document, Passage, Unit
from ..sentences import sentence_around
from ..source_lines import line_of
from ..stored import DocumentFacts, Listing
from .indexes import Indexes
from .quoting import NOTE
from .results import (
    Answers,
    DocumentList,
    FetchedFacts,
    FetchedText,
    ListedDocument,
    ResultFacts,
    SearchResult,
    SearchResults,
    ToolAnswer,
)

Where = Mapping[str, str]
_CURSOR: Final = re.compile(r"([A-Za-z0-9_-]{1,40}):([0-9]{1,12})")
_ELSEWHERE: Final = 5
"""Other documents that are named beside an answer."""
_FILTERS: Final = 10
"""Values that are named of each key of the metadata."""

SURE: Final = "Found. Cite the source of the answer you use."
UNSURE: Final = (
    "Not found: no answer is sure enough. What follows are guesses; say that the documents do not answer it, or look "
    "further with `search` and `fetch`."
)
NOTHING: Final = "Not found: nothing in the index fits, or nothing passes the filters."


@dataclass(frozen=True, slots=True)
class Asking:
    """The four tools, over these indexes."""

    indexes: Indexes

    def ask(self, question: str, k: int, where: Where, index: str = "") -> Answers:
        """Answer a question."""
        replies = [
            (name, opened.ask(question, k=k, unit="phrase", where=where)) for name, opened in self.indexes.chosen(index)
        ]
        rows = [(self._answer(name, answer), reply.guess) for name, reply in replies for answer in reply.answers]
        rows.sort(key=lambda row: -row[0].score)
        answers = tuple(answer for answer, _ in rows[:k])
        found = bool(rows) and not rows[0][1]
        missing = tuple(what for _, reply in replies for what in reply.degraded)
        return Answers(
            found=found,
            message=SURE if found else UNSURE if rows else NOTHING,
            answer=answers[0].text if found else None,
            confidence=answers[0].confidence if answers else None,
            answers=answers,
            missing=missing or None,
        )

    def search(self, query: str, k: int, unit: Unit, where: Where, index: str = "") -> SearchResults:
        """The passages that fit some words best."""
        results = [
            self._result(name, answer)
            for name, opened in self.indexes.chosen(index)
            for answer in opened.search(query, k=k, unit=unit, where=where).answers
        ]
        return SearchResults(results=tuple(sorted(results, key=lambda result: -result.metadata.score)[:k]))

    def fetch(self, id: str, start: int | None, length: int) -> FetchedText:
        """A passage, or a document from a character on."""
        name, index, inner = self.indexes.located(id)
        passage = _passage(index, inner)
        document = _document(index, passage.document_id if passage else inner, id)
        page = None
        if passage and start is None:
            start, text, page = passage.start, passage.text[:length], passage.page
        else:
            start = start or 0
            text = document.text[start : start + length]
        if start > len(document.text):
            raise UsageError(f"the document has {len(document.text):,} characters", "give a smaller `start`")
        end = start + len(text)
        facts = FetchedFacts(
            document_id=self.indexes.id_of(name, document.id),
            start=start,
            end=end,
            characters=len(document.text),
            next_start=end if end < len(document.text) else None,
            source=document.source or None,
            page=page,
            index=self.indexes.label(name),
            metadata=document.metadata or None,
        )
        url = self.indexes.url(name, document.id, document.source, page)
        title = document.title or document.source or id
        return FetchedText(id=id, title=title, text=text, url=url, metadata=facts)

    def list_documents(self, text: str, where: Where, limit: int, cursor: str = "", index: str = "") -> DocumentList:
        """Documents by page, one index after the other."""
        chosen = dict(self.indexes.chosen(index))
        name, offset = _from_cursor(cursor) if cursor else (next(iter(chosen)), 0)
        if name not in chosen:
            raise _no_cursor()
        listing = Listing(text=text, where=tuple(where.items()), offset=offset, size=limit)
        with chosen[name].engine.view() as view:
            page = view.list_documents(listing)
            filters = view.metadata_values(_FILTERS) if supports(view, View.metadata_values) else {}
        following = f"{name}:{offset + len(page.documents)}" if page.more else _next(list(chosen), name)
        return DocumentList(
            documents=tuple(self._listed(name, facts) for facts in page.documents),
            total=None if len(chosen) > 1 else page.total,
            next_cursor=following,
            filters={key: tuple(value for value, _ in values) for key, values in filters.items()},
        )

    def text_at(self, address: str) -> str:
        """The whole text of a document by its address as a resource."""
        _, index, id = self.indexes.at(address)
        return _document(index, id, address).text

    def _answer(self, name: str, answer: Answer) -> ToolAnswer:
        passage = answer.passage
        start, end = sentence_around(passage.text, answer.start, answer.end, passage.joints)
        elsewhere = [
            self.indexes.url(name, place.passage.document_id, place.passage.source, place.passage.page)
            for place in answer.others
            if place.passage.document_id != passage.document_id
        ]
        return view_from(
            ToolAnswer,
            self._place(name, answer),
            text=answer.text,
            sentence=passage.text[start:end],
            passage_id=self.indexes.id_of(name, passage.id),
            score=round(answer.score, 3),
            confidence=None if answer.confidence is None else round(answer.confidence, 3),
            also_in=tuple(dict.fromkeys(elsewhere))[:_ELSEWHERE] or None,
        )

    def _result(self, name: str, answer: Answer) -> SearchResult:
        place, metadata = self._place(name, answer), answer.passage.metadata or None
        facts = view_from(ResultFacts, place, score=round(answer.score, 3), metadata=metadata, note=NOTE)
        id = place.document_id if answer.unit == "document" else self.indexes.id_of(name, answer.passage.id)
        return SearchResult(id=id, title=place.title, url=place.url, text=answer.text, metadata=facts)

    def _place(self, name: str, answer: Answer) -> _Place:
        passage = answer.passage
        return _Place(
            title=passage.title or passage.source or passage.document_id,
            url=self.indexes.url(name, passage.document_id, passage.source, passage.page),
            document_id=self.indexes.id_of(name, passage.document_id),
            start=passage.start + answer.start,
            end=passage.start + answer.end,
            source=passage.source or None,
            page=passage.page,
            line=line_of(passage, answer.scored.start, answer.scored.end),
            index=self.indexes.label(name),
        )

    def _listed(self, name: str, facts: DocumentFacts) -> ListedDocument:
        return ListedDocument(
            id=self.indexes.id_of(name, facts.id),
            title=facts.title or facts.source or facts.id,
            url=self.indexes.url(name, facts.id, facts.source),
            passages=facts.passages,
            source=facts.source or None,
            index=self.indexes.label(name),
            metadata=facts.metadata or None,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an answer stands, as clients are told."""

    title: str
    url: str
    document_id: str
    start: int
    end: int
    source: str | None
    page: int | None
    line: int | None
    index: str | None


def _passage(index: Index, id: str) -> Passage | None:
    with index.engine.view() as view:
        return next(iter(view.fetch_passages([id]).passages), None)


def _document(index: Index, id: str, asked: str) -> Document:
    try:
        return index.document(id)
    except NotThere:
        raise NotThere(f"there is nothing of the id {asked!r}", "take ids from `search` or `list_documents`") from None


def _from_cursor(cursor: str) -> tuple[str, int]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise _no_cursor()
    return match[1], int(match[2])


def _next(names: list[str], name: str) -> str | None:
    """Where the list goes on when the documents of one index have come to their end."""
    following = names[names.index(name) + 1 :]
    return f"{following[0]}:0" if following else None


def _no_cursor() -> UsageError:
    return UsageError("there is no such cursor", "leave it out, or take `next_cursor` of the page before")
