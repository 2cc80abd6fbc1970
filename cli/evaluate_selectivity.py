"""`sparc-search evaluate selectivity`: does the right phrase pay more for the question's n-grams than others?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from sparc_search.settings import Settings

from .evaluate_output import OnTerminal, page_option, save_option, shown_command, write_benchmarks
from .options import PATH, json_option, option, settings_options
from .terminal import print_table, result_json

_HEADERS = ("questions", "right phrase", "others", "ratio", "first", "filtered out")


@click.command()
@click.argument("data", type=PATH)
@settings_options("encoder", "model", "threads")
@click.option("--sample", default=0, type=click.IntRange(0), help="Paragraphs drawn by chance; 0 takes all.")
@option("--seed", default=0, help="Decides which.")
@click.option("--examples", default=0, type=click.IntRange(0), help="Also show the n-grams of so many questions.")
@save_option
@page_option
@json_option
def selectivity(
    settings: Settings,
    data: Path,
    sample: int,
    seed: int,
    examples: int,
    save: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Measure how selective SPARC is.

    DATA is a file in SQuAD's format. For each question the sparse score of the right phrase is put beside the mean of
    the other kept phrases of the same paragraph. A ratio of 1 is what tf-idf has.
    """
    from sparc_search.evaluation.closed import collected, read_answerable
    from sparc_search.evaluation.markdown import table
    from sparc_search.evaluation.provenance import provenance, write_report
    from sparc_search.evaluation.selectivity import example, selectivity_rows, summarised
    from sparc_search.opening import open_encoder

    paragraphs = read_answerable(data, sample, seed)
    encoder = open_encoder(settings)
    rows = collected(selectivity_rows(encoder, paragraphs), len(paragraphs), OnTerminal())
    found = asdict(summarised(rows))
    shown = [
        {"question": asked.text, "answer": asked.answers[0], "ngrams": example(encoder, asked, paragraph)}
        for paragraph in paragraphs[:examples]
        for asked in paragraph.questions[:1]
    ]
    about: dict[str, Any] = {**provenance(shown_command(), data), "model": encoder.fingerprint, **found}
    if save:
        write_report(save, {**about, "rows": [asdict(row) for row in rows if row], "examples": shown})
    if page:
        text = [f"Model {about['model']}, {data.name}.\n\n{table(_HEADERS, [_cells(found)])}", *map(_example, shown)]
        write_benchmarks(page, f"selectivity-{data.stem}", "Selectivity", "\n\n".join(text))
    result_json({**about, "examples": shown}) if as_json else print_table(_HEADERS, [_cells(found)])


def _cells(found: dict[str, Any]) -> tuple[str, ...]:
    numbers = (f"{found['gold']:.2f}", f"{found['others']:.2f}", f"{found['ratio']:.2f}", f"{found['first']:.1f} %")
    return (f"{found['questions']:,}", *numbers, f"{found['filtered']:,}")


def _example(shown: dict[str, Any]) -> str:
    from sparc_search.evaluation.markdown import table

    rows = [(name, f"{gold:.2f}", f"{others:.2f}") for name, gold, others in shown["ngrams"][:8]]
    return f"**{shown['question']}** {shown['answer']}\n\n{table(('n-gram', 'right phrase', 'others'), rows)}"
