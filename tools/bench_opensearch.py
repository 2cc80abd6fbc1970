"""Speed and size of an index on a server, on stdout and in docs/benchmarks/.

    python -m tools.bench_opensearch [INDEX QUESTIONS.json] [--url URL | --heap 2g]

Starts an OpenSearch node (or takes the server at an address), loads the passages of a local index as they are, without
encoding anything, and measures: the loader against plain bulk requests, sparse-first search against BM25 `match`, the
bytes of every field, and whether answers and scores are those of the local index. Without an index, the sample corpus
is read into one first; where no server can be started, that is said and nothing is measured.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from sparc_search import Index
from sparc_search.cli.terminal import note, result
from sparc_search.errors import ServerError
from sparc_search.evaluation.questions import read_questions
from sparc_search.index import cleaned
from sparc_search.opening import open_encoder
from sparc_search.records import EncodedPassage, Reply
from sparc_search.settings import load
from sparc_search.stored import EncodedDocument
from tools import opensearch_latency as latency
from tools import opensearch_loading as loading
from tools import opensearch_sizes as sizes
from tools.benchmark_page import table, write_section
from tools.opensearch_place import Place, place

ROOT: Final = Path(__file__).resolve().parent.parent
COMMAND: Final = "python -m tools.bench_opensearch INDEX QUESTIONS.json"
SEARCHED: Final = "search"
"""Name of the index that is searched."""

_AT_ONCE: Final = 4_096
"""Passages of a commit when that index is filled: nothing is encoded, so little is lost if it stops."""

Row = tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the section."""
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the node ends with us
    with ExitStack() as stack:
        settings = load({"model": options.model} if options.model else {})
        note("starting a server ..." if not options.url else f"measuring {options.url} ...")
        try:
            here = stack.enter_context(place(options.url, options.heap, settings))
        except ServerError as error:
            if options.index:
                raise
            note(f"OpenSearch is not measured: {error}")
            return 0
        if not options.index:
            options.index, options.questions = _sample(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        local = stack.enter_context(Index.open(options.index, settings=settings, encoder=open_encoder(settings)))
        questions = [cleaned(one.text) for one in read_questions(options.questions, sample=options.sample)]
        parts = []
        for part in _measured(here, local, questions, options):
            result(part + "\n")  # at once: a run over a large index is long, and may be stopped
            parts.append(part)
    name = options.name or options.index.name
    write_section(f"opensearch-{name}", f"OpenSearch: {name}", options.command, "\n\n".join(parts))
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench_opensearch", description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    parser.add_argument("index", type=Path, nargs="?", help="folder of a local index; without, the sample corpus")
    parser.add_argument("questions", type=Path, nargs="?", help="SQuAD JSON, JSON lines or TSV")
    parser.add_argument("--url", default="", help="server to measure, in place of one that is started")
    parser.add_argument("--heap", default="2g", help="memory of the server that is started")
    parser.add_argument("--model", default="", help="model of the index, if it is not the package's own")
    parser.add_argument("--name", default="", help="what the section calls the index; its folder's name")
    parser.add_argument("--sample", type=int, default=300, help="questions to time, by chance; 0 for all")
    parser.add_argument("--parity", type=int, default=50, help="of these, questions to compare with the local index")
    parser.add_argument("--load", type=int, default=10_000, help="passages that each way of loading is measured with")
    parser.add_argument("--weigh", type=int, default=5_000, help="most passages that sizes are measured with")
    options = parser.parse_args(arguments)
    if options.index and not options.questions:
        parser.error("an index needs questions")
    options.command = COMMAND if options.index else "make bench"
    return options


def _sample(folder: Path) -> tuple[Path, Path]:
    note("reading the sample corpus ...")
    index = folder / "sample"
    program = str(Path(sys.executable).parent / "sparc-search")
    command = [program, "ingest", str(ROOT / "examples" / "corpus"), "--index", str(index)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return index, ROOT / "examples" / "questions.jsonl"


def _measured(here: Place, local: Index, questions: Sequence[str], options: argparse.Namespace) -> Iterator[str]:
    count = local.engine.statistics().passages
    yield (
        f"{here.server.dialect.name} {here.server.version}, {count:,} passages, {len(questions):,} questions of "
        f"{options.questions.name}."
    )
    yield _loading(here, local, min(options.load, 8 * count), max(count // 4, 1))
    yield _search_index(here, local)
    with Index.open(settings=here.named(SEARCHED), encoder=local.encoder) as remote:
        yield _same_answers(local, remote, questions[: options.parity])
        yield _latency(here, remote, questions)
    with here.engine(SEARCHED, writable=True) as written:
        written.admin().compact()
    with Index.open(settings=here.named(SEARCHED), encoder=local.encoder) as remote:
        yield _latency(here, remote, questions)
    here.drop(SEARCHED)
    yield _sizes(here, list(islice(_passages(_documents(local)), options.weigh)))


def _documents(local: Index) -> Iterator[EncodedDocument]:
    with local.engine.view() as view:
        yield from view.documents()


# --- loading ---------------------------------------------------------------------------------------------------------


def _loading(here: Place, local: Index, passages: int, most: int) -> str:
    note(f"loading {passages:,} passages in three ways ...")
    fingerprint = local.encoder.fingerprint
    found = loading.measure(here, fingerprint, lambda: _documents(local), passages, min(loading.TURN, most))
    rows = [(who, f"{found.rate(who):,.0f}", f"{found.share(who):.0%}") for who in found.seconds]
    return (
        table(("loading", "passages/s", "of plain bulk"), rows)
        + f"\n\n{found.count:,} passages by each, of {found.size / found.count / 1000:.1f} kB, in "
        f"{len(found.passages)} turns; the share is that of the middle turn. Plain bulk sends requests that were made "
        "before. The loader sends the same with all its care. `writer.add` begins with encoded passages, makes the "
        f"requests and commits every {loading.COMMIT} passages, as `ingest` does, records and statistics included."
    )


def _search_index(here: Place, local: Index) -> str:
    """The index that is searched, whole."""
    began, count = time.perf_counter(), 0
    with here.engine(SEARCHED, local.encoder.fingerprint, writable=True) as new:
        for some in loading.portions(_documents(local), _AT_ONCE):
            new.writer().add(some)
            count += sum(len(one.passages) for one in some)
    seconds = time.perf_counter() - began
    return (
        f"The whole index, read from the local one, was loaded in {seconds:,.0f} s, {count / seconds:,.0f} passages/s, "
        f"with a commit every {_AT_ONCE:,}."
    )


# --- answers ---------------------------------------------------------------------------------------------------------


def _same_answers(local: Index, remote: Index, questions: Sequence[str]) -> str:
    note(f"comparing the answers to {len(questions)} questions ...")
    here, there = (list(map(_shown, index.ask_many(questions))) for index in (local, remote))
    same = sum(one == other for one, other in zip(here, there, strict=True))
    return f"{same} of {len(questions)} questions have the same answers with the same scores as in the local index."


def _shown(reply: Reply) -> list[tuple[str, int, str, float]]:
    return [(one.passage.id, one.start, one.text, one.score) for one in reply.answers]


# --- searching -------------------------------------------------------------------------------------------------------


def _latency(here: Place, remote: Index, questions: Sequence[str]) -> str:
    note(f"asking {len(questions):,} questions in several ways ...")
    times = latency.measure(remote, questions)
    base = times[latency.MATCH]
    rows = [(name, *_percentiles(own), *_ratios(own, base)) for name, own in times.items()]
    head = ("search", "p50, ms", "p95, ms", "took, mean ms", "p50 / match", "took / match")
    segments = here.server.request("GET", f"/{here.prefix}-{SEARCHED}/_stats/segments")
    count = segments["_all"]["primaries"]["segments"]["count"]
    kept = np.mean([_overlap(*two) for two in zip(times[latency.SPARSE].hits, times[latency.PRUNED].hits, strict=True)])
    return (
        f"With {count} segment{'s' * (count != 1)}:\n\n"
        + table(head, rows)
        + f"\n\nWithout its light clauses (below {latency.LIGHT:.0%} of the heaviest of the field) SFS finds "
        f"{kept:.1%} of the same passages."
    )


def _percentiles(own: latency.Times) -> Row:
    shown = [f"{1000 * np.percentile(own.wall, q):.1f}" for q in (50, 95)]
    return (*shown, f"{np.mean(own.took):.1f}" if own.took else "-")


def _ratios(own: latency.Times, base: latency.Times) -> Row:
    wall = f"{np.median(own.wall) / np.median(base.wall):.2f}"
    told = own.took and any(base.took)  # a small index answers in less than a millisecond
    return wall, f"{np.mean(own.took) / np.mean(base.took):.2f}" if told else "-"


def _overlap(wanted: Sequence[str], found: Sequence[str]) -> float:
    return len(set(wanted) & set(found)) / len(wanted) if wanted else 1.0


# --- sizes -----------------------------------------------------------------------------------------------------------


def _sizes(here: Place, passages: Sequence[EncodedPassage]) -> str:
    note(f"weighing {len(passages):,} passages, once for each field ...")
    found = sizes.measure(here, passages)
    whole = found[sizes.WHOLE]
    parts = {name: size for name, size in found.items() if name not in (sizes.WHOLE, sizes.NO_SOURCE, sizes.OPTION)}
    parts["`_id`, `_seq_no` and all else"] = whole - sum(parts.values())
    rows = [(name, f"{size:,.0f}", f"{size / whole:.1%}") for name, size in sorted(parts.items(), key=lambda x: -x[1])]
    rows.append(("everything", f"{whole:,.0f}", "100.0%"))
    rows.append(
        (f"everything with {sizes.OPTION}", f"{found[sizes.OPTION]:,.0f}", f"{found[sizes.OPTION] / whole:.1%}")
    )
    words = sum(len(one.passage.text.split()) for one in passages) / len(passages)
    return (
        table(("field", "bytes a passage", "share"), rows)
        + f"\n\n{len(passages):,} passages of {words:.0f} words, each index merged to one segment."
    )


def _passages(documents: Iterable[EncodedDocument]) -> Iterator[EncodedPassage]:
    return (passage for document in documents for passage in document.passages)


if __name__ == "__main__":
    sys.exit(main())
