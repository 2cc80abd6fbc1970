"""Dense first by one vector for each passage, or by the start vectors of all kept tokens: what finds the gold passage?

    python -m tools.bench_dense INDEX QUESTIONS.json [--sample N]

The paper searches the start vectors of tokens and takes the passages of the nearest ones. Here they are decoded from
the stored blocks and searched with FAISS at 8 bits: alone, and with the passage vector beside them (the passage part of
the score). Recall is over distinct passages, however many tokens that takes up to a limit. Times are of one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparc_search import Index
from sparc_search.block_batch import BlockBatch
from sparc_search.cli.terminal import note, result
from sparc_search.evaluation.holding import holds
from sparc_search.evaluation.questions import OpenQuestion, read_questions
from sparc_search.index import cleaned
from sparc_search.records import EncodedQuestion
from sparc_search.stores.local import LocalEngine
from sparc_search.stores.local.segment_files import FAISS, listed_segments
from sparc_search.stores.local.view import LocalView
from tools.benchmark_page import table, write_section

DEPTHS: Final = (5, 20, 50, 100)
TOKENS: Final = 4_096
"""Most tokens looked at for one question."""
PROBES: Final = 32
COMMAND: Final = "python -m tools.bench_dense INDEX QUESTIONS.json"

Vectors = NDArray[np.float32]
Owners = NDArray[np.int32]
Ranked = Callable[[EncodedQuestion], list[str]]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to search: its name, its bytes, and the nearest passages of a question, best first."""

    name: str
    size: int
    nearest: Ranked


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the section."""
    import faiss

    options = _parse(arguments)
    faiss.omp_set_num_threads(1)
    questions = [one for one in read_questions(options.questions, sample=options.sample) if one.context]
    with Index.open(options.index) as index:
        engine = index.engine
        assert isinstance(engine, LocalEngine), "only a local index can be measured"
        encoded = [own for one in questions for own in index.encoder.encode_questions([cleaned(one.text)])]
        with engine.view() as view:
            ids = sorted(view.matching({}).passage_ids)
            gold = _gold(view, ids, questions)
            judged = [(own, right) for own, right in zip(encoded, gold, strict=True) if right]
            note(f"{len(judged):,} of {len(questions):,} questions have their paragraph among {len(ids):,} passages")
            rows = [_measured(way, judged) for way in _ways(faiss, view, ids)]
    heads = ("searched", "MB", *(f"gold among {depth}" for depth in DEPTHS), "p50, ms")
    about = f"{len(ids):,} passages, {len(judged):,} questions of {options.questions.name}; time of one processor."
    body = f"{about}\n\n{table(heads, rows)}"
    write_section("dense", "What dense search compares", COMMAND, body)
    result(body)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_dense", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, help="SQuAD JSON: the paragraph of each question is needed")
    parser.add_argument("--sample", type=int, default=500, help="questions, by chance; 0 for all")
    return parser.parse_args(arguments)


def _gold(view: LocalView, ids: Sequence[str], questions: Sequence[OpenQuestion]) -> list[set[str]]:
    """For each question the passages of its paragraph (or around it) that hold its answer."""
    texts = [(one.id, one.text) for some in _chunks(ids) for one in view.fetch_passages(some).passages]
    of_paragraph = {
        context: [(id, text) for id, text in texts if text in context or context in text]
        for context in {question.context.strip() for question in questions}
    }
    return [
        {id for id, text in of_paragraph[question.context.strip()] if holds(question, text)} for question in questions
    ]


def _measured(way: Way, judged: Sequence[tuple[EncodedQuestion, set[str]]]) -> tuple[str, ...]:
    note(f"searching {way.name} ...")
    found, seconds = [], []
    for question, _ in judged:
        began = time.thread_time()
        found.append(way.nearest(question))
        seconds.append(time.thread_time() - began)
    recall = [
        float(np.mean([bool(right & set(own[:depth])) for own, (_, right) in zip(found, judged, strict=True)]))
        for depth in DEPTHS
    ]
    return way.name, f"{way.size / 1e6:,.1f}", *(f"{share:.1%}" for share in recall), f"{1000 * np.median(seconds):.2f}"


# --- the ways --------------------------------------------------------------------------------------------------------


def _ways(faiss: Any, view: LocalView, ids: Sequence[str]) -> Iterator[Way]:
    yield _by_passage(view)
    for beside, name in ((False, "start vectors"), (True, "start vectors, passage vector beside each")):
        parts = list(_starts(view, ids, beside))
        for lists in (False, True):
            made, owners = _token_index(faiss, parts, lists)
            kind = f"IVF, {PROBES} of {made.nlist} lists" if lists else "flat"
            size = len(faiss.serialize_index(made)) + owners.nbytes
            yield Way(f"{name} ({kind})", size, _by_token(made, owners, ids, beside))


def _by_passage(view: LocalView) -> Way:
    def nearest(question: EncodedQuestion) -> list[str]:
        vectors = question.passage_vector[None].astype(np.float32)
        return [hit.passage_id for hit in view.dense_search(vectors, max(DEPTHS), {})[0].hits]

    stored = [segment.dense for segment in view.state.segments]
    size = sum(own.vectors.nbytes + own.scales.nbytes for own in stored)
    size += sum(listed.files[FAISS][0] for listed in listed_segments(view.connection) if FAISS in listed.files)
    return Way("one vector a passage, as it is searched", size, nearest)


def _token_index(faiss: Any, parts: Sequence[tuple[Vectors, NDArray[np.int64]]], lists: bool) -> tuple[Any, Owners]:
    """A FAISS index over the kept starts, and the number of each one's passage."""
    owners = np.concatenate([own for _, own in parts]).astype(np.int32)
    width, count = parts[0][0].shape[1], len(owners)
    kind, metric = faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    if lists:
        number = 1 << round(np.log2(np.sqrt(count)))
        centres = faiss.IndexFlatIP(width)
        made = faiss.IndexIVFScalarQuantizer(centres, width, number, kind, metric, False)
        made.nprobe = PROBES
        made.cp.niter, made.cp.seed = 4, 45
    else:
        made = faiss.IndexScalarQuantizer(width, kind, metric)
    step = max(count // 40_000, 1)
    made.train(np.concatenate([vectors[::step] for vectors, _ in parts]))
    for vectors, _ in parts:
        made.add(vectors)
    return made, owners


def _starts(view: LocalView, ids: Sequence[str], beside: bool) -> Iterator[tuple[Vectors, NDArray[np.int64]]]:
    """Start vectors as the scorer knows them, and the numbers of their passages."""
    for at, some in zip(range(0, len(ids), 500), _chunks(ids), strict=True):
        found = view.fetch_blocks(some)
        there, blocks = found.passage_ids, found.blocks
        assert blocks is not None
        batch = blocks.laid_out()
        assert there == list(some)
        owners = np.arange(len(batch)).repeat(batch.start.kept)
        yield _start_vectors(batch, owners if beside else None), owners + at


def _start_vectors(batch: BlockBatch, beside: NDArray[np.int64] | None) -> Vectors:
    side = batch.start
    starts = np.concatenate(side.vectors, axis=1) * side.vector_scales[:, None]
    if beside is None:
        return starts.astype(np.float32)
    passages = batch.passage_vectors * batch.passage_scales[:, None]
    return np.concatenate([starts, passages[beside]], axis=1).astype(np.float32)


def _by_token(made: Any, owners: Owners, ids: Sequence[str], beside: bool) -> Ranked:
    def nearest(question: EncodedQuestion) -> list[str]:
        vectors = (question.start_vector, question.passage_vector) if beside else (question.start_vector,)
        query, count = np.concatenate(vectors).astype(np.float32)[None], 4 * max(DEPTHS)
        while True:
            _, found = made.search(query, min(count, made.ntotal))
            passages = dict.fromkeys(owners[found[0][found[0] >= 0]].tolist())
            if len(passages) >= max(DEPTHS) or count >= min(TOKENS, made.ntotal):
                return [ids[number] for number in passages]
            count *= 4

    return nearest


def _chunks(ids: Sequence[str], size: int = 500) -> list[Sequence[str]]:
    return [ids[at : at + size] for at in range(0, len(ids), size)]


if __name__ == "__main__":
    sys.exit(main())
