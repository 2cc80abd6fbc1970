"""What grows with the corpus: memory of an ingest, and the time to open what it made. Part of `tools.bench_ingest`.

    python -m tools.bench_growth ingest SEEDS COUNT INDEX    in a process of its own: ingest, and tell its memory
    python -m tools.bench_growth open INDEX                  in a process of its own: open, search, and tell the times

Encoding a hundred thousand passages takes hours, and what it needs does not depend on how many they are. So the
passages of a small index, encoded once, are handed out again and again under new ids: reader, pipeline and store do
their true work on blocks and features of true size. Every copy has n-grams of its own, as new text would.
"""

from __future__ import annotations

import json
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from sparc_search.cli.terminal import note
from sparc_search.encoder import Encoder
from sparc_search.engine import Place
from sparc_search.loaders.outcomes import Summary
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.walk import roots
from sparc_search.records import EncodedPassage, EncodedQuestion, Features, Passage
from sparc_search.stores.local import LocalEngine
from sparc_search.stores.local.view import LocalView
from tools.benchmark_page import table
from tools.memory import memory

MOST_SEEDS: Final = 2_000
OPENINGS: Final = 7
_EVERY: Final = 0.1
_WORD: Final = re.compile(r"\S+")


def measured(index: Path, sizes: Sequence[int]) -> str:
    """The table: an ingest of each size in a fresh process, then each index opened in turns."""
    found: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder) / "seeds"
        seeds.write_bytes(pickle.dumps(_seeds(index)))
        for size in sizes:
            note(f"ingesting {size:,} passages that are encoded already ...")
            found[size] = _child("ingest", seeds, size, Path(folder) / str(size))
        openings = [(size, _child("open", Path(folder) / str(size))) for _ in range(OPENINGS) for size in sizes]
    for size in sizes:
        own = [times for opened, times in openings if opened == size]
        found[size] |= {name: median(times[name] for times in own) for name in own[0]}
    return (
        f"An ingest of passages that were encoded before ({OPENINGS} openings of each index). *Own* memory is what the "
        "process has made, *mapped* what it reads of files, which the system takes back when it needs room:\n\n"
        + _as_table(found)
    )


def _as_table(found: Mapping[int, Mapping[str, float]]) -> str:
    figures = {name: [of_size[name] for of_size in found.values()] for name in next(iter(found.values()))}
    rows = [
        (name, *(f"{value:,.1f}" for value in values), f"{values[-1] / values[0]:.2f}")
        for name, values in figures.items()
    ]
    return table(("", *(f"{size:,} passages" for size in found), "ratio"), rows)


def _seeds(index: Path) -> list[EncodedPassage]:
    """Encoded passages that are cut the same again when each is a document."""
    found: list[EncodedPassage] = []
    with LocalEngine.open(Place(index)) as engine, engine.view() as view:
        for document in view.documents():
            found += [one for one in document.passages if not one.passage.joints and "\n" not in one.passage.text]
            if len(found) >= MOST_SEEDS:
                break
    return found


def _child(*arguments: object) -> dict[str, float]:
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


# --- in a process of its own -----------------------------------------------------------------------------------------


class Echo(Encoder):
    """An encoder that knows its passages already."""

    fingerprint, window = "echo", 100_000

    def __init__(self, seeds: Sequence[EncodedPassage]) -> None:
        self._known = {seed.passage.text: seed for seed in seeds}
        self._copies: Counter[str] = Counter()

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Words do for pieces."""
        return [match.span() for match in _WORD.finditer(text)]

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """What was encoded once, under new ids."""
        return [self._again(passage) for passage in passages]

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        """None: an ingest asks nothing."""
        raise AssertionError("an ingest asks nothing")

    def _again(self, passage: Passage) -> EncodedPassage:
        known = self._known[passage.text]
        self._copies[passage.text] += 1
        return EncodedPassage(passage, known.block, _renamed(known.features, self._copies[passage.text]))


def _renamed(features: Features, copy: int) -> Features:
    """Words are the same in all copies, longer n-grams are not."""
    return {
        field: {f"{name} ~{copy}" if " " in name else name: value for name, value in values.items()}
        for field, values in features.items()
    }


class Memory(threading.Thread):
    """Looks at the memory of this process again and again."""

    def __init__(self) -> None:
        super().__init__(name="memory", daemon=True)
        self._seen: dict[str, list[int]] = {name: [] for name in memory()}
        self._done = threading.Event()

    def run(self) -> None:
        """Look until told to stop."""
        self._look()
        while not self._done.wait(_EVERY):
            self._look()

    def _look(self) -> None:
        for name, size in memory().items():
            self._seen[name].append(size)

    def figures(self) -> dict[str, float]:
        """Megabytes: the most there ever was, and what was typical in the second half."""
        self._done.set()
        self.join()
        figures = {"most resident, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}
        figures |= {f"most {name}, MB": max(seen) / 1e6 for name, seen in self._seen.items() if name != "resident"}
        typical = {name: median(seen[len(seen) // 2 :]) / 1e6 for name, seen in self._seen.items()}
        return figures | {f"typically {name}, MB": value for name, value in typical.items()}


def _ingest(seeds_file: Path, count: int, index: Path) -> dict[str, float]:
    seeds: list[EncodedPassage] = pickle.loads(seeds_file.read_bytes())
    corpus = _write_corpus(index.with_suffix(".jsonl"), seeds, count)
    encoder, memory = Echo(seeds), Memory()
    began = time.perf_counter()
    memory.start()
    with LocalEngine.open(Place(index), encoder.fingerprint, writable=True) as engine:
        for event in ingest(Plan(roots([str(corpus)])), encoder, engine):
            if isinstance(event, Summary):
                assert event.passages == count, f"{event.passages} passages instead of {count}"
    seconds = time.perf_counter() - began
    size = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    corpus.unlink()
    return {**memory.figures(), "index, MB": size / 1e6, "ms for a passage": 1000 * seconds / count}


def _write_corpus(path: Path, seeds: Sequence[EncodedPassage], count: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            passage = seeds[number % len(seeds)].passage
            file.write(json.dumps({"id": f"{number}", "title": passage.title, "text": passage.text}) + "\n")
    return path


def _open(index: Path) -> dict[str, float]:
    began = time.perf_counter()
    with LocalEngine.open(Place(index)) as engine, engine.view() as view:
        opened = time.perf_counter()
        _search(view, view.state.segments[0].dense.vectors.shape[1])
        searched = time.perf_counter()
    return {"to open, ms": 1000 * (opened - began), "first search, ms": 1000 * (searched - opened)}


def _search(view: LocalView, width: int) -> None:
    view.sparse_search([{"lex": {"the": 1.0, "city": 1.0}}], 10, {})
    view.dense_search(np.ones((1, width), np.float32), 10, {})


def main(arguments: Sequence[str]) -> int:
    """One measurement; its figures as JSON."""
    match list(arguments):
        case ["ingest", seeds, count, index]:
            figures = _ingest(Path(seeds), int(count), Path(index))
        case ["open", index]:
            figures = _open(Path(index))
        case _:
            sys.exit(__doc__)
    sys.stdout.write(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
