"""`sparc-search evaluate open`: answers sought in a whole index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.settings import Settings

from .evaluate_output import OnTerminal, page_option, print_open, save_option, shown_command, write_benchmarks
from .options import PATH, Decorator, Function, json_option, option, settings_options
from .terminal import note, result_json, sanitise

if TYPE_CHECKING:
    from sparc_search.encoder import Encoder
    from sparc_search.evaluation.measuring import MeasuredRun
    from sparc_search.evaluation.questions import OpenQuestion

_QUESTION_OPTIONS = (
    option("--every", default=1, type=click.IntRange(1), help="Ask every n-th question."),
    click.option(
        "--sample", default=0, type=click.IntRange(0), help="Ask so many of these, drawn by chance; 0 asks all."
    ),
    option("--seed", default=0, help="Decides what chance decides."),
    click.option("--regex", is_flag=True, help="The answers in the file are regular expressions."),
)
_OUTPUT_OPTIONS = (
    save_option,
    click.option("--rows", type=PATH, help="Write a JSON line for each question."),
    click.option("--trec-run", type=PATH, help="Write the passages as a TREC run file."),
    click.option("--trec-qrels", type=PATH, help="Write which of them hold an answer."),
    click.option(
        "--wrong",
        type=(click.IntRange(1), click.Path(path_type=Path)),
        metavar="N FILE",
        help="Write N wrong answers, sorted by a guess at the cause (.tsv, else Markdown).",
    ),
    page_option,
)


def question_options(function: Function) -> Function:
    """Which questions of the file are asked."""
    return _decorated(function, _QUESTION_OPTIONS)


def output_options(function: Function) -> Function:
    """What is written of a run."""
    return _decorated(function, _OUTPUT_OPTIONS)


def _decorated(function: Function, options: Sequence[Decorator]) -> Function:
    for add_option in reversed(options):
        function = add_option(function)
    return function


@click.command("open")
@click.argument("questions", type=PATH)
@settings_options(
    "index engine encoder model strategy",
    "sparse_candidates dense_candidates lex_weight first_stage_lex_weight read read_with threads",
)
@question_options
@click.option(
    "--without", multiple=True, type=click.Choice(("sparc", "lex", "dense")), help="Switch a part of the score off."
)
@click.option("--batched", is_flag=True, help="Encode questions together: less time, but not what one user waits.")
@click.option("--answerable", is_flag=True, help="Also count the questions whose answer stands in the index at all.")
@output_options
@json_option
def open_domain(
    settings: Settings, questions: Path, without: tuple[str, ...], batched: bool, answerable: bool, **options: Any
) -> None:
    """Seek each answer in a whole index (open).

    QUESTIONS is a file in SQuAD's format, JSON lines with `question` and `answer` (NQ-open, DPR), CuratedTREC's .tsv
    with regular expressions, or DPR's .tsv. Exact match, F1 and recall in percent, with 95 % intervals (bootstrap
    over paragraphs). Each question is asked alone, so the times are those a user waits.
    """
    from sparc_search.evaluation.measuring import run_over, share_answerable
    from sparc_search.evaluation.switched_off import SwitchedOff
    from sparc_search.index import Index
    from sparc_search.opening import open_encoder

    asked = asked_of(questions, options)
    encoder = open_encoder(settings)
    variant = SwitchedOff(encoder, without) if without else encoder
    with Index.open(settings=settings, encoder=variant) as index:
        about = {
            "system": "sparc-search",
            "passages": index.engine.statistics().passages,
            "model": encoder.tuned or encoder.fingerprint,
            "strategy": settings.strategy,
            "read": settings.read,
            "without": list(without),
            "batched": batched,
        }
        if answerable:
            about["answerable"] = share_answerable(index, asked)
        run = run_over(index, asked, settings.strategy, OnTerminal(), batched=batched)
    if encoder.tuned:
        about["tuning"] = beside_untuned(settings, variant.untuned(), asked, run)
    conclude(run, questions, about, options)


def beside_untuned(settings: Settings, before: Encoder, asked: list[OpenQuestion], run: MeasuredRun) -> dict[str, Any]:
    """The same questions asked of the question side before it was tuned, and the paired difference."""
    from sparc_search.evaluation.measuring import run_over
    from sparc_search.evaluation.significance import compare
    from sparc_search.index import Index

    with Index.open(settings=settings, encoder=before) as index:
        rows = run_over(index, asked, settings.strategy, OnTerminal(), batched=True).saved_rows()
    compared = compare(rows, run.saved_rows())
    em, (low, high) = compared.exact_match, compared.exact_match.interval
    note(f"before tuning EM {em.first:.1f}, after {em.second:.1f}: {em.difference:+.1f} ({low:+.1f} to {high:+.1f})")
    return asdict(compared)


def asked_of(path: Path, options: dict[str, Any]) -> list[OpenQuestion]:
    """The questions that the options choose."""
    from sparc_search.evaluation.questions import read_questions

    chosen = {name: options[name] for name in ("every", "regex", "sample", "seed")}
    return read_questions(path, **chosen)


def conclude(run: MeasuredRun, questions: Path, about: dict[str, Any], options: dict[str, Any]) -> None:
    """Write what was asked for, and show the means."""
    from sparc_search.evaluation.provenance import provenance, write_report
    from sparc_search.evaluation.runs_table import runs_table

    report = {**provenance(shown_command(), questions), **run.report(options["seed"]), **about}
    if options["save"]:
        write_report(options["save"], {**report, "rows": run.saved_rows()})
    write_files(run, options)
    name, title = (
        f"open-{questions.stem}-{report['passages']}",
        f"{questions.name} over {report['passages']:,} passages",
    )
    write_benchmarks(options["page"], name, title, runs_table([report]))
    result_json(report) if options["as_json"] else print_open(report)


def write_files(run: MeasuredRun, options: dict[str, Any]) -> None:
    """Rows, TREC files and the sheet of wrong answers."""
    from sparc_search.evaluation.provenance import write_lines

    if options["rows"]:
        write_lines(options["rows"], [json.dumps(row, ensure_ascii=False) for row in run.saved_rows()])
    if options["trec_run"]:
        write_lines(options["trec_run"], run.trec_run)
    if options["trec_qrels"]:
        write_lines(options["trec_qrels"], run.trec_judgements)
    if options["wrong"]:
        size, path = options["wrong"]
        write_sheet(run, size, path, options["seed"])


def write_sheet(run: MeasuredRun, size: int, path: Path, seed: int) -> None:
    """The sheet of wrong answers; how many of each cause goes to stderr."""
    from sparc_search.evaluation.wrong_answers import as_markdown, as_tsv, counts, sheet

    chosen = sheet(run.wrong, size, seed)
    text = as_tsv(chosen) if path.suffix == ".tsv" else as_markdown(chosen)
    path.write_text(sanitise(text, lines=True), "utf-8")
    shares = ", ".join(f"{cause} {count}" for cause, count in counts(chosen).items())
    note(f"{len(chosen)} of {len(run.wrong)} wrong answers are in {path}: {shares or 'none'}")
