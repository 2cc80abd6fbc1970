"""What a cross-encoder learns from: a question, the window of its paragraph with the answer, and a tempting wrong one.

The wrong passage is the best one by BM25 that does not hold the answer: without such negatives a reader never learns
to say of a passage that the answer is not there, and its scores cannot be compared between passages. Questions that
SQuAD v2 marks `is_impossible` teach the same about the right paragraph itself.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..evaluation.bm25 import Bm25
from ..evaluation.holding import holds
from ..evaluation.questions import OpenQuestion
from ..model.tokenizer import Pieces, WordPieces
from ..records import Passage
from ..squad import SquadFile, SquadParagraph, SquadQuestion
from ..training.squad_data import real_titles, token_span

NO_ANSWER = -1
NO_TITLE = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Example:
    """Word pieces of a question, of the window with its answer (both ends included), and of a wrong passage."""

    id: str
    question: NDArray[np.int32]
    passage: NDArray[np.int32]
    start: int
    """`NO_ANSWER` if the passage does not answer the question."""
    end: int
    weight: float = 1.0
    """How often an epoch sees it; below 1: a chance."""
    negative: NDArray[np.int32] | None = None
    title: NDArray[np.int32] = field(default_factory=lambda: NO_TITLE)
    negative_title: NDArray[np.int32] = field(default_factory=lambda: NO_TITLE)


@dataclass(frozen=True, slots=True)
class PlacedQuestion:
    """A question of a file, its paragraph, and where its answer stands there (characters); -1 twice if nowhere."""

    question: OpenQuestion
    article: str
    text: str
    start: int
    end: int
    weight: float = 1.0
    title: str = ""
    """Of its article, as one reads it; empty where the file has none."""


def asked_in(files: Sequence[SquadFile]) -> list[PlacedQuestion]:
    """All questions whose answer stands in their paragraph, and those that are marked as having none."""
    return [
        PlacedQuestion(
            OpenQuestion(one.id, one.text, one.answers),
            paragraph.article,
            paragraph.text,
            *place,
            file.weight,
            titles.get(paragraph.article, ""),
        )
        for file in files
        for titles in [real_titles(file)]
        for paragraph in file.paragraphs
        for one in paragraph.questions
        if one.answers or one.impossible
        if (place := _place(paragraph.text, one)) is not None
    ]


def _place(text: str, question: SquadQuestion) -> tuple[int, int] | None:
    """Where the file says the answer is, if it stands there, else where it stands first; None if nowhere."""
    if not question.answers:
        return (NO_ANSWER, NO_ANSWER)
    answer, start = question.answers[0], question.start
    if start < 0 or not text.startswith(answer, start):
        start = text.find(answer)
    return (start, start + len(answer)) if answer and start >= 0 else None


def apart(
    asked: Sequence[PlacedQuestion], articles: Container[str]
) -> tuple[list[PlacedQuestion], list[PlacedQuestion]]:
    """(for training, held out): the questions on these articles are held out."""
    kept: list[PlacedQuestion] = []
    held: list[PlacedQuestion] = []
    for one in asked:
        (held if one.article in articles else kept).append(one)
    return kept, held


def apart_by_chance(
    asked: Sequence[PlacedQuestion], questions: int, seed: int
) -> tuple[list[PlacedQuestion], list[PlacedQuestion]]:
    """The same for files without articles: whole paragraphs by chance, until so many questions are held out."""
    texts = list(dict.fromkeys(one.text for one in asked))
    random.Random(seed).shuffle(texts)
    held: list[PlacedQuestion] = []
    for text in texts[:-1]:
        if len(held) >= questions:
            break
        held += [one for one in asked if one.text == text]
    chosen = {one.text for one in held}
    return [one for one in asked if one.text not in chosen], held


def sampled(asked: Sequence[PlacedQuestion], most: int, seed: int) -> list[PlacedQuestion]:
    """At most so many, by chance; 0 takes all."""
    return random.Random(seed).sample(asked, most) if 0 < most < len(asked) else list(asked)


def as_paragraphs(asked: Sequence[PlacedQuestion]) -> list[SquadParagraph]:
    """Questions with an answer by their paragraphs, as closed evaluation takes them."""
    found: dict[tuple[str, str], list[SquadQuestion]] = {}
    for one in asked:
        if one.start != NO_ANSWER:
            question = SquadQuestion(one.question.id, one.question.text, one.question.answers, one.start)
            found.setdefault((one.text, one.title), []).append(question)
    return [SquadParagraph(text, tuple(questions), title) for (text, title), questions in found.items()]


def as_passages(asked: Sequence[PlacedQuestion]) -> list[Passage]:
    """Each text once, as BM25 takes them."""
    return [
        Passage(str(number), "", number, text, title=title)
        for number, (text, title) in enumerate(titles_of(asked).items())
    ]


def titles_of(asked: Sequence[PlacedQuestion]) -> dict[str, str]:
    """Each text, and its title if any of its questions knows one."""
    titles: dict[str, str] = {}
    for one in asked:
        titles[one.text] = titles.get(one.text) or one.title
    return titles


def negatives(asked: Sequence[PlacedQuestion], bm25: Bm25, share: float, seed: int, depth: int = 8) -> dict[int, str]:
    """For a share of the questions with an answer, drawn by chance: number of the question -> a wrong passage."""
    draw = random.Random(seed)
    wanted = [number for number, one in enumerate(asked) if draw.random() < share and one.start != NO_ANSWER]
    found: dict[int, str] = {}
    for number in wanted:
        question = asked[number].question
        for proposal in bm25.propose(question.text, depth):
            text = proposal.passage.text
            if text != asked[number].text and not holds(question, text):
                found[number] = text
                break
    return found


def examples(
    asked: Sequence[PlacedQuestion], wrong: dict[int, str], pieces: WordPieces, window: int, title_window: int = 0
) -> list[Example]:
    """Everything as word pieces; `window` is the room for a passage and its title."""
    known = titles_of(asked)
    names = list(dict.fromkeys(known.values()))
    titles = {name: cut.ids[:title_window] for name, cut in zip(names, pieces(names), strict=True)}
    texts = list(dict.fromkeys([*known, *wrong.values()]))
    cut = dict(zip(texts, pieces(texts), strict=True))
    questions = pieces([one.question.text for one in asked])
    made = []
    for number, (one, question) in enumerate(zip(asked, questions, strict=True)):
        title = titles[known[one.text]]
        placed = _placed(cut[one.text], one.start, one.end, window - (len(title) + 1 if len(title) else 0))
        if placed is not None and len(question.ids):
            passage, start, end = placed
            # As long as the right one: it shares its row's width, and its length gives nothing away.
            other = cut[wrong[number]].ids[: max(16, len(passage))] if number in wrong else None
            other_title = titles[known.get(wrong[number], "")] if number in wrong else NO_TITLE
            made.append(
                Example(one.question.id, question.ids, passage, start, end, one.weight, other, title, other_title)
            )
    return made


def _placed(text: Pieces, first: int, last: int, window: int) -> tuple[NDArray[np.int32], int, int] | None:
    """The window around the answer, and the answer's word pieces in it."""
    if first == NO_ANSWER:
        return (text.ids[:window], NO_ANSWER, NO_ANSWER) if len(text.ids) else None
    span = token_span(text.offsets, first, last)
    if span is None or span[1] - span[0] >= window:
        return None
    start, end = span
    begin = max(0, min(start - (window - (end - start)) // 2, len(text.ids) - window))
    return text.ids[begin : begin + window], start - begin, end - begin


def plan_epoch(some: Sequence[Example], tokens: int, seed: int, epoch: int, most: int = 0) -> list[list[int]]:
    """The batches of an epoch, as numbers of examples of like length, in random order.

    A batch has at most so many tokens, padding included, and, unless `most` is 0, at most so many examples.
    """
    rng = np.random.default_rng((seed, epoch))
    times = [int(example.weight + rng.random()) for example in some]
    drawn = [number for number, count in enumerate(times) for _ in range(count)]
    noise = rng.uniform(0, 8, len(drawn))
    lengths = [length_of(some[number]) + noise[at] for at, number in enumerate(drawn)]
    batches = list(_cut([drawn[at] for at in np.argsort(lengths, kind="stable")], some, tokens, most))
    return [batches[at] for at in rng.permutation(len(batches))]


def length_of(example: Example) -> int:
    """Word pieces of a row, special ones included."""
    passage = len(example.title) + len(example.passage)
    if example.negative is not None:
        passage = max(passage, len(example.negative_title) + len(example.negative))
    return len(example.question) + passage + 4


def _cut(order: Sequence[int], some: Sequence[Example], tokens: int, most: int) -> Iterator[list[int]]:
    batch: list[int] = []
    rows = width = 0
    for number in order:
        more = 1 if some[number].negative is None else 2
        wider = max(width, length_of(some[number]))
        if batch and ((rows + more) * wider > tokens or len(batch) == most):
            yield batch
            batch, rows, wider = [], 0, length_of(some[number])
        batch.append(number)
        rows, width = rows + more, wider
    if batch:
        yield batch
