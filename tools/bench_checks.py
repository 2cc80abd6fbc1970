"""What the checks on reading cost: `python -m tools.bench_checks INDEX [--questions FILE]`.

Each question is asked once in an index that was just opened, and once more when its pages are known. Shown are
medians: the time of an answer, how much of it went into sums, and how many bytes were checked.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from sparc_search.cli.terminal import result
from sparc_search.index import Index
from sparc_search.stores.local import rows
from sparc_search.stores.local.checksums import crc
from sparc_search.stores.page_sums import Pages
from tools.benchmark_page import table, write_section

QUESTIONS: Final = ("Who was the first?", "When was it built?", "How high is the mountain?", "Which river is longest?")


class Counted:
    """Counts what is summed up."""

    def __init__(self) -> None:
        self.bytes, self.seconds = 0, 0.0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """For as long as the context lasts."""
        check, sum_of_row = Pages._check, crc

        def page(pages: Pages, number: int) -> None:
            started = time.perf_counter()
            check(pages, number)
            self.seconds += time.perf_counter() - started
            self.bytes += 1 << 16

        def row(*columns: Any) -> int:
            started = time.perf_counter()
            found = sum_of_row(*columns)
            self.seconds += time.perf_counter() - started
            self.bytes += sum(len(column) for column in columns if isinstance(column, str | bytes))
            return found

        with patch.object(Pages, "_check", page), patch.object(rows, "crc", row):
            yield


def measure(folder: Path, questions: Sequence[str]) -> Iterator[tuple[str, float, float, float]]:
    """Kind, milliseconds of an answer, of these in checks, and megabytes that were checked: medians."""
    with Index.open(folder) as index:
        index.prepare()
        encoder = index.encoder
    for strategy in ("sparse", "hybrid"):
        times: dict[str, list[tuple[float, float, float]]] = {"just opened": [], "asked before": []}
        for question in questions:
            with Index.open(folder, encoder=encoder) as index:
                for measured in times.values():
                    counted = Counted()
                    with counted.counting():
                        started = time.perf_counter()
                        index.ask(question, strategy=strategy)
                        whole = time.perf_counter() - started
                    measured.append((whole * 1e3, counted.seconds * 1e3, counted.bytes / 1e6))
        for kind, measured in times.items():
            yield f"{strategy}, {kind}", *(statistics.median(column) for column in zip(*measured, strict=True))


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index", type=Path, help="an index in a folder")
    parser.add_argument("--questions", type=Path, help="one a line")
    parser.add_argument("--data", default="an index", help="what is in it, in words")
    chosen = parser.parse_args(arguments)
    questions = chosen.questions.read_text().splitlines() if chosen.questions else QUESTIONS
    rows = [
        (kind, f"{whole:.1f}", f"{checks:.2f}", f"{checks / whole:.1%}", f"{megabytes:.2f}")
        for kind, whole, checks, megabytes in measure(chosen.index, questions)
    ]
    body = table(("", "answer, ms", "of that checks, ms", "share", "checked, MB"), rows)
    about = f"{chosen.data}, {len(questions):,} questions, medians; CRC-32 here: {_speed():,.0f} MB a second."
    write_section(
        "checks", "What the checks on reading cost", "python -m tools.bench_checks INDEX", f"{body}\n\n{about}"
    )
    result(f"{body}\n\n{about}")
    return 0


def _speed() -> float:
    """Megabytes a second that are summed up."""
    data = b"\x5a" * (1 << 24)
    started = time.perf_counter()
    zlib.crc32(data)
    return len(data) / 1e6 / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
