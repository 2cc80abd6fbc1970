"""What a reader learns from: a question, the window of its paragraph that holds the answer, and a tempting wrong one.

The wrong passage is the best one by BM25 that does not hold the answer: without such negatives a reader never learns
to say of a passage that the answer is not there, and its scores cannot be compared between passages.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..model.tokenizer import Pieces, WordPieces
from ..records import Passage
from ..squad import SquadParagraph, SquadQuestion, answerable, read_paragraphs
from .bm25 import Bm25
from .holding import holds
from .questions import OpenQuestion


@dataclass(frozen=True, slots=True)
class Example:
    """Word pieces of a question, of the window with its answer (both ends included), and of a wrong passage."""

    question: NDArray[np.int32]
    passage: NDArray[np.int32]
    start: int
    end: int
    negative: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its paragraph's number and where its answer begins there."""

    question: OpenQuestion
    paragraph: int
    start: int


def read_training(paths: Sequence[Path]) -> list[SquadParagraph]:
    """The paragraphs of all files, each text once with all its questions."""
    merged: dict[str, SquadParagraph] = {}
    for paragraph in (one for path in paths for one in answerable(read_paragraphs(path))):
        known = merged.get(paragraph.text)
        questions = (*known.questions, *paragraph.questions) if known else paragraph.questions
        merged[paragraph.text] = SquadParagraph(paragraph.text, questions)
    return list(merged.values())


def chosen(paragraphs: Sequence[SquadParagraph], most: int, seed: int) -> list[Asked]:
    """At most so many questions by chance, of those whose answer stands in their paragraph."""
    asked = [
        Asked(OpenQuestion(question.id, question.text, question.answers), number, start)
        for number, paragraph in enumerate(paragraphs)
        for question in paragraph.questions
        if (start := _start(paragraph.text, question)) >= 0
    ]
    return random.Random(seed).sample(asked, most) if most < len(asked) else asked


def _start(text: str, question: SquadQuestion) -> int:
    """Where the answer begins: where the file says, if it stands there, else where it stands first; -1 if nowhere."""
    answer = question.answers[0]
    if not answer:
        return -1
    return question.start if question.start >= 0 and text.startswith(answer, question.start) else text.find(answer)


def apart(
    paragraphs: Sequence[SquadParagraph], questions: int, seed: int
) -> tuple[list[SquadParagraph], list[SquadParagraph]]:
    """(for training, held out): whole paragraphs by chance until so many questions are held out."""
    order = list(range(len(paragraphs)))
    random.Random(seed).shuffle(order)
    held: set[int] = set()
    count = 0
    for number in order:
        if count >= questions or len(held) + 1 >= len(paragraphs):
            break
        held.add(number)
        count += len(paragraphs[number].questions)
    kept = [paragraph for number, paragraph in enumerate(paragraphs) if number not in held]
    return kept, [paragraphs[number] for number in sorted(held)]


def as_passages(paragraphs: Sequence[SquadParagraph]) -> list[Passage]:
    """Paragraphs as BM25 takes them."""
    return [Passage(str(number), "", number, paragraph.text) for number, paragraph in enumerate(paragraphs)]


def negatives(asked: Sequence[Asked], bm25: Bm25, share: float, seed: int, depth: int = 8) -> dict[int, int]:
    """For a share of the questions, drawn by chance: number of the question -> number of a wrong paragraph."""
    draw = random.Random(seed)
    wanted = [number for number in range(len(asked)) if draw.random() < share]
    found: dict[int, int] = {}
    for number in wanted:
        question = asked[number].question
        for one in bm25.propose(question.text, depth):
            if one.passage.number != asked[number].paragraph and not holds(question, one.passage.text):
                found[number] = one.passage.number
                break
    return found


def examples(
    asked: Sequence[Asked], wrong: dict[int, int], paragraphs: Sequence[SquadParagraph], pieces: WordPieces, window: int
) -> list[Example]:
    """Everything as word pieces; `window` is the room for a passage."""
    used = sorted({one.paragraph for one in asked} | set(wrong.values()))
    cut = dict(zip(used, pieces([paragraphs[number].text for number in used]), strict=True))
    questions = pieces([one.question.text for one in asked])
    made = []
    for number, (one, question) in enumerate(zip(asked, questions, strict=True)):
        bounds = one.start, one.start + len(one.question.answers[0])
        placed = _placed(cut[one.paragraph], *bounds, window)
        if placed is not None and len(question.ids):
            other = cut[wrong[number]].ids[:window] if number in wrong else None
            made.append(Example(question.ids, *placed, other))
    return made


def _placed(text: Pieces, first: int, last: int, window: int) -> tuple[NDArray[np.int32], int, int] | None:
    """The window around the answer, and the answer's word pieces in it."""
    start = int(np.searchsorted(text.offsets[:, 1], first, side="right"))
    end = int(np.searchsorted(text.offsets[:, 0], last, side="left")) - 1
    if not 0 <= start <= end < len(text.ids) or end - start >= window:
        return None
    begin = max(0, min(start - (window - (end - start)) // 2, len(text.ids) - window))
    return text.ids[begin : begin + window], start - begin, end - begin
