"""Training batches, side by side in one run: one (question, passage) pair a row against our way.

    python -m tools.bench_training BASE_FOLDER TRAIN.json [STEPS]

Ours encodes a passage once for all its questions and packs passages and questions without padding.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from sparc_search.cli.terminal import result
from sparc_search.model.network import SparcNetwork
from sparc_search.squad import read_squad
from sparc_search.training.average import trainable
from sparc_search.training.batches import Batch, BatchShape, make_batch, number_questions, plan_epoch
from sparc_search.training.freezing import freeze
from sparc_search.training.negatives import inverse_document_frequency, lexical_vectors, nearest_passages
from sparc_search.training.objective import LossWeights, step_loss
from sparc_search.training.packing import packed_states, padded_states
from sparc_search.training.squad_data import TrainingPassage, passages_of
from sparc_search.training.start import start_model
from tools.benchmark_page import table, write_section


def main(arguments: Sequence[str]) -> int:
    """Questions a second by both ways, over the same passages."""
    model = start_model(Path(arguments[0]), {})
    steps = int(arguments[2]) if len(arguments) > 2 else 5
    passages = passages_of([read_squad(Path(arguments[1]))], model.pieces, 320, 48)
    special = (model.pieces.cls, model.pieces.sep, model.pieces.pad)
    freeze(model.network, 0)
    idf = torch.from_numpy(inverse_document_frequency(passages, int(model.config.body["vocab_size"])))
    ours = list(batches(passages, special, steps))
    pairs = [one_pair_a_row(batch) for batch in ours]
    speeds = {
        "one pair a row, padded (the usual way)": speed(model.network, pairs, idf, padded_states),
        "one pair a row, packed": speed(model.network, pairs, idf),
        "a passage once, padded": speed(model.network, ours, idf, padded_states),
        "a passage once, packed (ours)": speed(model.network, ours, idf),
    }
    slow = next(iter(speeds.values()))
    rows = [(name, f"{value:.1f}", f"{value / slow:.1f}") for name, value in speeds.items()]
    body = table(["batches", "questions/s", "ratio"], rows)
    write_section("batches", "Training batches", "python -m tools.bench_training BASE TRAIN.json", body)
    result(body)
    return 0


def batches(passages: Sequence[TrainingPassage], special: tuple[int, int, int], count: int) -> Iterator[Batch]:
    """The first batches of an epoch."""
    first, owner = number_questions(passages)
    idf = inverse_document_frequency(passages, 1 + max(int(passage.ids.max()) for passage in passages))
    neighbours = nearest_passages(lexical_vectors(passages, idf, 0), owner)
    for step in plan_epoch(passages, neighbours, BatchShape(), seed=0, epoch=0)[:count]:
        yield make_batch(passages, first, step, special)


def one_pair_a_row(batch: Batch) -> Batch:
    """The same questions, each with its passage in a row of its own, as fine-tuning code usually does."""
    rows = batch.owner
    return Batch(
        batch.passage_ids[rows],
        batch.passage_mask[rows],
        batch.answer_words[rows],
        batch.question_ids,
        batch.question_mask,
        torch.arange(len(rows)),
        batch.start,
        batch.end,
        torch.eye(len(rows), dtype=torch.bool),
        batch.question_numbers,
    )


def speed(
    network: SparcNetwork,
    some: Sequence[Batch],
    idf: torch.Tensor,
    states: Callable[..., list[torch.Tensor]] = packed_states,
) -> float:
    """Questions a second, forward and backward; the first batch only warms up."""
    asked, seconds = 0, 0.0
    for number, batch in enumerate(some):
        began = time.perf_counter()
        losses, _ = step_loss(network, batch, LossWeights(), idf, number, states)
        losses.total.backward()
        for parameter in trainable(network).values():
            parameter.grad = None
        if number:
            asked, seconds = asked + len(batch.owner), seconds + time.perf_counter() - began
    return asked / seconds


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
