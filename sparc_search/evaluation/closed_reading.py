"""Closed evaluation of a cross-encoder: it reads the question's own paragraph, as BERT does in the paper's table 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..cross_encoder.reading import CrossEncoder
from ..records import Passage
from ..squad import SquadParagraph, SquadQuestion
from .answers import exact_match, f1
from .closed import ClosedRow


def read_closed(reader: CrossEncoder, paragraphs: Sequence[SquadParagraph]) -> Iterator[list[ClosedRow]]:
    """Rows of each paragraph in turn."""
    for paragraph in paragraphs:
        passage = Passage("", "", 0, paragraph.text)
        yield [_row(reader, question, passage, paragraph.questions[0].id) for question in paragraph.questions]


def _row(reader: CrossEncoder, question: SquadQuestion, passage: Passage, group: str) -> ClosedRow:
    spans = reader.read(question.text, [passage])
    found = passage.text[spans[0].start : spans[0].end] if spans else ""
    em, overlap = exact_match(found, question.answers), f1(found, question.answers)
    return ClosedRow(question.id, "all parts", found, em, overlap, group)
