"""The measurements behind the paper's tables: indexes, closed and open runs, baselines; each made once and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..cross_encoder.files import read_card
from ..cross_encoder.reading import open_cross_encoder
from ..encoder import Encoder
from ..index import Index
from ..opening import open_encoder
from ..settings import Settings
from ..squad import SquadParagraph
from .baseline import baseline
from .bm25 import Bm25
from .closed import ClosedRow, collected, evaluate_closed, read_answerable, read_closed, summarise
from .corpus import bring_up_to_date, passages_of
from .measurements import KeptMeasurements, OpenRun, open_runs
from .measuring import run_over, share_answerable
from .provenance import digest, provenance
from .questions import OpenQuestion, drawn, read_questions
from .switched_off import SwitchedOff
from .watching import QUIET, Watcher

Report = dict[str, Any]


READS = ("never", "auto", "5", "10", "20")
"""How the shipped model reads again."""
MANY, MANY_ASKED = 100, 200
"""Passages that retrieve and read takes the second time, and for how many questions."""


@dataclass(frozen=True, slots=True)
class PaperPlan:
    """What there is to measure with; whatever is not given is not measured."""

    squad: Path
    corpus: tuple[Path, ...]
    work: Path
    """Folder for indexes and what was measured."""
    trec: Path | None
    ready: Path | None
    """An index of the corpus by the model of the settings that is there already."""
    pair_model: Path | None
    dense_only_model: Path | None
    trigram_model: Path | None
    reader: Path | None
    read: int
    """Passages the reader reads for a question."""
    reader_sample: int
    every: int
    sample: int
    seed: int


class PaperRuns:
    """All measurements of one plan."""

    def __init__(self, settings: Settings, plan: PaperPlan, command: str, watcher: Watcher = QUIET) -> None:
        self.settings, self.plan, self.command, self.watcher = settings, plan, command, watcher
        self.kept = KeptMeasurements(plan.work / "runs")
        self.encoders: dict[str, Encoder] = {}
        given = {
            "shipped": settings.model,
            "pair": plan.pair_model,
            "dense-only": plan.dense_only_model,
            "trigram": plan.trigram_model,
        }
        self.models = {name: str(model) for name, model in given.items() if model}

    # --- what there is ---------------------------------------------------------------------------------------------

    @cached_property
    def questions(self) -> dict[str, list[OpenQuestion]]:
        """The questions of each kind that were given."""
        plan = self.plan
        by_kind = {"squad": read_questions(plan.squad, plan.every, sample=plan.sample, seed=plan.seed)}
        if plan.trec:
            by_kind["trec"] = read_questions(plan.trec, sample=plan.sample, seed=plan.seed)
        return by_kind

    @cached_property
    def paragraphs(self) -> list[SquadParagraph]:
        """The paragraphs of the closed runs."""
        return read_answerable(self.plan.squad, self.plan.sample, self.plan.seed)

    def encoder(self, model: str) -> Encoder:
        """The encoder of a model, opened once."""
        if model not in self.encoders:
            self.encoders[model] = open_encoder(replace(self.settings, model=self.models[model]))
        return self.encoders[model]

    @cached_property
    def indexes(self) -> dict[str, Path]:
        """An up-to-date index of the corpus for each model."""
        corpus = self.plan.corpus
        named = hashlib.sha256("\n".join(str(path.resolve()) for path in corpus).encode()).hexdigest()[:8]
        folders = {"shipped": self.plan.ready} if self.plan.ready else {}
        for model in [model for model in self.models if model not in folders]:
            folders[model] = self.plan.work / f"index-{self.encoder(model).fingerprint}-{named}"
            bring_up_to_date(self.settings, self.encoder(model), folders[model], corpus, self.watcher)
        return folders

    def index(self, model: str, without: tuple[str, ...] = (), strategy: str = "hybrid") -> Index:
        """The index of a model, some parts of its questions switched off."""
        encoder = self.encoder(model)
        variant = SwitchedOff(encoder, without) if without else encoder
        settings = replace(self.settings, index=self.indexes[model], model=self.models[model], strategy=strategy)
        return Index.open(settings=settings, encoder=variant)

    @cached_property
    def bm25(self) -> Bm25:
        """BM25 over the passages of the shipped model's index."""
        self.watcher.note("indexing the passages for BM25 ...")
        with self.index("shipped") as index:
            return Bm25(passages_of(index.engine))

    def passages(self, model: str) -> int:
        """How many passages the index of a model holds."""
        with self.index(model) as index:
            return index.engine.statistics().passages

    # --- what is measured ------------------------------------------------------------------------------------------

    def measure_all(self) -> dict[str, Report]:
        """Everything, by name."""
        measured = {f"closed/{model}": self.closed(model) for model in self.models}
        for run in open_runs(list(self.models), list(self.questions)):
            measured[run.name] = self.open(run)
        for name in self.questions:
            measured[f"{name}/answerable"] = self.answerable(name)
        for name in self.questions:
            measured[f"{name}/bm25"] = self.baseline(name, None)
        if self.plan.reader:
            measured["closed/reader"] = self.closed_reader(self.plan.reader)
            for name in self.questions:
                measured[f"{name}/reader"] = self.baseline(name, self.plan.reader)
                measured[f"{name}/reader/{MANY}"] = self.baseline(name, self.plan.reader, MANY)
                for read in READS:
                    measured[f"{name}/read/{read}"] = self.read_again(name, read, self.plan.reader)
        return measured

    def get(self, name: str, key: dict[str, Any], measure: Callable[[], Report]) -> Report:
        """A kept measurement, or a new one."""
        plan = self.plan
        data = plan.trec if plan.trec and name.startswith("trec/") else plan.squad
        chosen = {"every": plan.every, "sample": plan.sample, "seed": plan.seed}

        def made() -> Report:
            self.watcher.note(f"measuring {name} ...")
            return {**provenance(self.command, data), **measure()}

        return self.kept.get(name, {"data": digest(data), **chosen, **key}, made)

    def open(self, run: OpenRun) -> Report:
        """One open run."""
        asked = self.questions[run.questions]
        facts = {
            "model": self.encoder(run.model).fingerprint,
            "passages": self.passages(run.model),
            "strategy": run.strategy,
            "without": list(run.without),
        }

        def measure() -> Report:
            with self.index(run.model, run.without, run.strategy) as index:
                done = run_over(index, asked, run.name, self.watcher)
            return {"system": run.model, **done.report(), **facts, "rows": done.saved_rows()}

        weights = {name: getattr(self.settings, name) for name in ("lex_weight", "first_stage_lex_weight")}
        return self.get(run.name, {**facts, **weights}, measure)

    def answerable(self, name: str) -> Report:
        """The share of questions whose answer stands in the corpus at all."""

        def measure() -> Report:
            with self.index("shipped") as index:
                return {"answerable": share_answerable(index, self.questions[name]), "rows": []}

        return self.get(f"{name}/answerable", {"passages": self.passages("shipped")}, measure)

    def closed(self, model: str) -> Report:
        """A closed run."""
        variants = ["all parts", "without sparc"] if model == "shipped" else ["all parts"]
        encoder = self.encoder(model)

        def measure() -> Report:
            return self.closed_report(evaluate_closed(encoder, self.paragraphs, variants), len(self.paragraphs))

        return self.get(f"closed/{model}", {"model": encoder.fingerprint}, measure)

    def closed_reader(self, folder: Path) -> Report:
        """The reader on the questions' own paragraphs; a sample, because it reads each question anew."""
        reader = open_cross_encoder(folder, threads=self.settings.threads)
        some = drawn(self.paragraphs, self.plan.reader_sample, self.plan.seed)
        return self.get(
            "closed/reader",
            {"model": reader.card.fingerprint, "paragraphs": len(some)},
            lambda: self.closed_report(read_closed(reader, some), len(some)),
        )

    def closed_report(self, rows: Iterator[list[ClosedRow]], paragraphs: int) -> Report:
        """Rows of all paragraphs, and their means."""
        every = collected(rows, paragraphs, self.watcher)
        return {**asdict(summarise(every)), "rows": [asdict(row) for row in every]}

    def read_again(self, name: str, read: str, reader: Path) -> Report:
        """The shipped model, its best passages read again; the questions of the reader."""
        asked = drawn(self.questions[name], self.plan.reader_sample, self.plan.seed)
        fingerprint = read_card(reader).fingerprint
        facts = {"model": self.encoder("shipped").fingerprint, "passages": self.passages("shipped"), "read": read}

        def measure() -> Report:
            with self.index("shipped") as index:
                index.settings = index.settings.changed(read=read, read_with=str(reader))
                done = run_over(index, asked, f"{name}/read/{read}", self.watcher)
            return {"system": "shipped", **done.report(), **facts, "rows": done.saved_rows()}

        return self.get(f"{name}/read/{read}", {**facts, "reader": fingerprint, "asked": len(asked)}, measure)

    def baseline(self, name: str, reader: Path | None, many: int = 0) -> Report:
        """BM25 over the passages of the shipped model's index; with a reader, retrieve and read, of a sample.

        With `many`, so many passages are read, for fewer questions.
        """
        asked = self.questions[name]
        if reader:
            most = min(self.plan.reader_sample or MANY_ASKED, MANY_ASKED) if many else self.plan.reader_sample
            asked = drawn(asked, most, self.plan.seed)
        system = baseline(self.bm25, reader, many or self.plan.read, threads=self.settings.threads)
        read = (many or self.plan.read) if reader else 0
        key = {"model": system.model, "passages": system.passages, "read": read, "asked": len(asked)}

        def measure() -> Report:
            run = system.run(asked, self.watcher)
            return {**run.report(), **system.about(), "rows": run.saved_rows()}

        return self.get(f"{name}/{'reader' if reader else 'bm25'}{f'/{many}' if many else ''}", key, measure)

    # --- what is said of it ----------------------------------------------------------------------------------------

    def about(self, measured: dict[str, Report]) -> dict[str, str]:
        """The facts below the tables."""
        corpus = ", ".join(path.name for path in self.plan.corpus)
        facts = {
            "corpus": f"{corpus} ({self.passages('shipped'):,} passages)",
            "models": ", ".join(f"{name} {self.encoder(name).fingerprint}" for name in self.models),
            "closed": f"{measured['closed/shipped']['questions']:,} questions of {self.plan.squad.name}",
        }
        if "closed/reader" in measured:
            facts["closed, reader"] = f"{measured['closed/reader']['questions']:,} of them"
        for name, asked in self.questions.items():
            run = measured[f"{name}/shipped/hybrid"]
            share = measured[f"{name}/answerable"]["answerable"]
            whose = f"{run['data']} ({run['data_sha256']})"
            facts[name] = f"{len(asked):,} questions of {whose}; the answer of {share:.1f} % stands in the corpus"
            if f"{name}/reader" in measured:
                reader = measured[f"{name}/reader"]
                kind, read, training = (reader["reader"][fact] for fact in ("body", "read", "training"))
                trained = f"begun from {training.get('base')}, trained on {training.get('questions'):,} questions"
                facts[f"{name}, reader"] = f"{reader['questions']:,} of them; {kind}, {trained}, reads {read} passages"
        return facts
