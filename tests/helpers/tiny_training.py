"""Training data for the tiny model: passages of random words, and questions that can be answered from them."""

from __future__ import annotations

import numpy as np
import torch
from tiny_model import LOWEST, SPECIAL, random_ids

from sparc_search.model.network import PassageStates, QuestionStates
from sparc_search.training.batches import Batch, Turn, make_batch, number_questions
from sparc_search.training.squad_data import TrainingPassage, TrainingQuestion

PAD, CLS, SEP = (SPECIAL.index(name) for name in ("[PAD]", "[CLS]", "[SEP]"))
CLS_SEP_PAD = (CLS, SEP, PAD)


def random_passage(rng: np.random.Generator, length: int, questions: int, vocabulary: int = 12) -> TrainingPassage:
    """Questions begin with two words from around their answer, so that n-grams match."""
    ids = random_ids(rng, length, vocabulary)
    asked = []
    for number in range(questions):
        start = int(rng.integers(0, length))
        end = min(length - 1, start + int(rng.integers(0, 3)))
        words = np.concatenate([ids[max(0, start - 2) : start], random_ids(rng, int(rng.integers(1, 5)), vocabulary)])
        asked.append(TrainingQuestion(f"q{number}", words.astype(np.int32), start, end))
    return TrainingPassage(ids, "article", 1.0, asked)


def random_passages(seed: int, count: int = 3, questions: int = 2, longest: int = 9) -> list[TrainingPassage]:
    rng = np.random.default_rng(seed)
    return [random_passage(rng, int(rng.integers(3, longest + 1)), questions) for _ in range(count)]


def whole_batch(passages: list[TrainingPassage]) -> Batch:
    """All passages with all their questions as one batch."""
    step = [Turn(number, list(range(len(passage.questions)))) for number, passage in enumerate(passages)]
    return make_batch(passages, number_questions(passages)[0], step, CLS_SEP_PAD)


def random_states(batch: Batch, seed: int, sizes: tuple[int, ...] = (1, 2, 3)) -> tuple[PassageStates, QuestionStates]:
    """What a network could say of a batch: random, with attention that is masked as the network masks it."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    count, width = batch.passage_ids.shape
    asked, question_width = batch.question_ids.shape
    attention, weights = {}, {}
    for name in [f"{side}_{n}" for side in ("start", "end") for n in sizes]:
        columns = whole_ngrams(batch.passage_ids, int(name[-1]))
        attention[name] = torch.relu(draw(count, width, width)) * columns[:, None] * (1 - torch.eye(width))
        weights[name] = torch.relu(draw(asked, question_width)) * whole_ngrams(batch.question_ids, int(name[-1]))
    parts = (draw(count, width, size) for size in (6, 6, 4, 4))
    return (
        PassageStates(*parts, draw(count, 5), draw(count, width, 2), attention),
        QuestionStates(draw(asked, 6), draw(asked, 6), draw(asked, 5), weights),
    )


def whole_ngrams(ids: torch.Tensor, n: int) -> torch.Tensor:
    """1 where n ordinary words stand in a row, the slow way."""
    rows = ids.tolist()
    found = [
        [float(at + n <= len(row) and all(word >= LOWEST for word in row[at : at + n])) for at in range(len(row))]
        for row in rows
    ]
    return torch.tensor(found)
