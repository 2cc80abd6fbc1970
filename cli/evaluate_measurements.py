"""The measurements behind `sparc-search evaluate tables`: indexes, closed and open runs, the reader's runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparc_search.settings import Settings

from .evaluate_baseline import indexed, not_answered, run_system, system
from .evaluate_corpus import bring_up_to_date
from .evaluate_open import replies_of, run_with_bar, share_answerable
from .evaluate_output import shown_command
from .terminal import note, progress

if TYPE_CHECKING:
    from sparc_search.encoder import Encoder
    from sparc_search.evaluation.closed import ClosedRow
    from sparc_search.evaluation.measurements import OpenRun
    from sparc_search.evaluation.questions import OpenQuestion
    from sparc_search.index import Index
    from sparc_search.squad import SquadParagraph

Report = dict[str, Any]


class Tables:
    """All measurements of one call, each made once and kept."""

    def __init__(self, settings: Settings, options: dict[str, Any]) -> None:
        from sparc_search.evaluation.measurements import Kept

        self.settings, self.options = settings, options
        self.work: Path = options["work"]
        self.kept = Kept(self.work / "runs")
        self.encoders: dict[str, Encoder] = {}
        self.command = shown_command()

    # --- what there is ---------------------------------------------------------------------------------------------

    @cached_property
    def models(self) -> dict[str, str]:
        """The models that were given, by the name of their part."""
        given = {
            "shipped": self.settings.model,
            "pair": self.options["pair_model"],
            "dense-only": self.options["dense_only_model"],
            "trigram": self.options["trigram_model"],
        }
        return {name: str(model) for name, model in given.items() if model}

    @cached_property
    def questions(self) -> dict[str, list[OpenQuestion]]:
        """The questions of each kind that were given."""
        from sparc_search.evaluation.questions import read_questions

        sample, seed = self.options["sample"], self.options["seed"]
        found = {"squad": read_questions(self.options["squad"], self.options["every"], sample=sample, seed=seed)}
        if self.options["trec"]:
            found["trec"] = read_questions(self.options["trec"], sample=sample, seed=seed)
        return found

    @cached_property
    def paragraphs(self) -> list[SquadParagraph]:
        """The paragraphs of the closed runs."""
        from sparc_search.evaluation.closed import read_answerable

        return read_answerable(self.options["squad"], self.options["sample"], self.options["seed"])

    def encoder(self, model: str) -> Encoder:
        """The encoder of a model, opened once."""
        from sparc_search.opening import open_encoder

        if model not in self.encoders:
            self.encoders[model] = open_encoder(replace(self.settings, model=self.models[model]))
        return self.encoders[model]

    @cached_property
    def indexes(self) -> dict[str, Path]:
        """An up-to-date index of the corpus for each model."""
        corpus = self.options["corpus"]
        named = hashlib.sha256("\n".join(str(path.resolve()) for path in corpus).encode()).hexdigest()[:8]
        found = {}
        for model in self.models:
            if model == "shipped" and self.options["ready"]:
                found[model] = self.options["ready"]
                continue
            found[model] = self.work / f"index-{self.encoder(model).fingerprint}-{named}"
            bring_up_to_date(self.settings, self.encoder(model), found[model], corpus)
        return found

    @contextmanager
    def index(self, model: str, without: tuple[str, ...] = (), strategy: str = "hybrid") -> Iterator[Index]:
        """The index of a model, some parts of its questions switched off."""
        from sparc_search.evaluation.switched_off import SwitchedOff
        from sparc_search.index import Index

        encoder = self.encoder(model)
        variant = SwitchedOff(encoder, without) if without else encoder
        settings = replace(self.settings, index=self.indexes[model], model=self.models[model], strategy=strategy)
        with Index.open(settings=settings, encoder=variant) as index:
            yield index

    # --- what is measured ------------------------------------------------------------------------------------------

    def measure_all(self) -> dict[str, Report]:
        """Everything, by name."""
        from sparc_search.evaluation.measurements import open_runs

        found = {}
        for model in self.models:
            found[f"closed/{model}"] = self.closed(model)
        for run in open_runs(list(self.models), list(self.questions)):
            found[run.name] = self.open(run)
        for name in self.questions:
            found[f"{name}/answerable"] = self.answerable(name)
        for name in self.questions:
            found[f"{name}/bm25"] = self.baseline(name, None)
        if self.options["reader"]:
            found["closed/reader"] = self.closed_reader()
            for name in self.questions:
                found[f"{name}/reader"] = self.baseline(name, self.options["reader"])
        return found

    def get(self, name: str, key: dict[str, Any], measure: Callable[[], Report]) -> Report:
        """A kept measurement, or a new one."""
        from sparc_search.evaluation.provenance import digest, provenance

        data = self.options["trec"] if name.startswith("trec/") else self.options["squad"]
        chosen = {name: self.options[name] for name in ("every", "sample", "seed")}

        def made() -> Report:
            note(f"measuring {name} ...")
            return {**provenance(self.command, data), **measure()}

        return self.kept.get(name, {"data": digest(data), **chosen, **key}, made)

    def passages(self, model: str) -> int:
        """How many passages the index of a model holds."""
        with self.index(model) as index:
            return index.engine.statistics().passages

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
                done = run_with_bar(asked, replies_of(index, asked, batched=False), run.name)
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
        from sparc_search.evaluation.closed import evaluate_closed

        variants = ["all parts", "without sparc"] if model == "shipped" else ["all parts"]

        def measure() -> Report:
            rows = evaluate_closed(self.encoder(model), self.paragraphs, variants)
            return self.closed_report(rows, len(self.paragraphs))

        return self.get(f"closed/{model}", {"model": self.encoder(model).fingerprint}, measure)

    def closed_report(self, rows: Iterator[list[ClosedRow]], paragraphs: int) -> Report:
        """Rows of all paragraphs, and their means."""
        from sparc_search.evaluation.closed import summarise

        found: list[ClosedRow] = []
        with progress() as bar:
            task = bar.add_task("evaluating", total=paragraphs)
            for some in rows:
                found += some
                bar.advance(task)
        return {**asdict(summarise(found)), "rows": [asdict(row) for row in found]}

    def closed_reader(self) -> Report:
        """The reader on the questions' own paragraphs; a sample, because it reads each question anew."""
        from sparc_search.cross_encoder.reading import open_cross_encoder
        from sparc_search.evaluation.closed_reading import read_closed
        from sparc_search.evaluation.questions import drawn

        reader = open_cross_encoder(self.options["reader"], threads=self.settings.threads)
        some = drawn(self.paragraphs, self.options["reader_sample"], self.options["seed"])
        return self.get(
            "closed/reader",
            {"model": reader.card.fingerprint, "paragraphs": len(some)},
            lambda: self.closed_report(read_closed(reader, some), len(some)),
        )

    def baseline(self, name: str, reader: Path | None) -> Report:
        """BM25 over the passages of the shipped model's index; with a reader, retrieve and read, of a sample."""
        from sparc_search.evaluation.questions import drawn

        asked = self.questions[name]
        if reader:
            asked = drawn(asked, self.options["reader_sample"], self.options["seed"])
        ask, about = system(self.bm25, reader, self.options["read"], None, self.settings.threads)
        key = {
            "model": about["model"],
            "passages": about["passages"],
            "read": self.options["read"] if reader else 0,
            "asked": len(asked),
        }

        def measure() -> Report:
            run = run_system(asked, ask, about["system"])
            return {**run.report(), **about, **not_answered(run, about), "rows": run.saved_rows()}

        return self.get(f"{name}/{'reader' if reader else 'bm25'}", key, measure)

    @cached_property
    def bm25(self) -> Any:
        """BM25 over the passages of the shipped model's index."""
        with self.index("shipped") as index:
            return indexed(index.engine)

    # --- what is said of it ----------------------------------------------------------------------------------------

    def about(self, measured: dict[str, Report]) -> dict[str, str]:
        """The facts below the tables."""
        facts = {
            "corpus": ", ".join(path.name for path in self.options["corpus"])
            + f" ({self.passages('shipped'):,} passages)",
            "models": ", ".join(f"{name} {self.encoder(name).fingerprint}" for name in self.models),
            "closed": f"{measured['closed/shipped']['questions']:,} questions of {self.options['squad'].name}",
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
