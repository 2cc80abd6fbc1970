"""Measure `sparc-search tune`: cross-validated with so many questions, or tuned with one file and asked another.

`python -m tools.bench_tuning NAME --index DIR --questions FILE --sizes 50,100,200` cross-validates;
with `--ask FILE` the tuned model is written and asked these questions beside the model before, on the served path.
FILE `documentation` is the build half of examples/documentation-questions, as far as its answers are texts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sparc_search.cli.evaluate_output import OnTerminal
from sparc_search.cli.terminal import note, result
from sparc_search.evaluation.questions import OpenQuestion, drawn, read_questions
from sparc_search.evaluation.significance import MeasureDifference
from sparc_search.index import Index
from sparc_search.settings import Settings
from sparc_search.tuning.judging import Judgement, ask_all, judged
from sparc_search.tuning.learning import TuningSettings
from sparc_search.tuning.run import Tuning
from tools.benchmark_page import table, write_section
from tools.documentation_questions.records import questions as documentation

HEADERS = ("questions", "learned from", "asked", "EM@1 before", "after", "difference (95 %)",
           "EM@5 before", "after", "difference (95 %)", "verdict", "calibration error", "seconds")  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Measure and write the raw file."""
    chosen = _parser().parse_args(arguments)
    settings = Settings().changed(index=chosen.index, threads=chosen.threads)
    tuning = TuningSettings(**{name: getattr(chosen, name) for name in ("layers", "epochs", "rate", "head_rate")})
    every = list(_questions(chosen.questions))
    rows = []
    for size in chosen.sizes.split(","):
        asked = drawn(every, int(size), chosen.seed)
        with tempfile.TemporaryDirectory() as scratch:
            row = _measured(asked, settings, tuning, Path(scratch), chosen.ask)
        note(" | ".join(row))
        rows.append(row)
    with Index.open(settings=settings) as index:
        facts = index.stats()
    about = f"Index: {facts['passages']:,} passages, model `{facts['encoder']}`. {json.dumps(asdict(tuning))}"
    words = f"python -m tools.bench_tuning {chosen.name} --questions {Path(chosen.questions).name}"
    words += f" --sizes {chosen.sizes} --seed {chosen.seed}" + (f" --ask {chosen.ask.name}" if chosen.ask else "")
    body = f"{about}\n\n{table(HEADERS, rows)}"
    write_section(f"tuning-{chosen.name}", f"Tuning: {chosen.name}", words, body)
    result(body)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_tuning", description=__doc__)
    parser.add_argument("name", help="of the raw file")
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--questions", required=True, help="a file that `tune` reads, or `documentation`")
    parser.add_argument("--sizes", default="50,100,200", help="questions drawn by chance, with commas; 0 takes all")
    parser.add_argument("--ask", type=Path, help="other questions, asked of the tuned model")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    for name, value in asdict(TuningSettings()).items():
        if name in ("layers", "epochs", "rate", "head_rate"):
            parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser


def _questions(name: str) -> Iterator[OpenQuestion]:
    if name != "documentation":
        yield from read_questions(Path(name))
        return
    for one in documentation("build"):
        texts = [form if isinstance(form, str) else form.get("cased") for form in one.answers]
        if answers := tuple(text for text in texts if text):
            yield OpenQuestion(one.id, one.question, answers, source=one.places[0].file)


def _measured(
    asked: Sequence[OpenQuestion], settings: Settings, tuning: TuningSettings, scratch: Path, other: Path | None
) -> tuple[str, ...]:
    import torch

    torch.set_num_threads(settings.threads)
    file, out = scratch / "questions.json", scratch / "tuned"
    file.write_text(json.dumps([_line(question) for question in asked]), "utf-8")
    report = Tuning(settings, [file], out, tuning, OnTerminal()).run(anyway=other is not None)
    judgement = report.judgement
    if other:
        judgement = _on_others(settings, out, read_questions(other))
    sure = report.confidence
    error = f"{sure.error_before} → {sure.error}" if sure else "-"
    counts = (f"{len(asked):,}", f"{report.learned_from:,}", f"{judgement.questions:,}")
    return (*counts, *_cells(judgement), error, f"{report.seconds:.0f}")


def _line(question: OpenQuestion) -> dict[str, Any]:
    return {"id": question.id, "question": question.text, "answers": question.answers, "source": question.source}


def _on_others(settings: Settings, out: Path, asked: Sequence[OpenQuestion]) -> Judgement:
    """Both models on the served path, asked what neither has learned from."""
    rows = []
    for model in (settings.model, str(out)):
        with Index.open(settings=replace(settings, model=model)) as index:
            rows.append([one.row for one in ask_all(index, asked)])
    return judged(*rows)


def _cells(judgement: Judgement) -> tuple[str, ...]:
    return (*_measure(judgement.first), *_measure(judgement.among), judgement.verdict)


def _measure(found: MeasureDifference) -> tuple[str, str, str]:
    low, high = found.interval
    return f"{found.first:.1f}", f"{found.second:.1f}", f"{found.difference:+.1f} ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
