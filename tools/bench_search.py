"""Speed, exactness and size of searching one index, on stdout and in docs/benchmarks/.

    python -m tools.bench_search INDEX QUESTIONS.json [--sample N] [--exact N]

Asks N of the questions one by one and times every stage; after each, the same question goes to BM25 (bm25s) over the
same passages, so that both had the same machine. The files of the index are read once before, so that they are in the
system's memory, and a few questions are asked when they are not. Then every phrase of the index is scored for some of
the questions, to see how often each strategy finds the same best answer by candidate count. Last, what the index
weighs, by part.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from sparc_search import Index
from sparc_search.cli.terminal import note, result
from sparc_search.evaluation.bm25 import Bm25
from sparc_search.evaluation.questions import read_questions
from sparc_search.index import cleaned
from sparc_search.records import Passage
from sparc_search.stores.local import LocalEngine
from sparc_search.stores.local.view import LocalView
from tools.benchmark_page import table, write_section
from tools.block_sizes import bytes_by_part
from tools.brute_force import best_of_all, ranks
from tools.memory import memory

STAGES: Final = ("encode", "sparse", "dense", "fetch", "score")
COLD: Final = 50
"""Questions asked when no file of the index is in memory."""
COUNTS: Final = (5, 10, 20, 30, 50, 100, 200)
COMMAND: Final = "python -m tools.bench_search INDEX QUESTIONS.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the section."""
    options = _parse(arguments)
    questions = [cleaned(q.text) for q in read_questions(options.questions, sample=options.sample)]
    _forget(options.index)
    with Index.open(options.index) as index:
        engine = index.engine
        assert isinstance(engine, LocalEngine), "only a local index can be measured"
        index.ask(questions[0])  # what is loaded at the first question is no part of the second
        opened = memory()
        cold = [_timed(index.ask, question) for question in questions[1 : COLD + 1]]
        _read(options.index)
        with engine.view() as view:
            passages = [
                one for ids in _chunks(view.matching({}).passage_ids) for one in view.fetch_passages(ids).passages
            ]
            parts = [
                _speed(index, passages, questions),
                f"So it is when the files of the index are in the system's memory. When none of them was, the first "
                f"{len(cold)} questions took {1000 * median(cold):.1f} ms (p50).",
                f"Memory of the process after a question: {opened['own'] / 1e6:,.0f} MB of its own, and "
                f"{opened['mapped'] / 1e6:,.0f} MB of mapped files, which the system can take back.",
            ]
            parts += [_exactness(index, view, questions[: options.exact]), _weight(view, engine.admin().describe())]
    settings = index.settings
    about = (
        f"{len(passages):,} passages, {len(questions):,} questions of {options.questions.name}, hybrid with "
        f"{settings.sparse_candidates} + {settings.dense_candidates} candidates."
    )
    body = "\n\n".join([about, *parts])
    name = f"search {options.name}".strip()
    write_section(name.replace(" ", "-"), f"Searching {options.name}".strip(), COMMAND, body)
    result(body)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_search", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path, help="SQuAD JSON, JSON lines or TSV")
    parser.add_argument("--sample", type=int, default=500, help="questions to time, by chance; 0 for all")
    parser.add_argument("--exact", type=int, default=500, help="of these, questions for which every phrase is scored")
    parser.add_argument("--name", default="", help="what the section calls the index, if there are several")
    return parser.parse_args(arguments)


# --- speed -----------------------------------------------------------------------------------------------------------


def _speed(index: Index, passages: Sequence[Passage], questions: Sequence[str]) -> str:
    note(f"asking {len(questions):,} questions, each of BM25 too ...")
    bm25 = Bm25(passages)
    k = index.settings.sparse_candidates
    times: dict[str, list[float]] = {stage: [] for stage in (*STAGES, "all", "all but encoding", "one bm25s query")}
    bm25.propose(questions[0], k)
    for question in questions:
        began = time.perf_counter()
        seconds = index.ask(question).seconds
        whole = time.perf_counter() - began  # what is between the stages counts too
        for stage in STAGES:
            times[stage].append(seconds.get(stage, 0.0))
        times["all"].append(whole)
        times["all but encoding"].append(whole - seconds["encode"])
        times["one bm25s query"].append(_timed(bm25.propose, question, k))
    rows = [(name, *(f"{1000 * np.percentile(own, q):.2f}" for q in (5, 50, 95))) for name, own in times.items()]
    ratio = median(times["all but encoding"]) / median(times["one bm25s query"])
    return (
        table(("stage", "5 % below, ms", "p50, ms", "p95, ms"), rows)
        + f"\n\nEverything but the encoding takes {ratio:.1f} times one bm25s query over the same passages (p50)."
    )


def _timed(call: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - began


def _forget(folder: Path) -> None:
    """Ask the system to keep no file of a folder in memory."""
    os.sync()
    for path in filter(Path.is_file, folder.rglob("*")):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _read(folder: Path) -> None:
    """Read every file of a folder once, so that the system has it in memory."""
    for path in filter(Path.is_file, folder.rglob("*")):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


# --- exactness -------------------------------------------------------------------------------------------------------


def _exactness(index: Index, view: LocalView, questions: Sequence[str]) -> str:
    note(f"scoring every phrase for {len(questions):,} questions ...")
    settings, encoded = index.settings, index.encoder.encode_questions(questions)
    best = best_of_all(view, encoded, settings.lex_weight)
    at = ranks(view, encoded, best, settings.first_stage_lex_weight, max(COUNTS))
    judged = [(one, both) for one, both in zip(best, at, strict=True) if one]
    ways: Mapping[str, Callable[[int, int], int]] = {
        "hybrid": min,
        "sparse": lambda sparse, _: sparse,
        "dense": lambda _, dense: dense,
    }
    rows = [
        (f"{count:,}", *(f"{np.mean([way(*both) < count for _, both in judged]):.1%}" for way in ways.values()))
        for count in COUNTS
    ]
    return (
        f"How often the best answer is the best of every phrase in the index ({len(judged):,} questions), by "
        "candidates of each retriever:\n\n" + table(("candidates", *ways), rows)
    )


# --- weight ----------------------------------------------------------------------------------------------------------


def _weight(view: LocalView, facts: Mapping[str, object]) -> str:
    sizes, words = facts["bytes"], facts["words"]
    assert isinstance(sizes, Mapping)
    assert isinstance(words, int)
    blocks = (data for (data,) in view.connection.execute("SELECT block FROM encoded"))
    parts = {f"block: {part}": size for part, size in bytes_by_part(blocks).items()}
    whole = {name: int(sizes[name]) for name in ("postings", "vectors", "rows")}
    together = {
        "blocks": sum(parts.values()),
        "blocks and postings": sum(parts.values()) + whole["postings"],
        "everything, texts and features too": int(sizes["database"]) + sum(whole.values()),
    }
    rows = [
        (name, f"{size / 1e6:,.1f}", f"{size / words:.1f}") for name, size in {**parts, **whole, **together}.items()
    ]
    return table(("part", "MB", "bytes a word"), rows) + f"\n\n{words:,} words of source text."


def _chunks(ids: Sequence[str], size: int = 500) -> list[Sequence[str]]:
    return [ids[at : at + size] for at in range(0, len(ids), size)]


if __name__ == "__main__":
    sys.exit(main())
