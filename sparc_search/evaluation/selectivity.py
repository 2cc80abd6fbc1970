"""How selective SPARC is: whether the right phrase gives the question's n-grams more weight than its neighbours do.

A tf-idf vector belongs to a passage: every phrase of it would get the same for the words of a question. The point of
contextualised sparse vectors is that they do not, so the right phrase is compared with the other kept phrases of its
own passage: `gold / others`, 1 if nothing was learned. Starts and ends count alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..block_batch import batch_of
from ..encoder import Encoder
from ..records import EncodedQuestion, Passage, PhraseBlock, ScorePart
from ..search.explain import sparse_parts
from ..search.question_grams import sparse_scores
from ..squad import SquadParagraph, SquadQuestion
from .closed import paragraph_windows


@dataclass(frozen=True, slots=True)
class SelectivityRow:
    """One question: the sparse score of its answer, and the mean of the other kept starts and ends beside it."""

    id: str
    question: str
    answer: str
    gold: float
    others: float
    first: bool
    """Whether no other start and no other end gets more."""
    group: str


@dataclass(frozen=True, slots=True)
class Selectivity:
    """All of them."""

    questions: int
    filtered: int
    """Questions whose answer begins or ends at a word that the filter left out."""
    gold: float
    others: float
    ratio: float
    first: float
    """Share of the questions whose answer gets the most, in percent."""


def selectivity_rows(
    encoder: Encoder, paragraphs: Sequence[SquadParagraph], batch: int = 64
) -> Iterator[list[SelectivityRow | None]]:
    """A list for each paragraph, with None for an answer that was filtered out."""
    for at in range(0, len(paragraphs), batch):
        some = paragraphs[at : at + batch]
        windows = [paragraph_windows(encoder, paragraph) for paragraph in some]
        encoded = iter(encoder.encode_passages([passage for cut in windows for passage in cut]))
        texts = [question.text for paragraph in some for question in paragraph.questions]
        questions = iter(encoder.encode_questions(texts))
        for paragraph, cut in zip(some, windows, strict=True):
            blocks = [next(encoded).block for _ in cut]
            yield [_row(asked, next(questions), cut, blocks, paragraph) for asked in paragraph.questions]


def summarised(rows: Sequence[SelectivityRow | None]) -> Selectivity:
    """The means; the ratio is that of the means, so that no small number is divided by."""
    kept = [row for row in rows if row is not None]
    count = max(1, len(kept))
    gold, others = sum(row.gold for row in kept) / count, sum(row.others for row in kept) / count
    first = 100 * sum(row.first for row in kept) / count
    ratio = gold / others if others else 0.0
    numbers = (round(number, 3) for number in (gold, others, ratio, first))
    return Selectivity(len(kept), len(rows) - len(kept), *numbers)


def example(encoder: Encoder, asked: SquadQuestion, paragraph: SquadParagraph) -> list[tuple[str, float, float]]:
    """What each n-gram of a question gets from the right phrase, and from the others on the average."""
    (question,) = encoder.encode_questions([asked.text])
    cut = paragraph_windows(encoder, paragraph)
    blocks = [encoded.block for encoded in encoder.encode_passages(cut)]
    place = _place(asked, cut, blocks)
    if place is None:
        return []
    block, start, end = place
    gold = _by_name(sparse_parts(question, block, start, end))
    starts, ends = ([int(at) for at in side.positions] for side in (block.start, block.end))
    totals: dict[str, float] = {}
    for side, positions, right in ((0, starts, start), (1, ends, end)):
        others = [at for at in positions if at != right]
        for position in others:
            parts = sparse_parts(question, block, position if not side else -1, position if side else -1)
            for name, value in _by_name(parts).items():
                totals[name] = totals.get(name, 0.0) + value / len(others)
    names = sorted({**gold, **totals}, key=lambda name: (-gold.get(name, 0.0), name))
    return [(name, gold.get(name, 0.0), totals.get(name, 0.0)) for name in names]


def _row(
    asked: SquadQuestion,
    question: EncodedQuestion,
    cut: Sequence[Passage],
    blocks: Sequence[PhraseBlock],
    paragraph: SquadParagraph,
) -> SelectivityRow | None:
    place = _place(asked, cut, blocks)
    if place is None:
        return None
    block, *ends = place
    gold = others = 0.0
    first = True
    scores = sparse_scores(question, batch_of([block]))
    for side, position, by_row in zip((block.start, block.end), ends, scores, strict=True):
        row = int(np.searchsorted(side.positions, position))
        rest = np.delete(by_row, row)
        gold += float(by_row[row])
        others += float(rest.mean()) if len(rest) else 0.0
        first &= bool(by_row[row] >= rest.max(initial=0.0))
    return SelectivityRow(asked.id, asked.text, asked.answers[0], gold, others, first, paragraph.questions[0].id)


def _place(
    asked: SquadQuestion, cut: Sequence[Passage], blocks: Sequence[PhraseBlock]
) -> tuple[PhraseBlock, int, int] | None:
    """The block that holds the answer, and its first and last token there, if both are kept."""
    first, last = asked.start, asked.start + len(asked.answers[0])
    for passage, block in zip(cut, blocks, strict=True):
        begins = {int(block.offsets[at, 0]) + passage.start: int(at) for at in block.start.positions}
        finishes = {int(block.offsets[at, 1]) + passage.start: int(at) for at in block.end.positions}
        if first in begins and last in finishes:
            return block, begins[first], finishes[last]
    return None


def _by_name(parts: Sequence[ScorePart]) -> dict[str, float]:
    values: dict[str, float] = {}
    for part in parts:
        values[part.name] = values.get(part.name, 0.0) + part.value
    return values
