"""`sparc-search evaluate teach`: what a reader thinks of every training question, for `train --teacher`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparc_search.errors import UsageError

from .options import PATH, json_option, option
from .terminal import progress, result, result_json
from .train import weighed_files


@click.command()
@click.argument("reader", type=PATH)
@click.argument("data", nargs=-1, required=True, type=PATH)
@click.option("--out", required=True, type=PATH, help="The teacher file.")
@option("--keep", default=8, type=click.IntRange(1, 64), help="Likeliest starts and ends of a question that are kept.")
@option(
    "--share",
    default=1.0,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of the questions that the reader is asked; the others are trained on by their answers alone.",
)
@click.option("--threads", default=0, help="Processor threads; 0 lets onnxruntime choose.")
@json_option
def teach(
    reader: Path, data: tuple[Path, ...], out: Path, keep: int, share: float, threads: int, as_json: bool
) -> None:
    """Write down where a reader seeks the answers.

    READER is a folder that `train-reader` wrote, DATA are files in SQuAD's format. `sparc-search train --teacher`
    then trains a model on the same files by what the reader thinks, beside the right answers.
    """
    from sparc_search.cross_encoder.data import asked_in
    from sparc_search.cross_encoder.files import TOKENIZER
    from sparc_search.cross_encoder.reading import open_cross_encoder
    from sparc_search.cross_encoder.teaching import opinions, share_of
    from sparc_search.training.report import data_record
    from sparc_search.training.teacher import write_teacher

    network = open_cross_encoder(reader, threads=threads)
    files = weighed_files(data, ())
    asked = share_of(asked_in(files), share)
    rows: list[Any] = []
    with progress() as bar:
        task = bar.add_task("reading", total=len(asked))
        for some in opinions(network, asked, keep):
            rows += some
            bar.advance(task, len(some))
    if not rows:
        raise UsageError("no question with an answer was found in the data")
    about = {
        "reader": network.card.fingerprint,
        "tokenizer": network.card.sha256[TOKENIZER],
        "data": [{name: file[name] for name in ("file", "sha256")} for file in data_record(files)],
    }
    write_teacher(out, about, *zip(*rows, strict=True))
    record = {**about, "questions": len(rows), "bytes": out.stat().st_size}
    result_json(record) if as_json else result(f"{len(rows):,} questions: sparc-search train --teacher {out}")
