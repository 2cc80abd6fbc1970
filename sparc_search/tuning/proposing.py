"""The pools of all questions: what today's search proposes for each, fetched from the index as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..engine import View, supports
from ..evaluation.holding import answerable, holds
from ..evaluation.questions import OpenQuestion
from ..index import Index
from ..records import EncodedQuestion, Passage
from ..search import lexical
from ..stored import Listing
from .pool import Pool, RightSpans, make_pool

_FROM_SOURCE = 3
"""Passages of the named source that are added where the search does not propose one with the answer."""
_BESIDE = 20
"""Characters (articles, marks) that a right answer may have more than the one that is given."""


def propose(
    index: Index, questions: Sequence[OpenQuestion], pieces: Sequence[NDArray[np.int32]], *, passages: int, window: int
) -> Iterator[Pool | None]:
    """The pool of each question in turn; `pieces` are the word pieces the network reads of each, at most `window`."""
    texts = [question.text for question in questions]
    encoded = index.encoder.encode_questions(texts)
    replies = index.ask_many(texts, k=passages, unit="passage")
    for question, ids, one, reply in zip(questions, pieces, encoded, replies, strict=True):
        yield _pool(index, question, ids, one, [answer.passage for answer in reply.answers], window)


def nowhere(index: Index, questions: Sequence[OpenQuestion]) -> set[str]:
    """Ids of those whose answers stand in no text of the index."""
    if not questions:
        return set()
    with index.engine.view() as view:
        return {question.id for question in questions} - answerable(questions, (one.text for one in view.texts()))


def _pool(
    index: Index,
    question: OpenQuestion,
    pieces: NDArray[np.int32],
    encoded: EncodedQuestion,
    proposed: list[Passage],
    window: int,
) -> Pool | None:
    with index.engine.view() as view:
        passages = {one.id: one for one in [*proposed, *_of_source(view, question, proposed)]}
        found = view.fetch_blocks(sorted(passages))
        if found.blocks is None:
            return None
        lex = lexical.lex_weights(encoded, lexical.look_up(encoded, view))
        texts = [_where_right(question, passages[id]) for id in found.passage_ids]
        most = 10_000 if question.pattern else _BESIDE + max(map(len, question.answers))
        return make_pool(
            pieces,
            found.blocks.laid_out(),
            lexical.scaled(lex, index.settings.lex_weight),
            RightSpans(texts, lambda text: bool(question.exact_match(text)), most),
            longest_answer=encoded.longest_answer,
            window=window,
        )


def _where_right(question: OpenQuestion, passage: Passage) -> str:
    """The text of a passage in which a right answer may stand, else nothing."""
    return passage.text if is_from(question.source, passage) and holds(question, passage.text) else ""


def is_from(source: str, passage: Passage) -> bool:
    """Whether a passage is of the source that a question names: by its path (or the end of it), id or title."""
    if not source or source in (passage.document_id, passage.title, passage.source):
        return True
    return passage.source.endswith(f"/{source.lstrip('/')}")


def _of_source(view: View, question: OpenQuestion, proposed: Sequence[Passage]) -> list[Passage]:
    """Passages of the named source that hold the answer, if the search proposed none of them."""
    if not question.source or any(_where_right(question, passage) for passage in proposed):
        return []
    if not supports(view, View.documents_from) or not supports(view, View.list_passages):
        return []
    found: list[Passage] = []
    for document, _ in view.documents_from(question.source):
        listed = view.list_passages(Listing(document_id=document, size=1000)).passages
        found += [passage for passage in listed if _where_right(question, passage)]
        if len(found) >= _FROM_SOURCE:
            break
    return found[:_FROM_SOURCE]
