"""Closed evaluation: the answer is sought in the question's own paragraph, on the serving path.

The paragraph goes through the same encoder, pruning, quantisation and scorer as an ingested one. Parts of the score
are switched off in turn, to see what each gives. (A part trained together with the others and then removed looks
better than it is: see docs/training.md.)
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..cross_encoder.reading import CrossEncoder
from ..encoder import Encoder
from ..records import EncodedQuestion, Passage, PhraseBlock
from ..search.scorer import score_spans
from ..squad import SquadParagraph, SquadQuestion, answerable, read_squad
from .answers import exact_match, f1
from .open_domain import percent, percent_interval
from .switched_off import without_sparc, without_vectors
from .watching import QUIET, Watcher


@dataclass(frozen=True, slots=True)
class ClosedRow:
    """What was found for one question by one variant of the score."""

    id: str
    variant: str
    found: str
    exact_match: float
    f1: float
    group: str = ""
    """Questions on one paragraph share it."""


def without_span(block: PhraseBlock) -> PhraseBlock:
    """The coherency of start and end switched off."""
    return replace(block, start=replace(block.start, spans=np.zeros_like(block.start.spans)))


QuestionChange = Callable[[EncodedQuestion], EncodedQuestion]
BlockChange = Callable[[PhraseBlock], PhraseBlock]
Row = TypeVar("Row")
VARIANTS: dict[str, tuple[QuestionChange | None, BlockChange | None]] = {
    "all parts": (None, None),
    "without sparc": (without_sparc, None),
    "without dense": (lambda question: without_vectors(question, "start_vector", "end_vector"), None),
    "without span": (None, without_span),
}
"""Variants of the score: what each does to a question, and to a block."""


def read_answerable(path: Path, sample: int = 0, seed: int = 0) -> list[SquadParagraph]:
    """Paragraphs of a SQuAD file that have answerable questions; `sample` of them by chance, or all."""
    paragraphs = answerable(read_squad(path).paragraphs)
    return random.Random(seed).sample(paragraphs, sample) if 0 < sample < len(paragraphs) else paragraphs


def evaluate_closed(
    encoder: Encoder, paragraphs: Sequence[SquadParagraph], variants: Sequence[str], batch: int = 64
) -> Iterator[list[ClosedRow]]:
    """Rows of each paragraph in turn."""
    for at in range(0, len(paragraphs), batch):
        some = paragraphs[at : at + batch]
        windows = [paragraph_windows(encoder, paragraph) for paragraph in some]
        encoded = iter(encoder.encode_passages([passage for cut in windows for passage in cut]))
        questions = iter(
            encoder.encode_questions([question.text for paragraph in some for question in paragraph.questions])
        )
        for paragraph, cut in zip(some, windows, strict=True):
            blocks = [next(encoded).block for _ in cut]
            yield [
                row
                for question in paragraph.questions
                for row in answer_rows(question, next(questions), cut, blocks, variants, paragraph.questions[0].id)
            ]


def read_closed(reader: CrossEncoder, paragraphs: Sequence[SquadParagraph]) -> Iterator[list[ClosedRow]]:
    """The same by a cross-encoder, which reads the question's own paragraph, as BERT does in the paper's table 3."""
    for paragraph in paragraphs:
        passage = Passage("", "", 0, paragraph.text, title=paragraph.title)
        rows = []
        for question in paragraph.questions:
            spans = reader.read(question.text, [passage])
            found = passage.text[spans[0].start : spans[0].end] if spans else ""
            rows.append(judged(question, "all parts", found, paragraph.questions[0].id))
        yield rows


def collected(rows: Iterable[list[Row]], paragraphs: int, watcher: Watcher = QUIET) -> list[Row]:
    """The rows of so many paragraphs."""
    collected_rows: list[Row] = []
    with watcher.counting("evaluating", paragraphs) as tell:
        for some in rows:
            collected_rows += some
            tell()
    return collected_rows


def paragraph_windows(encoder: Encoder, paragraph: SquadParagraph) -> list[Passage]:
    """The paragraph, in consecutive windows where it is longer than the model reads."""
    text = paragraph.text
    offsets = encoder.token_offsets(text)
    firsts = [offsets[at][0] for at in range(0, len(offsets), encoder.window)][1:]
    bounds = [0, *firsts, len(text)]
    return [
        Passage(str(number), "", number, text[start:end], start, paragraph.title)
        for number, (start, end) in enumerate(itertools.pairwise(bounds))
    ]


def answer_rows(
    question: SquadQuestion,
    encoded: EncodedQuestion,
    passages: Sequence[Passage],
    blocks: Sequence[PhraseBlock],
    variants: Sequence[str],
    group: str,
) -> Iterator[ClosedRow]:
    """The best answer by each variant of the score."""
    for name in variants:
        of_question, of_block = VARIANTS[name]
        asked = of_question(encoded) if of_question else encoded
        sought = [of_block(block) for block in blocks] if of_block else blocks
        yield judged(question, name, best_answer(asked, sought, passages), group)


def judged(question: SquadQuestion, variant: str, found: str, group: str) -> ClosedRow:
    """How an answer does on its question."""
    em, overlap = exact_match(found, question.answers), f1(found, question.answers)
    return ClosedRow(question.id, variant, found, em, overlap, group)


def best_answer(question: EncodedQuestion, blocks: Sequence[PhraseBlock], passages: Sequence[Passage]) -> str:
    """Text of the best legal span; empty if there is none."""
    spans = score_spans(question, (), blocks)
    if not len(spans):
        return ""
    best = int(spans.score.argmax())
    number = int(spans.block[best])
    offsets = blocks[number].offsets
    return passages[number].text[offsets[spans.start[best], 0] : offsets[spans.end[best], 1]]


@dataclass(frozen=True, slots=True)
class ClosedReport:
    """EM and F1 in percent by variant, and the bootstrap intervals that hold 95 %."""

    questions: int
    scores: dict[str, dict[str, float]]
    intervals: dict[str, dict[str, tuple[float, float]]]


def summarise(rows: Sequence[ClosedRow], seed: int = 0) -> ClosedReport:
    """Means over the questions."""
    scores, intervals = {}, {}
    names = list(dict.fromkeys(row.variant for row in rows))
    for name in names:
        mine = [row for row in rows if row.variant == name]
        groups = [row.group or row.id for row in mine]
        measures = {"exact_match": [row.exact_match for row in mine], "f1": [row.f1 for row in mine]}
        scores[name] = {measure: percent(sum(values), len(values)) for measure, values in measures.items()}
        intervals[name] = {measure: percent_interval(values, groups, seed) for measure, values in measures.items()}
    return ClosedReport(len(rows) // max(1, len(names)), scores, intervals)
