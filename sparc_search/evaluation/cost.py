"""What a corpus costs as it grows: one index grows through the sizes, and the same questions are asked at each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..encoder import Encoder
from ..engine import Admin, supports
from ..errors import UsageError
from ..index import Index
from ..settings import Settings
from .corpus import bring_up_to_date, paragraphs_of
from .measurements import KeptMeasurements
from .measuring import run_over
from .nested import as_lines, gold_of, nested
from .provenance import digest, write_lines
from .questions import OpenQuestion, read_questions
from .watching import QUIET, Watcher


@dataclass(frozen=True, slots=True)
class CostPoint:
    """An index of some size, and what it costs."""

    encode_seconds: float
    tokens: int
    passages: int
    index_bytes: int
    seconds_p50: float
    seconds_p95: float
    exact_match: float
    f1: float
    intervals: dict[str, tuple[float, float]]
    questions: int

    @property
    def interval(self) -> tuple[float, float]:
        """That of the exact match."""
        low, high = self.intervals["exact_match"]
        return low, high


@dataclass(slots=True)
class GrowingCorpus:
    """The questions, the sizes, and the one index that grows; what was measured before a stop is kept."""

    settings: Settings
    encoder: Encoder
    squad: Path
    corpus: Sequence[Path]
    sizes: Sequence[int]
    questions: int
    seed: int
    work: Path
    watcher: Watcher = QUIET
    _kept: KeptMeasurements = field(init=False)

    def __post_init__(self) -> None:
        self.settings = replace(self.settings, index=self.work / f"index-{self.encoder.fingerprint}")
        self._kept = KeptMeasurements(self.work / f"runs-{self.encoder.fingerprint}")

    def points(self) -> Iterator[CostPoint]:
        """One after the other; fewer than there are sizes if the corpus is smaller.

        The paragraphs of the questions are in the smallest, so only the distractors become more.
        """
        asked = read_questions(self.squad, sample=self.questions, seed=self.seed)
        gold = gold_of(asked, paragraphs_of([self.squad]))
        seconds, tokens = 0.0, 0
        for number, part in enumerate(nested(gold, paragraphs_of(self.corpus), self.sizes)):
            size = self.sizes[number]
            path = self.work / "parts" / f"part-{size}.jsonl"
            write_lines(path, as_lines(part, f"part-{size}"))
            chosen = {"data": digest(self.squad), "questions": len(asked), "seed": self.seed, "sizes": self.sizes}
            key = {**chosen, "strategy": self.settings.strategy, "part": digest(path)}
            grown = self._kept.get(f"cost/{size}/encoding", key, partial(self._grow, path))
            ask = partial(self._ask, asked, size, self.sizes[number + 1 :])
            asked_at_size = self._kept.get(f"cost/{size}/asking", key, ask)
            seconds, tokens = round(seconds + grown["seconds"], 1), round(tokens + grown["tokens"])
            names = [point_field.name for point_field in fields(CostPoint) if point_field.name in asked_at_size]
            yield CostPoint(seconds, tokens, **{name: asked_at_size[name] for name in names})

    def _grow(self, path: Path) -> dict[str, Any]:
        summary = bring_up_to_date(self.settings, self.encoder, self.settings.index, [path], self.watcher)
        whole = (summary.indexed + summary.unchanged) / max(1, summary.indexed)  # of a part, if it was stopped before
        seconds = summary.seconds_by_stage.get("encode", 0.0) * whole
        return {"seconds": seconds, "tokens": summary.tokens * whole, "rows": []}

    def _ask(self, asked: Sequence[OpenQuestion], size: int, larger: Sequence[int]) -> dict[str, Any]:
        with Index.open(settings=self.settings, encoder=self.encoder) as index:
            with index.engine.view() as view:
                beyond = view.content_hashes([f"part-{more}-0" for more in larger])
            if beyond:
                raise UsageError(
                    f"the index in {self.settings.index} has grown beyond {size:,} paragraphs", "name another --work"
                )
            run = run_over(index, asked, self.settings.strategy, self.watcher)
            admin = index.engine.admin()
            index_bytes = admin.size_in_bytes() if supports(admin, Admin.size_in_bytes) else 0
            facts = {"passages": index.engine.statistics().passages, "index_bytes": index_bytes}
        return {**run.report(), **facts, "rows": run.saved_rows()}
