"""The numbers that give a SPARC model its shape, as they stand in `config.json` beside its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ModelDamaged

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SparcConfig:
    """Shape of a model. `body` is the transformers configuration of its encoder (with `model_type`)."""

    body: Mapping[str, Any]
    dense_size: int = 128
    span_size: int = 16
    sparse_size: int = 64
    ngrams: tuple[int, ...] = (1, 2)
    lowest_ngram_id: int = 999  # in BERT's vocabulary, ids below are special or unused
    window: int = 384  # word pieces of a passage, [CLS] and [SEP] included
    question_window: int = 64
    title_window: int = 0  # word pieces of the title read before the passage, its [SEP] not included; 0: none
    longest_answer: int = 20
    filter_thresholds: tuple[float, float] = (-100.0, -100.0)  # start, end; set after training
    prune: float = 0.2  # attention below this share of the passage's largest is dropped
    vector_bits: int = 4  # of start, end and span vectors; 4 or 8 (what each costs and saves: docs/benchmarks.md)
    weight_levels: int = 16  # different weights of the n-grams of a passage; up to 255
    format: int = field(default=FORMAT)

    @property
    def hidden_size(self) -> int:
        """Width of the body's states."""
        return int(self.body["hidden_size"] if "hidden_size" in self.body else self.body["dim"])  # DistilBERT's word

    def save(self, folder: Path) -> None:
        """Write `config.json`."""
        (folder / "config.json").write_text(json.dumps(asdict(self), indent=2, sort_keys=True) + "\n", "utf-8")

    @classmethod
    def load(cls, folder: Path) -> SparcConfig:
        """Read `config.json`, refusing keys it does not know."""
        path = folder / "config.json"
        try:
            values = json.loads(path.read_text("utf-8"))
            values["ngrams"] = tuple(values["ngrams"])
            values["filter_thresholds"] = tuple(values["filter_thresholds"])
            config = cls(**values)
            _ = config.hidden_size, config.body["model_type"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelDamaged(f"{path} is not a SPARC model configuration: {error}") from error
        if config.format != FORMAT:
            raise ModelDamaged(f"{path} has format {config.format}; this version reads {FORMAT}")
        return config
