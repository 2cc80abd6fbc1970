"""`sparc-search tune`, whole: read questions, take their phrases from the index, cross-validate, learn, write."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..errors import Interrupted, UsageError
from ..evaluation.provenance import digest
from ..evaluation.questions import OpenQuestion
from ..evaluation.watching import QUIET, Watcher
from ..index import Index
from ..model.encoder_torch import SparcModel
from ..model.encoding import NetworkEncoder
from ..model.files import WEIGHTS, ModelFolder, open_model
from ..search.confidence import from_card
from ..settings import Settings
from ..training.average import copy_into, trainable
from .asked import TuningQuestions, read_asked
from .judging import Answered, Confidence, Judgement, ask_all, folds_of, judged, recalibrated
from .learning import Learning, TuningSettings
from .pool import Pool
from .proposing import nowhere, propose
from .scoring import AskedStates, PoolTensors, train_question_side
from .work import Work
from .writing import refuse_place, write_tuned

FEWEST_TO_LEARN = 10
"""Questions that can be learned from, at the least."""


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What a tuning found. Names of questions are their texts."""

    asked: TuningQuestions
    learned_from: int
    nowhere: tuple[str, ...]
    """Their answers stand in no text of the index."""
    not_proposed: int
    """Their answers are in the index, and in no phrase of the passages that the search proposes."""
    judgement: Judgement
    confidence: Confidence | None
    seconds: float
    written: Path | None = None

    def record(self) -> dict[str, Any]:
        """As data."""
        counts = {
            "questions": len(self.asked.questions),
            "repeated": self.asked.repeated,
            "unanswered": self.asked.unanswered,
            "contradictory": list(self.asked.contradictory),
            "learned_from": self.learned_from,
            "nowhere": list(self.nowhere),
            "not_proposed": self.not_proposed,
        }
        sure = asdict(self.confidence) if self.confidence else None
        more = {"cross_validation": asdict(self.judgement), "confidence": sure, "seconds": round(self.seconds, 1)}
        return {**counts, **more, "written": str(self.written) if self.written else None}


@dataclass(slots=True)
class Tuning:
    """A tuning of the question side of `settings.model` over the index that the settings name."""

    settings: Settings
    files: Sequence[Path]
    out: Path
    tuning: TuningSettings = field(default_factory=TuningSettings)
    watcher: Watcher = QUIET
    stop: Callable[[], bool] = lambda: False

    def run(self, *, resume: bool = False, anyway: bool = False) -> TuningReport:
        """Cross-validate, and write the model if it is a gain, or `anyway`."""
        began = time.monotonic()
        base = open_model(self.settings.model)
        base.file(WEIGHTS)
        refuse_place(self.out, base)
        asked = read_asked(self.files)
        with Work.beside(self.out) as work, ExitStack() as stack:
            side = QuestionSide(base, asked.questions, self.tuning.layers)
            index = stack.enter_context(Index.open(settings=self.settings, encoder=side.encoder))
            work.begin(self._about(base, index), resume=resume)
            report = self._tuned(_Learner(self, asked, base, side, index, work), began, anyway)
            work.done()
        return report

    def _about(self, base: ModelFolder, index: Index) -> dict[str, Any]:
        """What must not change between the beginning and a `--resume`."""
        statistics = index.engine.statistics()
        return {
            "questions": [digest(path) for path in self.files],
            "model": base.tuned or base.fingerprint,
            "index": f"state {statistics.snapshot} of {statistics.passages} passages",
            "settings": asdict(self.tuning),
            "search": _search_of(self.settings),
        }

    def _tuned(self, learner: _Learner, began: float, anyway: bool) -> TuningReport:
        learner.propose()
        answered = learner.cross_validated()
        report = learner.report(answered, time.monotonic() - began)
        if report.judgement.verdict != "gain" and not anyway:
            return report
        written = learner.write(report)
        return learner.report(answered, time.monotonic() - began, written)


def _search_of(settings: Settings) -> str:
    """What the proposals depend on."""
    names = ("strategy", "sparse_candidates", "dense_candidates", "lex_weight", "first_stage_lex_weight")
    return hashlib.sha256(repr([getattr(settings, name) for name in names]).encode()).hexdigest()[:12]


class QuestionSide:
    """The question side of a model, ready to learn, with all questions as its frozen layers leave them."""

    def __init__(self, base: ModelFolder, questions: Sequence[OpenQuestion], layers: int) -> None:
        model = SparcModel.question_side(base.path)
        self.network = model.network
        train_question_side(self.network, layers)
        self._first = {name: value.detach().clone() for name, value in trainable(self.network).items()}
        outputs: Callable[..., Any] = lambda ids, mask: self.asked.outputs(ids, mask)  # noqa: E731
        self.encoder = NetworkEncoder(
            model.config, model.pieces, outputs, outputs, base.fingerprint, card=dict(base.card)
        )
        self.texts = self.encoder.question_pieces([question.text for question in questions])
        self.asked = AskedStates(self.network, self.texts, model.pieces, layers)

    def begin_again(self) -> None:
        """Forget what was learned."""
        copy_into(self.network, self._first)


@dataclass(slots=True)
class _Learner:
    """The work in its order: `propose`, `cross_validated`, `report`, `write`."""

    plan: Tuning
    read: TuningQuestions
    base: ModelFolder
    side: QuestionSide
    index: Index
    work: Work
    pools: list[PoolTensors | None] = field(default_factory=list)
    teaching: list[int] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    before: list[Answered] = field(default_factory=list)

    def propose(self) -> None:
        """Take the phrases from the index, and ask everything once before anything is learned."""
        questions = self.read.questions
        without: list[OpenQuestion] = []
        with self.plan.watcher.counting("looking for the answers", len(questions)) as tell:
            for row, pool in enumerate(self._pools()):
                self._take(row, pool)
                if pool is None or not pool.right.any():
                    without.append(questions[row])
                tell()
                self._look_whether_stopped()
        self.absent = nowhere(self.index, without)
        if len(self.teaching) < FEWEST_TO_LEARN:
            raise UsageError(
                f"only {len(self.teaching)} of {len(questions)} questions can be learned from: the answers of "
                f"{len(self.absent)} stand nowhere in the index, those of {len(without) - len(self.absent)} not in "
                f"what it proposes",
                f"give {FEWEST_TO_LEARN} or more whose answers stand in the documents, word for word",
            )
        self.before = ask_all(self.index, questions)

    def _pools(self) -> Iterator[Pool | None]:
        pieces = [text.ids for text in self.side.texts]
        window = self.side.network.config.question_window
        return propose(self.index, self.read.questions, pieces, passages=self.plan.tuning.passages, window=window)

    def _take(self, row: int, pool: Pool | None) -> None:
        can_teach = pool is not None and pool.can_teach
        self.pools.append(PoolTensors.of(pool) if pool is not None and can_teach else None)
        if can_teach:
            self.teaching.append(row)

    def cross_validated(self) -> list[list[tuple[int, Answered]]]:
        """For each fold its questions, answered by a model that has learned from the other folds alone."""
        folds = folds_of(self.read.questions, self.plan.tuning.folds, self.plan.tuning.seed)
        found = []
        for number, fold in enumerate(folds, 1):
            answered = self.work.fold(number)
            if answered is None:
                self._learn(f"fold {number} of {len(folds)}", set(self.teaching) - set(fold))
                answered = ask_all(self.index, [self.read.questions[row] for row in fold])
                self.work.keep_fold(number, answered)
            found.append(list(zip(fold, answered, strict=True)))
        return found

    def _learn(self, name: str, rows: set[int]) -> None:
        self.side.begin_again()
        checkpoint = self.work.checkpoint(name)
        learning = Learning(self.side.asked, self.pools, sorted(rows), self.plan.tuning, checkpoint)
        with self.plan.watcher.counting(name, learning.steps) as tell:
            finished = learning.run(lambda step, loss: tell(), self.plan.stop)
        if not finished:
            self._interrupted()

    def _look_whether_stopped(self) -> None:
        if self.plan.stop():
            self._interrupted()

    def _interrupted(self) -> None:
        raise Interrupted("stopped; nothing was written", "the same command with --resume goes on")

    def report(
        self, folds: Sequence[Sequence[tuple[int, Answered]]], seconds: float, written: Path | None = None
    ) -> TuningReport:
        """What was found. Questions whose answers stand nowhere count for the confidence alone."""
        after = {row: one for fold in folds for row, one in fold}
        questions = self.read.questions
        asked = [row for row, question in enumerate(questions) if question.id not in self.absent]
        return TuningReport(
            self.read,
            len(self.teaching),
            tuple(question.text for question in questions if question.id in self.absent),
            len(asked) - len(self.teaching),
            judged([self.before[row].row for row in asked], [after[row].row for row in asked]),
            recalibrated(
                [[one.seen for _, one in fold if one.seen] for fold in folds],
                [one.seen for one in self.before if one.seen],
                from_card(self.base.card),
            ),
            seconds,
            written,
        )

    def write(self, report: TuningReport) -> Path:
        """Learn from all questions, and write the model."""
        self._learn("all questions", set(self.teaching))
        record = report.record()
        about = {name: record[name] for name in ("questions", "learned_from", "cross_validation")}
        about |= {"settings": asdict(self.plan.tuning), "date": time.strftime("%Y-%m-%d")}
        card: dict[str, Any] = {"tuning": about}
        if report.confidence:
            card["confidence"] = report.confidence.calibration.as_card()
        with torch.no_grad():
            return write_tuned(self.base, self.side.network, self.plan.out, card).path
