"""`sparc-search evaluate cost`: what a corpus costs as it grows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import UsageError
from sparc_search.settings import Settings

from .evaluate_corpus import bring_up_to_date, paragraphs_of
from .evaluate_open import replies_of, run_with_bar
from .evaluate_output import in_percent, linked, page_option, shown_command, write_benchmarks, write_lines
from .options import json_option, settings_options
from .terminal import note, result, result_json

if TYPE_CHECKING:
    from sparc_search.encoder import Encoder
    from sparc_search.evaluation.measurements import Kept
    from sparc_search.evaluation.plots import CostPoint
    from sparc_search.evaluation.questions import OpenQuestion

_HEADERS = ("passages", "encoding, s", "tokens/s", "index, MB", "bytes a passage", "p50 ms", "p95 ms", "EM")


@click.command()
@click.option(
    "--squad", required=True, type=click.Path(path_type=Path), help="Questions with their paragraphs (SQuAD)."
)
@click.option(
    "--corpus",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="Paragraphs to grow with. Repeatable.",
)
@click.option("--sizes", default="1000,10000,50000,173000", show_default=True, help="Paragraphs of each corpus.")
@click.option(
    "--questions", default=300, show_default=True, type=click.IntRange(1), help="Questions asked at each size."
)
@click.option("--seed", default=0, show_default=True, help="Decides which.")
@settings_options("engine", "encoder", "model", "strategy", "threads")
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".sparc-search/cost"),
    show_default=True,
    help="Folder for the index and what was measured; a stopped run goes on there.",
)
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the curves (PNG).")
@page_option
@json_option
def cost(settings: Settings, squad: Path, corpus: tuple[Path, ...], sizes: str, **options: Any) -> None:
    """Measure what a corpus costs as it grows: encoding, size, latency, accuracy.

    One index grows through the sizes. The paragraphs of the questions are in the smallest, so the same questions are
    asked at each size; only the distractors become more.
    """
    from sparc_search.evaluation.measurements import Kept
    from sparc_search.evaluation.nested import as_lines, gold_of, nested
    from sparc_search.evaluation.provenance import digest
    from sparc_search.evaluation.questions import read_questions
    from sparc_search.opening import open_encoder

    wanted = sizes_of(sizes)
    asked = read_questions(squad, sample=options["questions"], seed=options["seed"])
    encoder = open_encoder(settings)
    folder: Path = options["work"]
    settings = replace(settings, index=folder / f"index-{encoder.fingerprint}")
    key = {"data": digest(squad), "questions": len(asked), "seed": options["seed"], "sizes": wanted}
    kept = Kept(folder / f"runs-{encoder.fingerprint}")
    points: list[dict[str, Any]] = []
    gold = gold_of(asked, paragraphs_of([squad]))
    for number, part in enumerate(nested(gold, paragraphs_of(corpus), wanted)):
        path = folder / "parts" / f"part-{wanted[number]}.jsonl"
        write_lines(path, list(as_lines(part, f"part-{wanted[number]}")))
        before = points[-1] if points else {}
        step = Step(
            wanted[number], path, {**key, "strategy": settings.strategy, "part": digest(path)}, wanted[number + 1 :]
        )
        points.append(point(kept, step, before, settings, encoder, asked))
        note(f"{points[-1]['passages']:,} passages: EM {points[-1]['exact_match']:.1f}")
    show(points, squad, encoder.fingerprint, options)


def sizes_of(text: str) -> list[int]:
    """Growing numbers."""
    try:
        sizes = [int(size) for size in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--sizes takes numbers such as 1000,10000, not {text!r}") from error
    if sizes != sorted(set(sizes)) or sizes[0] < 1:
        raise UsageError(f"--sizes must grow, and {text!r} does not")
    return sizes


@dataclass(frozen=True, slots=True)
class Step:
    """One size on the way: the file of what it adds, what decides its figures, and the sizes after it."""

    size: int
    path: Path
    key: dict[str, Any]
    larger: list[int]


def point(
    kept: Kept, step: Step, before: dict[str, Any], settings: Settings, encoder: Encoder, asked: list[OpenQuestion]
) -> dict[str, Any]:
    """One size; what was measured before a stop is not measured again."""

    def grow() -> dict[str, Any]:
        summary = bring_up_to_date(settings, encoder, settings.index, [step.path])
        whole = (summary.indexed + summary.unchanged) / max(1, summary.indexed)  # of a part, if it was stopped before
        return {
            "seconds": summary.seconds_by_stage.get("encode", 0.0) * whole,
            "tokens": summary.tokens * whole,
            "rows": [],
        }

    def ask() -> dict[str, Any]:
        from sparc_search.engine import Admin, supports
        from sparc_search.index import Index

        with Index.open(settings=settings, encoder=encoder) as index:
            with index.engine.view() as view:
                larger = view.content_hashes([f"part-{size}-0" for size in step.larger])
            if larger:
                raise UsageError(
                    f"the index in {settings.index} has grown beyond {step.size:,} paragraphs", "name another --work"
                )
            run = run_with_bar(asked, replies_of(index, asked, batched=False), settings.strategy)
            admin = index.engine.admin()
            facts = {
                "passages": index.engine.statistics().passages,
                "index_bytes": admin.size_in_bytes() if supports(admin, Admin.size_in_bytes) else 0,
            }
        return {**run.report(), **facts, "rows": run.saved_rows()}

    grown = kept.get(f"cost/{step.size}/encoding", step.key, grow)
    found = kept.get(f"cost/{step.size}/asking", step.key, ask)
    names = ("passages", "index_bytes", "seconds_p50", "seconds_p95", "exact_match", "f1", "intervals", "questions")
    return {
        "encode_seconds": round(before.get("encode_seconds", 0.0) + grown["seconds"], 1),
        "tokens": round(before.get("tokens", 0) + grown["tokens"]),
        **{name: found[name] for name in names},
    }


def show(points: list[dict[str, Any]], squad: Path, model: str, options: dict[str, Any]) -> None:
    """Table, plot, page."""
    from sparc_search.evaluation.markdown import table
    from sparc_search.evaluation.plots import cost_curves
    from sparc_search.evaluation.provenance import provenance

    about = f"{points[0]['questions']:,} questions of {squad.name}, model {model}."
    body = f"{about}\n\n{table(_HEADERS, [row(one) for one in points])}"
    if options["plot"]:
        picture = cost_curves([as_point(one) for one in points], options["plot"])
        body += f"\n\n![cost against the size of the corpus]({linked(picture, options['page'])})"
    write_benchmarks(options["page"], "cost", "Cost against the size of the corpus", body)
    if options["as_json"]:
        result_json({**provenance(shown_command(), squad), "model": model, "points": points})
    else:
        result(body)


def row(one: dict[str, Any]) -> tuple[str, ...]:
    """One size in the table."""
    return (
        f"{one['passages']:,}",
        f"{one['encode_seconds']:,.0f}",
        f"{one['tokens'] / max(1e-9, one['encode_seconds']):,.0f}",
        f"{one['index_bytes'] / 1e6:,.1f}",
        f"{one['index_bytes'] / max(1, one['passages']):,.0f}",
        f"{1000 * one['seconds_p50']:.1f}",
        f"{1000 * one['seconds_p95']:.1f}",
        in_percent(one["exact_match"], one["intervals"]["exact_match"]),
    )


def as_point(one: dict[str, Any]) -> CostPoint:
    """One size in the plot."""
    from sparc_search.evaluation.plots import CostPoint

    names = [name for name in CostPoint.__slots__ if name != "interval"]
    return CostPoint(**{name: one[name] for name in names}, interval=tuple(one["intervals"]["exact_match"]))
