"""What an index weighs and what is lost by it: filter, pruning and quantisation of one model, side by side.

    python -m tools.bench_blocks MODEL HELD_OUT.json [PARAGRAPHS]

HELD_OUT is a SQuAD-format file of articles the model was not trained on. The network runs once; what follows it is done
anew for each row. Bytes are those of phrase blocks and of 4 bytes for each posting, by word of the passages.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparc_search.cli.terminal import note, result
from sparc_search.evaluation.closed import evaluate_closed, read_answerable, summarise
from sparc_search.model import encoder_onnx
from sparc_search.model.config import SparcConfig
from sparc_search.model.encoding import BatchTokens, Network, NetworkEncoder, Outputs
from sparc_search.records import Passage
from sparc_search.squad import SquadParagraph
from sparc_search.stores.phrase_block import encode
from tools.benchmark_page import table, write_section

EVERYTHING = (-1e9, -1e9)
POSTING_BYTES = 4
HEADERS = ("EM", "F1", "starts kept", "ends kept", "block bytes a word", "postings a word", "bytes a word")


class Remembering:
    """A network that runs once for each text."""

    def __init__(self, network: Network) -> None:
        self._network, self._said = network, dict[bytes, Outputs]()

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Outputs:
        """What was said of this batch before, or what the network says now."""
        key = ids.tobytes()
        if key not in self._said:
            self._said[key] = self._network(ids, mask)
        return self._said[key]


def variants(config: SparcConfig) -> dict[str, SparcConfig]:
    """The ways to store a passage, by name: each row changes one thing of the row before it or of the last but one."""
    exact = replace(config, filter_thresholds=EVERYTHING, prune=0.0, vector_bits=8, weight_levels=255)
    filtered = replace(exact, filter_thresholds=config.filter_thresholds)
    pruned = replace(filtered, prune=0.1)
    return {
        "every token, every weight": exact,
        "filter": filtered,
        "filter, weights below 0.1 of the largest dropped": pruned,
        "the same, below 0.2": replace(pruned, prune=0.2),
        "the same, below 0.3": replace(pruned, prune=0.3),
        "below 0.1, weights in 16 levels": replace(pruned, weight_levels=16),
        "below 0.1, vectors of 4 bits": replace(pruned, vector_bits=4),
        "below 0.1, both": replace(pruned, weight_levels=16, vector_bits=4),
        "below 0.2, both": replace(pruned, weight_levels=16, vector_bits=4, prune=0.2),
        "below 0.3, both": replace(pruned, weight_levels=16, vector_bits=4, prune=0.3),
        "as the model is set": config,
    }


def main(arguments: Sequence[str]) -> int:
    """Measure every way."""
    model, held_out = arguments[0], Path(arguments[1])
    paragraphs = read_answerable(held_out, int(arguments[2]) if len(arguments) > 2 else 0)
    encoder = encoder_onnx.open_encoder(model)
    networks = Remembering(encoder._passage_network), Remembering(encoder._question_network)
    rows = []
    for name, config in variants(encoder.config).items():
        note(name)
        variant = NetworkEncoder(config, encoder.pieces, *networks, encoder.fingerprint, BatchTokens(1, 1))
        rows.append([name, *measured(variant, paragraphs)])
    asked = sum(len(paragraph.questions) for paragraph in paragraphs)
    body = (
        table(["stored", *HEADERS], rows)
        + f"\n\n{asked:,} held-out questions on {len(paragraphs):,} paragraphs, closed."
    )
    write_section("blocks", "Size of the index", "python -m tools.bench_blocks MODEL HELD_OUT.json", body)
    result(body)
    return 0


def measured(encoder: NetworkEncoder, paragraphs: Sequence[SquadParagraph]) -> list[Any]:
    """One row of the table."""
    scores = summarise([row for some in evaluate_closed(encoder, paragraphs, ["all parts"]) for row in some]).scores
    encoded = encoder.encode_passages(
        [Passage(str(n), "", 0, paragraph.text, 0, paragraph.title) for n, paragraph in enumerate(paragraphs)]
    )
    words = sum(len(paragraph.text.split()) for paragraph in paragraphs)
    tokens = sum(len(one.block.token_ids) for one in encoded)
    kept = [
        sum(len(side.positions) for side in sides) / tokens
        for sides in zip(*((e.block.start, e.block.end) for e in encoded), strict=True)
    ]
    block_bytes = sum(len(encode(one.block)) for one in encoded) / words
    postings = sum(len(features) for one in encoded for features in one.features.values()) / words
    return [
        f"{scores['all parts']['exact_match']:.2f}",
        f"{scores['all parts']['f1']:.2f}",
        *(f"{share:.0%}" for share in kept),
        f"{block_bytes:.0f}",
        f"{postings:.1f}",
        f"{block_bytes + POSTING_BYTES * postings:.0f}",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
