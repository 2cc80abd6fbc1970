"""Batches for training: each passage is encoded once for all its questions, beside passages that are hard for it.

An epoch is planned as a whole from (seed, epoch, neighbours), so a resumed run meets exactly the batches it would have
met. A step holds groups of a passage and its nearest neighbours; groups of like length go together, because a padded
token costs as much as a real one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .heading_paths import HeadingPaths
from .squad_data import TrainingPassage, TrainingQuestion


class Turn(NamedTuple):
    """A passage's turn in a step: its number, which of its questions and traps are asked, and what heads it."""

    passage: int
    questions: list[int]
    titled: bool = True
    traps: Sequence[int] = ()
    path: tuple[int, ...] = ()  # word pieces behind the title


Step = list[Turn]
"""One optimiser step."""


@dataclass(frozen=True, slots=True)
class BatchShape:
    """How much goes into one step."""

    passages: int = 12
    group: int = 3
    questions_per_passage: int = 6
    traps_per_passage: int = 1


class Taughts(NamedTuple):
    """A teacher's likeliest starts and ends of each question, in token positions of its passage."""

    places: Tensor  # (Q, 2, K)
    shares: Tensor  # (Q, 2, K) zero where the teacher says nothing


class Traps(NamedTuple):
    """Questions that look as if their passage answered them, and it does not."""

    ids: Tensor  # (U, M)
    mask: Tensor  # (U, M)
    owner: Tensor  # (U,)


@dataclass(slots=True)
class Batch:
    """One step as tensors. P passages of T tokens, Q questions of M tokens; [CLS] stands at position 0."""

    passage_ids: Tensor  # (P, T)
    passage_mask: Tensor  # (P, T)
    answer_words: Tensor  # (P, T) True on the passage's own word pieces, not on its title's
    question_ids: Tensor  # (Q, M)
    question_mask: Tensor  # (Q, M)
    owner: Tensor  # (Q,) the passage with the answer
    start: Tensor  # (Q,) token position of the answer's first piece in its passage
    end: Tensor  # (Q,)
    allowed: Tensor  # (Q, P) False where another passage holds the same answer: neither right nor wrong
    question_numbers: NDArray[np.int64]  # (Q,) numbers over the whole data, for the memory of question vectors
    taught: Taughts | None = None  # what a teacher says, if there is one
    traps: Traps | None = None  # questions without an answer, if there are any

    def to(self, device: torch.device) -> Batch:
        """The same on another device."""
        return Batch(**{name: moved(getattr(self, name), device) for name in self.__slots__})


def moved(value: Any, device: torch.device) -> Any:
    """A tensor, or a tuple of them, on another device; anything else as it is."""
    if isinstance(value, Tensor):
        return value.to(device)
    return type(value)(*(part.to(device) for part in value)) if isinstance(value, (Taughts, Traps)) else value


def plan_epoch(
    passages: Sequence[TrainingPassage],
    neighbours: Sequence[Sequence[int]],
    shape: BatchShape,
    seed: int,
    epoch: int,
    titles: float = 1.0,
    paths: HeadingPaths | None = None,
    pathed: float = 0.0,
) -> list[Step]:
    """All steps of an epoch: passages as often as their weight says, next to neighbours that are still free.

    `titles` is the share of turns that read the title: with some left out, passages without one fare as well. Of
    these, the share `pathed` reads it as a heading path.
    """
    rng = np.random.default_rng((seed, epoch))
    titled = np.random.default_rng((seed, epoch, 1)).random(len(passages)) < titles
    beside = np.random.default_rng((seed, epoch, 2))  # a draw of its own: traps and paths change nothing else
    groups: list[list[int]] = []
    for seen in range(max(1, math.ceil(max(passage.weight for passage in passages)))):  # a weight of 2: two rounds
        drawn = [number for number, passage in enumerate(passages) if rng.random() < passage.weight - seen]
        groups += grouped(rng.permutation(drawn).tolist(), neighbours, shape.group)
    lengths = [max(len(passages[number].ids) for number in group) for group in groups]
    order = sorted(range(len(groups)), key=lambda at: lengths[at] + rng.uniform(0, 24))  # noise mixes the batches
    per_step = max(1, shape.passages // shape.group)
    chunks = [order[at : at + per_step] for at in range(0, len(order), per_step)]
    steps = []
    for at in rng.permutation(len(chunks)):
        members = [number for group in chunks[at] for number in groups[group]]
        steps.append(
            [
                Turn(
                    number,
                    some_of(len(passages[number].questions), shape.questions_per_passage, rng),
                    bool(titled[number]),
                    some_of(len(passages[number].traps), shape.traps_per_passage, beside),
                    drawn_path(passages[number], paths, pathed, beside),
                )
                for number in members
            ]
        )
    return steps


def drawn_path(
    passage: TrainingPassage, paths: HeadingPaths | None, share: float, rng: np.random.Generator
) -> tuple[int, ...]:
    """What stands behind the title, for a share of the passages that have one."""
    if paths is None or not len(passage.title) or rng.random() >= share:
        return ()
    return tuple(paths.draw(passage, rng).tolist())


def grouped(order: Sequence[int], neighbours: Sequence[Sequence[int]], size: int) -> list[list[int]]:
    """Each passage in exactly one group: a seed and those of its nearest neighbours nobody has taken yet."""
    free = set(order)
    groups: list[list[int]] = []
    rest: list[int] = []
    for seed in order:
        if seed not in free:
            continue
        free.remove(seed)
        near = [number for number in neighbours[seed] if number in free][: size - 1]
        free.difference_update(near)
        if near:
            groups.append([seed, *near])
        else:
            rest.append(seed)
    groups += [rest[at : at + size] for at in range(0, len(rest), size)]
    return groups


def some_of(count: int, most: int, rng: np.random.Generator) -> list[int]:
    """At most `most` of so many things, by chance."""
    return sorted(rng.permutation(count)[:most].tolist())


def make_batch(
    passages: Sequence[TrainingPassage], first_question: NDArray[np.int64], step: Step, special: tuple[int, int, int]
) -> Batch:
    """Tensors of one step. `first_question[p]` numbers the first question of passage p; `special` = cls, sep, pad."""
    chosen = [passages[turn.passage] for turn in step]
    asked: list[tuple[int, TrainingQuestion, int]] = [
        (row, passages[turn.passage].questions[at], int(first_question[turn.passage]) + at)
        for row, turn in enumerate(step)
        for at in turn.questions
    ]
    heads = [
        heading(np.append(passage.title, np.array(turn.path, np.int32)) if turn.titled else passage.title[:0], special)
        for turn, passage in zip(step, chosen, strict=True)
    ]
    read = [np.concatenate([head, passage.ids]) for head, passage in zip(heads, chosen, strict=True)]
    passage_ids, passage_mask = padded(read, special)
    first_word = torch.tensor([len(head) + 1 for head in heads])  # behind [CLS] and the title
    last_word = torch.tensor([len(row) for row in read])
    positions = torch.arange(passage_ids.shape[1])
    answer_words = (positions >= first_word[:, None]) & (positions <= last_word[:, None])
    question_ids, question_mask = padded([question.ids for _, question, _ in asked], special)
    allowed = np.ones((len(asked), len(chosen)), np.bool_)
    bytes_of = [passage.ids.tobytes() for passage in chosen]
    for at, (row, question, _) in enumerate(asked):
        answer = chosen[row].ids[question.start : question.end + 1].tobytes()
        allowed[at] = [other == row or not holds(text, answer) for other, text in enumerate(bytes_of)]
    return Batch(
        passage_ids,
        passage_mask,
        answer_words,
        question_ids,
        question_mask,
        torch.tensor([row for row, _, _ in asked]),
        torch.tensor([question.start + int(first_word[row]) for row, question, _ in asked]),
        torch.tensor([question.end + int(first_word[row]) for row, question, _ in asked]),
        torch.from_numpy(allowed),
        np.asarray([number for _, _, number in asked]),
        taught_of([(question, int(first_word[row])) for row, question, _ in asked]),
        traps_of(
            [(row, passages[turn.passage].traps[at]) for row, turn in enumerate(step) for at in turn.traps], special
        ),
    )


def taught_of(asked: Sequence[tuple[TrainingQuestion, int]]) -> Taughts | None:
    """What the teacher says of questions whose passage's first word stands at the given position."""
    told = [question.taught for question, _ in asked if question.taught]
    if not told:
        return None
    shape = (len(asked), *told[0].places.shape)
    places, shares = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    for at, (question, first) in enumerate(asked):
        if question.taught:
            places[at], shares[at] = question.taught.places + first, question.taught.shares
    return Taughts(torch.from_numpy(places), torch.from_numpy(shares))


def traps_of(asked: Sequence[tuple[int, NDArray[np.int32]]], special: tuple[int, int, int]) -> Traps | None:
    """Traps of the batch's passages."""
    if not asked:
        return None
    return Traps(*padded([ids for _, ids in asked], special), torch.tensor([row for row, _ in asked]))


def heading(title: NDArray[np.int32], special: tuple[int, int, int]) -> NDArray[np.int32]:
    """What is read before a passage: its title and a [SEP], or nothing."""
    return np.append(title, np.int32(special[1])) if len(title) else title


def holds(passage: bytes, answer: bytes) -> bool:
    """Whether the int32 ids of an answer stand in a passage, not just their bytes across the borders of its ids."""
    at = passage.find(answer)
    while at > 0 and at % 4:
        at = passage.find(answer, at + 1)
    return at >= 0


def padded(rows: Sequence[NDArray[np.int32]], special: tuple[int, int, int]) -> tuple[Tensor, Tensor]:
    """[CLS] row [SEP] [PAD]...: (B, T) ids and mask."""
    cls, sep, pad = special
    width = max(len(row) for row in rows) + 2
    ids = np.full((len(rows), width), pad, np.int64)
    for at, row in enumerate(rows):
        ids[at, 0], ids[at, 1 : len(row) + 1], ids[at, len(row) + 1] = cls, row, sep
    lengths = np.asarray([len(row) + 2 for row in rows])
    mask = np.arange(width)[None, :] < lengths[:, None]
    return torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))


def number_questions(passages: Sequence[TrainingPassage]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(number of each passage's first question, passage that each question belongs to)."""
    counts = np.asarray([len(passage.questions) for passage in passages])
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return first.astype(np.int64), np.repeat(np.arange(len(passages)), counts).astype(np.int64)


def batches(
    passages: Sequence[TrainingPassage],
    first_question: NDArray[np.int64],
    steps: Sequence[Step],
    special: tuple[int, int, int],
) -> Iterator[Batch]:
    """The batches of some steps, one after the other."""
    for step in steps:
        yield make_batch(passages, first_question, step, special)
