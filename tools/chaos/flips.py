"""Single bits that flip in the files of an index: in the database, in segments, in the name of the version.

The oracle: every question gets the very answer that it got before, or an error of the package says that the index is
damaged. Any other answer is silent damage; any other error is a leak. If an answer was refused, `index verify` (which
takes longer, and is asked now and then) finds something, too; and with the bit flipped back all is as it was.

The encoder is the one that the settings name. An index at rest is looked at: the log of SQLite, which is there while
someone writes, has sums of its own and is left alone.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sparc_search.errors import SparcSearchError
from sparc_search.index import Index
from sparc_search.records import STRATEGIES, Reply, Strategy

from .ledger import MEMORY
from .served import CORPUS
from .tally import Tally

LINES: Final = 1_100
"""Short documents beside the corpus, so that there is a FAISS file, and files of more than one page."""
QUESTIONS: Final[tuple[tuple[str, Mapping[str, str]], ...]] = (
    ("How long is the Danube?", {}),
    ("Which river was number 77 named after?", {}),
    ("What is the height of the mountain?", {"kind": "short"}),
)
VERIFIED: Final = 0.05
"""Share of the rounds in which `index verify` is asked, too."""


def run(rounds: int, seed: int, seconds: float) -> Tally:
    """Flip bits; what came of it."""
    tally = Tally("flips", "flips", seconds)
    with tempfile.TemporaryDirectory(prefix="sparc-search-flips-", dir=MEMORY) as folder:
        place = Path(folder) / "index"
        build(place, LINES)
        with Index.open(place) as index:
            encoder = index.encoder  # opened once: it is not what is tried
        flips = Flips(place, encoder, tally, random.Random(seed))
        while tally.rounds < rounds and not tally.is_over():
            flips.round()
            tally.rounds += 1
        flips.all_is_well()
    return tally


def build(place: Path, lines: int) -> None:
    """An index of a small corpus and of many short documents, some of them deleted."""
    with Index.create(place) as index:
        if lines:
            index.ingest(CORPUS)
        texts = [f"River number {n} is {n * 7} km long and was named after the {n}th hill." for n in range(lines or 12)]
        index.add([{"id": f"line {n}", "text": text, "metadata": {"kind": "short"}} for n, text in enumerate(texts)])
        index.delete(["line 3", "line 5"])


class Flips:
    """An index, what it answers, and who flips its bits."""

    def __init__(self, place: Path, encoder: Any, tally: Tally, chance: random.Random) -> None:
        self.place, self._encoder, self.tally, self._chance = place, encoder, tally, chance
        self._truth = self._answers()
        self._files = [path for path in sorted(place.rglob("*")) if path.is_file() and path.stat().st_size]
        self._files = [path for path in self._files if not path.name.endswith(("-wal", "-shm"))]

    def round(self) -> None:
        """Flip one bit, ask and verify, and flip it back."""
        database = self.place / "data-1" / "index.db"
        path = database if self._chance.random() < 0.5 else self._chance.choice(self._files)
        place = self._chance.randrange(path.stat().st_size)
        bit = self._chance.randrange(8)
        with flipped(path, place, bit):
            outcome = self._asked(f"{path.relative_to(self.place)}, byte {place}, bit {bit}")
        self.tally.add("index.db" if path.name == "index.db" else path.name, outcome)

    def _asked(self, where: str) -> str:
        try:
            same = self._answers() == self._truth
        except SparcSearchError as error:
            if self._chance.random() < VERIFIED and not self._found_by_verify(where):
                self.tally.contradict(f"{where}: asking said {error}, verify that all is well")
            return "refused"
        except Exception as error:  # whatever it is, it must not come out
            self.tally.contradict(f"{where}: {type(error).__name__}: {error}")
            return "leaked"
        if not same:
            self.tally.contradict(f"{where}: another answer")
            return "wrong"
        if self._chance.random() >= VERIFIED:
            return "same"
        return "same, found by verify" if self._found_by_verify(where) else "same, of no account"

    def _found_by_verify(self, where: str) -> bool:
        try:
            with Index.open(self.place, encoder=self._encoder) as index:
                return not index.verify(sample=0).ok
        except SparcSearchError:
            return True
        except Exception as error:
            self.tally.contradict(f"{where}: verify ended with {type(error).__name__}: {error}")
            return True

    def _answers(self) -> list[Any]:
        with Index.open(self.place, encoder=self._encoder) as index:
            return [
                [(answer.text, answer.score, answer.start, answer.passage) for answer in reply.answers]
                for strategy in STRATEGIES
                for reply in _replies(index, strategy)
            ]

    def all_is_well(self) -> None:
        """At the end nothing is left of it."""
        if self._answers() != self._truth or self._found_by_verify("at the end"):
            self.tally.contradict("the index is not what it was")


def _replies(index: Index, strategy: Strategy) -> Sequence[Reply]:
    return [index.ask(question, strategy=strategy, where=where, k=3) for question, where in QUESTIONS]


@contextmanager
def flipped(path: Path, place: int, bit: int) -> Iterator[None]:
    """A file with one bit flipped, for as long as the context lasts."""
    _flip(path, place, bit)
    try:
        yield
    finally:
        _flip(path, place, bit)


def _flip(path: Path, place: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))
