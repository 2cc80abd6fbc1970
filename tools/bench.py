"""`make bench`: speed and size on this machine, on stdout and in docs/benchmarks/.

Reads the sample corpus (or the folder given) into a fresh index and asks its questions in one process; then
`tools.bench_ingest` compares the ingest with the bare encoder and with itself. Ratios in one run say more than seconds:
both halves had the same machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from sparc_search import Index
from sparc_search.cli.terminal import note, result
from tools import bench_ingest
from tools.benchmark_page import table, write_section

ROOT: Final = Path(__file__).resolve().parent.parent
CORPUS: Final = ROOT / "examples" / "corpus"
QUESTIONS: Final = ROOT / "examples" / "questions.jsonl"
PROGRAM: Final = str(Path(sys.executable).parent / "sparc-search")
HELP_RUNS: Final = 5
SIZES: Final = (1_000, 10_000)
"""Passages; ten times as many take as many times longer, for which there is `python -m tools.bench_ingest`."""
Row = tuple[str, str]


def main(arguments: list[str]) -> int:
    """Measure everything."""
    corpus = Path(arguments[0]).resolve() if arguments else CORPUS
    rows = [("environment with all extras", f"{_bytes_below(Path(sys.prefix)) / 1e6:,.0f} MB"), _help_time()]
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        rows += _ingest_size(corpus, index)
        rows += _ask_times(index)
    body = table(("what", "measured"), rows)
    write_section("sample", "Installation and the sample corpus", "make bench", body)
    result(body)
    return bench_ingest.main([str(corpus), "--name", "the sample corpus", "--sizes", *map(str, SIZES)])


def _help_time() -> Row:
    times = [_timed("--help") for _ in range(HELP_RUNS)]
    return "`sparc-search --help`, median", f"{median(times) * 1000:,.0f} ms"


def _ingest_size(corpus: Path, index: Path) -> list[Row]:
    note(f"reading {corpus} ...")
    words = sum(len(p.read_text(encoding="utf-8", errors="ignore").split()) for p in corpus.rglob("*") if p.is_file())
    seconds = _timed("ingest", str(corpus), "--index", str(index))
    return [
        ("ingest", f"{seconds:,.1f} s ({words / seconds:,.0f} words/s with start-up)"),
        ("index", f"{_bytes_below(index) / 1e6:,.1f} MB ({_bytes_below(index) / words:,.0f} bytes a word)"),
    ]


def _ask_times(folder: Path) -> list[Row]:
    questions = [json.loads(line)["question"] for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    note(f"asking {len(questions)} questions ...")
    with Index.open(folder) as index:
        index.ask(questions[0])  # what is loaded at the first question is no part of the second
        seconds = [index.ask(question).seconds for question in questions]
    stages = {stage: [s.get(stage, 0.0) for s in seconds] for stage in seconds[0]}
    stages["all"] = [sum(s.values()) for s in seconds]
    return [(f"ask, {stage}", _p50_p95(times)) for stage, times in stages.items()]


def _p50_p95(times: list[float]) -> str:
    return f"p50 {median(times) * 1000:.1f} ms, p95 {quantiles(times, n=20)[-1] * 1000:.1f} ms"


def _timed(*arguments: str) -> float:
    begun = time.perf_counter()
    subprocess.run([PROGRAM, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _bytes_below(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
