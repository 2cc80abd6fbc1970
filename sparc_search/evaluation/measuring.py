"""One run over questions: what was found, how long it took, and what else was asked for on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..index import Index
from ..records import Reply
from .corpus import passages_of
from .holding import answerable
from .open_domain import CUTS, OpenRow, ask_each, judge, percent, summarise
from .questions import OpenQuestion
from .trec_files import judgement_lines, run_lines
from .watching import QUIET, Watcher
from .wrong_answers import WrongAnswer, wrong_answer


@dataclass(slots=True)
class MeasuredRun:
    """The rows of a run, and what can be made of its replies only while they are there."""

    rows: list[OpenRow] = field(default_factory=list)
    seconds: float = 0.0
    """Wall time of the asking alone; judging does not count."""
    wrong: list[WrongAnswer] = field(default_factory=list)
    trec_run: list[str] = field(default_factory=list)
    trec_judgements: list[str] = field(default_factory=list)

    def report(self, seed: int = 0) -> dict[str, Any]:
        """The means, as they stand in a report."""
        return asdict(summarise(self.rows, self.seconds, seed))

    def saved_rows(self) -> list[dict[str, Any]]:
        """The rows, as they stand in a report."""
        return [asdict(row) for row in self.rows]


def run_over(
    index: Index, asked: Sequence[OpenQuestion], tag: str, watcher: Watcher = QUIET, *, batched: bool = False
) -> MeasuredRun:
    """Ask an index everything; one question before the first, because what is loaded then is no part of any answer."""
    index.ask(asked[0].text)
    replies = ask_each(asked, lambda question: index.ask(question, k=max(CUTS), unit="phrase", all=True))
    if batched:
        texts = (question.text for question in asked)
        replies = zip(asked, index.ask_many(texts, k=max(CUTS), unit="phrase", all=True), strict=True)
    with watcher.counting("asking", len(asked)) as tell:
        return measured(replies, tag, tell)


def share_answerable(index: Index, asked: Sequence[OpenQuestion]) -> float:
    """In percent, the questions whose answer stands somewhere in the index."""
    answered = answerable(asked, (passage.text for passage in passages_of(index.engine)))
    return percent(len(answered), len(asked))


def measured(
    replies: Iterable[tuple[OpenQuestion, Reply]],
    tag: str = "sparc-search",
    tell: Callable[[], object] = lambda: None,
) -> MeasuredRun:
    """Take the replies one by one, judge each and tell that it is done."""
    run = MeasuredRun()
    stream = iter(replies)
    while True:
        began = time.perf_counter()
        pair = next(stream, None)
        run.seconds += time.perf_counter() - began
        if pair is None:
            return run
        run.rows.append(judge(*pair))
        run.trec_run += run_lines([pair], tag)
        run.trec_judgements += judgement_lines([pair])
        if (wrong := wrong_answer(*pair)) is not None:
            run.wrong.append(wrong)
        tell()
