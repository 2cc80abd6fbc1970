"""Ways to run the same model on a CPU, side by side: accuracy, size, speed, and whether neighbours change a result.

    python -m tools.bench_encoders MODEL_FOLDER HELD_OUT.json [PARAGRAPHS]

HELD_OUT is a SQuAD-format file of articles the model was not trained on.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from sparc_search.cli.terminal import note, result
from sparc_search.evaluation.closed import evaluate_closed, read_answerable, summarise
from sparc_search.model import encoder_onnx, encoder_torch
from sparc_search.model.encoding import NetworkEncoder
from sparc_search.model.export import export
from sparc_search.model.files import RANGES, STATIC
from sparc_search.model.onnx_precision import PRECISIONS
from sparc_search.records import Passage
from sparc_search.squad import SquadParagraph
from tools.benchmark_page import table, write_section

NAMES = {
    "fp32": "onnx, fp32",
    "weights16": "onnx, weights stored as fp16",
    "weights8": "onnx, weights stored as int8",
    "mixed": "onnx, stored as int8, questions computed in it",
    "int8": "onnx, computed in int8, a scale for each text",
    STATIC: "onnx, computed in int8, scales learned in training",
}


def main(arguments: Sequence[str]) -> int:
    """Measure torch and every ONNX precision."""
    model, held_out = Path(arguments[0]), Path(arguments[1])
    paragraphs = read_answerable(held_out, int(arguments[2]) if len(arguments) > 2 else 0)
    rows = [measured("torch, fp32", encoder_torch.open_encoder(str(model), device="cpu"), paragraphs, None)]
    for precision in (*PRECISIONS, *([STATIC] if (model / RANGES).is_file() else [])):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "model"
            shutil.copytree(model, folder, ignore=shutil.ignore_patterns("checkpoint*"))
            size = export(folder, precision).stat().st_size
            encoder = encoder_onnx.open_encoder(str(folder))
            rows.append(measured(NAMES[precision], encoder, paragraphs, size))
    headers = ["encoder", "file MB", "EM", "F1", "tokens/s in bulk", "ms for one question", "change by neighbours"]
    body = table(headers, rows) + f"\n\n{sum(len(p.questions) for p in paragraphs):,} held-out questions, closed."
    write_section("encoders", "Encoders", "python -m tools.bench_encoders MODEL HELD_OUT.json", body)
    result(body)
    return 0


def measured(name: str, encoder: NetworkEncoder, paragraphs: Sequence[SquadParagraph], size: int | None) -> list[Any]:
    """One row of the table."""
    note(name)
    rows = [row for some in evaluate_closed(encoder, paragraphs, ["all parts"]) for row in some]
    scores = summarise(rows).scores["all parts"]
    passages = [Passage(str(n), "", 0, paragraph.text) for n, paragraph in enumerate(paragraphs[:64])]
    tokens = sum(len(encoder.token_offsets(passage.text)) for passage in passages)
    bulk = tokens / best_time(lambda: encoder.encode_passages(passages), 2)
    questions = [paragraph.questions[0].text for paragraph in paragraphs[:40]]
    one = median(best_time(lambda q=q: encoder.encode_questions([q]), 2) for q in questions)  # type: ignore[misc]
    return [
        name,
        f"{size / 1e6:.1f}" if size else "-",
        f"{scores['exact_match']:.2f}",
        f"{scores['f1']:.2f}",
        f"{bulk:,.0f}",
        f"{1000 * one:.1f}",
        f"{neighbour_change(encoder, questions):.0e}",
    ]


def best_time(action: Callable[[], object], runs: int) -> float:
    """The shortest of some runs: what the machine can do when nobody disturbs it."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def neighbour_change(encoder: NetworkEncoder, questions: Sequence[str]) -> float:
    """Largest relative change of a question's start vector between alone and in a batch."""
    together = encoder.encode_questions(questions)
    alone = [encoder.encode_questions([question])[0] for question in questions]
    pairs = zip(together, alone, strict=True)
    return max(float(np.abs(a.start_vector - b.start_vector).max() / np.abs(b.start_vector).max()) for a, b in pairs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
