"""SQuAD-format files (v1.1 and v2.0) become passages of word pieces with the questions that have their answer there.

The same paragraph in several files is one passage with all its questions: question-agnostic encoding makes every
further question on it almost free.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..model.tokenizer import Pieces, WordPieces
from ..squad import SquadFile, SquadParagraph, SquadQuestion, readable
from .teacher import Taught, Teacher


@dataclass(slots=True)
class TrainingQuestion:
    """A question and the word pieces of its answer, both ends included."""

    id: str
    ids: NDArray[np.int32]
    start: int
    end: int
    taught: Taught | None = None


@dataclass(slots=True)
class TrainingPassage:
    """One passage; `weight` is how often an epoch sees it (below 1: a chance)."""

    ids: NDArray[np.int32]
    article: str
    weight: float
    questions: list[TrainingQuestion] = field(default_factory=list)
    title: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # word pieces; empty if unknown
    traps: list[NDArray[np.int32]] = field(default_factory=list)  # questions that look answerable here and are not


def passages_of(
    files: Sequence[SquadFile],
    pieces: WordPieces,
    window: int,
    question_window: int,
    title_window: int = 0,
    teacher: Teacher | None = None,
) -> list[TrainingPassage]:
    """All passages that have at least one question with a usable answer. No title window: titles are not read.

    Questions without an answer (SQuAD v2's `is_impossible`) become traps of a passage that has others.
    """
    passages: dict[str, list[TrainingPassage]] = {}  # context -> its windows
    offsets: dict[str, NDArray[np.int32]] = {}
    for file in files:
        titles = title_pieces(file, pieces, title_window) if title_window else {}
        for paragraph in file.paragraphs:
            context, article = paragraph.text, paragraph.article
            if context not in passages:
                whole = pieces([context])[0]
                offsets[context] = whole.offsets
                passages[context] = [TrainingPassage(ids, article, file.weight) for ids in windows(whole, window - 2)]
            for passage in passages[context]:
                if not len(passage.title) and article in titles:  # another file may know what this one does not
                    passage.title = titles[article]
            questions = answered(offsets[context], paragraph, pieces, question_window, teacher)
            add_questions(passages[context], questions, window - 2)
            add_traps(passages[context], paragraph.questions, pieces, question_window)
    found = [passage for cut in passages.values() for passage in cut if passage.questions]
    if not found:
        raise UsageError("no question with an answer was found in the training data")
    return found


def title_pieces(file: SquadFile, pieces: WordPieces, most: int) -> dict[str, NDArray[np.int32]]:
    """The word pieces of each real title of a file, by the title as it stands there."""
    titles = real_titles(file)
    encoded = pieces(list(titles.values()))
    return {name: title.ids[:most] for name, title in zip(titles, encoded, strict=True)}


def real_titles(file: SquadFile) -> dict[str, str]:
    """The titles of its articles: as they stand in the file -> as one reads them."""
    return {name: readable(unquote(name)) for name in article_titles(file) if name.lower() != "unknown"}


def windows(pieces: Pieces, size: int) -> list[NDArray[np.int32]]:
    """Consecutive windows of at most `size` pieces; no piece is in two."""
    return [pieces.ids[at : at + size] for at in range(0, max(len(pieces.ids), 1), size)]


def answered(
    offsets: NDArray[np.int32],
    paragraph: SquadParagraph,
    pieces: WordPieces,
    question_window: int,
    teacher: Teacher | None = None,
) -> Iterator[TrainingQuestion]:
    """The questions of a paragraph with their answer's word pieces in it."""
    answerable = [question for question in paragraph.questions if question.answers and question.start >= 0]
    for question, encoded in zip(answerable, pieces([question.text for question in answerable]), strict=True):
        span = token_span(offsets, question.start, question.start + len(question.answers[0]))
        if span is not None and len(encoded.ids):
            taught = teacher(question.text, paragraph.text) if teacher else None
            yield TrainingQuestion(question.id, encoded.ids[: question_window - 2], *span, taught)


def add_questions(cut: list[TrainingPassage], questions: Iterable[TrainingQuestion], size: int) -> None:
    """Put each question on the window that holds its answer."""
    for question in questions:
        number = question.start // size
        if number == question.end // size:
            shift = number * size
            question.start, question.end = question.start - shift, question.end - shift
            if question.taught:
                question.taught = question.taught.inside(shift, len(cut[number].ids))
            cut[number].questions.append(question)


def add_traps(
    cut: list[TrainingPassage], questions: Iterable[SquadQuestion], pieces: WordPieces, question_window: int
) -> None:
    """Questions without an answer, on the first window: they have no answer on any."""
    encoded = pieces([question.text for question in questions if question.impossible])
    cut[0].traps += [question.ids[: question_window - 2] for question in encoded if len(question.ids)]


def token_span(offsets: NDArray[np.int32], start: int, end: int) -> tuple[int, int] | None:
    """The tokens that cover characters start..end, both ends included; None if there are none."""
    if end <= start or not len(offsets):
        return None
    first = int(np.searchsorted(offsets[:, 1], start, side="right"))
    last = int(np.searchsorted(offsets[:, 0], end, side="left")) - 1
    return (first, last) if first < len(offsets) and first <= last else None


def hold_out(
    passages: Sequence[TrainingPassage], titles: Sequence[str], articles: int, seed: int
) -> tuple[list[TrainingPassage], list[TrainingPassage]]:
    """(for training, held out): `articles` whole articles, chosen among `titles` by seed."""
    chosen = held_out_titles(titles, articles, seed)
    kept = [passage for passage in passages if passage.article not in chosen]
    held = [passage for passage in passages if passage.article in chosen]
    return kept, held


def held_out_titles(titles: Iterable[str], articles: int, seed: int) -> set[str]:
    """The articles that are held out: the same for every model that is trained with this seed."""
    names = sorted(set(titles))
    return set(random.Random(seed).sample(names, min(articles, len(names))))


def article_titles(file: SquadFile) -> list[str]:
    """Titles of a file's articles; a "title" that holds over a tenth of the file is a heap, not an article."""
    counts = Counter(paragraph.article for paragraph in file.paragraphs)
    return sorted(title for title, count in counts.items() if title and count <= counts.total() / 10)
