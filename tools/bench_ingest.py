"""Speed of an ingest: against the bare encoder, again over the same corpus, and with ten times the passages.

    python -m tools.bench_ingest CORPUS... [--passages N] [--sizes 10000 100000] [--name NAME]

The pipeline takes one part of the corpus after another; after each, the encoder alone gets the very batches that the
pipeline gave it, so that a busy machine is busy for both. Then `sparc-search ingest` reads the whole corpus twice, and
`tools.bench_growth` tells what grows with the corpus. Seconds of the processors are told beside those of the clock:
on a machine that others use, they say more.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from sparc_search.cli.terminal import note, result
from sparc_search.encoder import Encoder
from sparc_search.engine import Place
from sparc_search.loaders.formats import Formats
from sparc_search.loaders.outcomes import Summary
from sparc_search.loaders.patterns import Filters
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.reading import Read, Reading
from sparc_search.loaders.walk import roots, walk
from sparc_search.opening import open_encoder
from sparc_search.records import Document, EncodedPassage, EncodedQuestion, Passage
from sparc_search.settings import load
from sparc_search.stores.local import LocalEngine
from tools import bench_growth
from tools.benchmark_page import table, write_section

PARTS: Final = 4
AGAIN: Final = 3
WORDS_A_PASSAGE: Final = 100
COMMAND: Final = "python -m tools.bench_ingest CORPUS..."
PROGRAM: Final = str(Path(sys.executable).parent / "sparc-search")


class Seconds(NamedTuple):
    """By the clock, and of all processors together."""

    clock: float
    processors: float

    @staticmethod
    def now() -> Seconds:
        """Of this process."""
        return Seconds(time.perf_counter(), time.process_time())

    def since(self, before: Seconds) -> Seconds:
        """How much later this is."""
        return Seconds(self.clock - before.clock, self.processors - before.processors)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the section."""
    options = _parse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        parts = [
            _against_the_encoder(options.corpus, options.passages, Path(folder)),
            _again(options.corpus, index),
        ]
        if options.sizes:
            parts.append(bench_growth.measured(index, options.sizes))
    body = "\n\n".join(parts)
    name = f"ingest {options.name}".strip()
    write_section(name.replace(" ", "-"), f"Ingest of {options.name}" if options.name else "Ingest", COMMAND, body)
    result(body)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_ingest", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpus", nargs="+", help="files, folders or globs")
    parser.add_argument("--passages", type=int, default=500, help="about so many are compared with the bare encoder")
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000], help="passages; or none")
    parser.add_argument("--name", default="", help="what the section calls the corpus, if there are several")
    return parser.parse_args(arguments)


# --- against the bare encoder ----------------------------------------------------------------------------------------


class Remembering(Encoder):
    """An encoder that remembers its batches."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.fingerprint, self.window, self.additive = encoder.fingerprint, encoder.window, encoder.additive
        self.batches: list[Sequence[Passage]] = []

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Of the encoder."""
        return self._encoder.token_offsets(text)

    def token_count(self, text: str) -> int:
        """Of the encoder."""
        return self._encoder.token_count(text)

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Of the encoder, and the batch is remembered."""
        self.batches.append(passages)
        return self._encoder.encode_passages(passages)

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        """Of the encoder."""
        return self._encoder.encode_questions(questions)


@dataclass
class Compared:
    """The pipeline and the bare encoder on the same batches, part by part."""

    tokens: list[int] = field(default_factory=list)
    pipeline: list[Seconds] = field(default_factory=list)
    bare: list[Seconds] = field(default_factory=list)
    stages: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    passages: int = 0

    def part(self, path: Path, encoder: Encoder, index: Path) -> None:
        """One part by the pipeline, to the last byte on disk, then its batches by the encoder alone."""
        remembering = Remembering(encoder)
        engine = LocalEngine.open(Place(index), encoder.fingerprint, writable=True)
        before = Seconds.now()
        with engine:
            *_, summary = ingest(Plan(roots([str(path)])), remembering, engine)
            closing_began = time.perf_counter()
        self.pipeline.append(Seconds.now().since(before))
        assert isinstance(summary, Summary)
        for stage, seconds in summary.seconds_by_stage.items():
            self.stages[stage] += seconds
        self.stages["segments"] += time.perf_counter() - closing_began
        self.tokens.append(summary.tokens)
        self.passages += summary.passages
        before = Seconds.now()
        for batch in remembering.batches:
            encoder.encode_passages(batch)
        self.bare.append(Seconds.now().since(before))

    def told(self) -> str:
        """What was found."""
        rows = [(name, *self._speeds(own)) for name, own in (("encoder alone", self.bare), ("pipeline", self.pipeline))]
        ratios = [self._ratio(at, unit) for at, unit in enumerate(("the clock", "processor seconds"))]
        whole = sum(s.clock for s in self.pipeline)
        stages = [(stage, f"{seconds:,.2f}", f"{seconds / whole:.1%}") for stage, seconds in self.stages.items()]
        return "\n\n".join(
            [
                f"{self.passages:,} passages, {sum(self.tokens):,} tokens, in {len(self.tokens)} parts, each by the "
                "pipeline and then, the same batches, by the encoder alone:",
                table(("", "tokens/s by the clock", "tokens for each processor second"), rows),
                table(("pipeline against encoder", "all", "by part"), ratios),
                "Busy time of each stage (they overlap, and on a busy machine they wait for each other):",
                table(("stage", "s", "of the clock"), stages),
            ]
        )

    def _ratio(self, at: int, unit: str) -> tuple[str, str, str]:
        bare, pipeline = [one[at] for one in self.bare], [one[at] for one in self.pipeline]
        parts = [b / p for b, p in zip(bare, pipeline, strict=True)]
        return f"by {unit}", f"{sum(bare) / sum(pipeline):.0%}", f"{min(parts):.0%} to {max(parts):.0%}"

    def _speeds(self, own: Sequence[Seconds]) -> tuple[str, str]:
        tokens = sum(self.tokens)
        return f"{tokens / sum(s.clock for s in own):,.0f}", f"{tokens / sum(s.processors for s in own):,.0f}"


def _against_the_encoder(corpus: Sequence[str], passages: int, folder: Path) -> str:
    encoder = open_encoder(load())
    encoder.encode_passages([Passage("warm", "warm", 0, "What is loaded at the first passage is no part of this.")])
    compared = Compared()
    documents = list(_some(corpus, passages * WORDS_A_PASSAGE))
    for number in range(PARTS):
        note(f"part {number + 1} of {PARTS}: by the pipeline, then by the encoder alone ...")
        path = folder / f"part-{number}.jsonl"
        _write(path, documents[number::PARTS])
        compared.part(path, encoder, folder / f"part-{number}")
    return compared.told()


def _some(corpus: Sequence[str], words: int) -> Iterator[Document]:
    """Documents of the corpus, up to so many words; of a longer one the beginning."""
    with closing(Reading(Formats(""), {})) as reading:
        for read in reading.everything(walk(roots(corpus), Filters())):
            if words > 0 and isinstance(read, Read):
                yield from _shares(read.document, words)
                words -= len(read.document.text.split())


def _shares(document: Document, words: int) -> Iterator[Document]:
    """A document as its paragraphs, so that parts come out alike."""
    for number, paragraph in enumerate(text for text in document.text.split("\n\n") if text.strip()):
        if words > 0:
            yield Document(f"{document.id}#{number}", paragraph, document.title)
            words -= len(paragraph.split())


def _write(path: Path, documents: Sequence[Document]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for document in documents:
            file.write(json.dumps({"id": document.id, "title": document.title, "text": document.text}) + "\n")


# --- a second time ---------------------------------------------------------------------------------------------------


def _again(corpus: Sequence[str], index: Path) -> str:
    note("ingesting the whole corpus, then again ...")
    first, account = _ingested(corpus, index)
    runs = [_ingested(corpus, index) for _ in range(AGAIN)]
    again = Seconds(*(median(seconds[at] for seconds, _ in runs) for at in range(2)))
    stages: Mapping[str, float] = runs[0][1]["seconds_by_stage"]
    busy = ", ".join(f"{stage} {seconds * 1000:,.0f} ms" for stage, seconds in stages.items() if seconds)
    rows = [
        ("first run", f"{first.clock:,.1f} s", f"{first.processors:,.1f} s"),
        (f"again, nothing changed (median of {AGAIN})", f"{again.clock:,.2f} s", f"{again.processors:,.2f} s"),
        ("times faster", f"{first.clock / again.clock:,.0f}", f"{first.processors / again.processors:,.0f}"),
    ]
    inside = median(account["seconds"] for _, account in runs)
    return (
        f"The whole corpus ({account['passages']:,} passages) by `sparc-search ingest`, start-up included:\n\n"
        + table(("", "clock", "processors"), rows)
        + f"\n\nOf the second run, {inside:,.2f} s are the ingest itself ({busy}), the rest is start-up."
    )


def _ingested(corpus: Sequence[str], index: Path) -> tuple[Seconds, dict[str, Any]]:
    before = Seconds(time.perf_counter(), _of_children())
    done = subprocess.run(
        [PROGRAM, "ingest", "--json", *corpus, "--index", str(index)], check=True, stdout=subprocess.PIPE, text=True
    )
    summary: dict[str, Any] = json.loads(done.stdout)
    return Seconds(time.perf_counter(), _of_children()).since(before), summary


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
