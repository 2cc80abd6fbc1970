"""What the FLOPS term (`train --sparsity`) saves and costs: models that differ in nothing else, side by side.

    python -m tools.bench_sparsity HELD_OUT.json WEIGHT=MODEL_FOLDER...

HELD_OUT is a SQuAD-format file of articles the models were not trained on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from sparc_search.cli.terminal import note, result
from sparc_search.evaluation.closed import read_answerable
from sparc_search.model import encoder_onnx
from tools.bench_blocks import HEADERS, measured
from tools.benchmark_page import table, write_section


def main(arguments: Sequence[str]) -> int:
    """One row for each model."""
    paragraphs = read_answerable(Path(arguments[0]))
    rows = []
    for argument in arguments[1:]:
        weight, _, folder = argument.partition("=")
        note(argument)
        rows.append([weight, *measured(encoder_onnx.open_encoder(folder), paragraphs)])
    asked = sum(len(paragraph.questions) for paragraph in paragraphs)
    body = table(["weight of the FLOPS term", *HEADERS], rows)
    body += f"\n\n{asked:,} held-out questions on {len(paragraphs):,} paragraphs, closed."
    write_section("sparsity", "The FLOPS term", "python -m tools.bench_sparsity HELD_OUT.json WEIGHT=MODEL...", body)
    result(body)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
