"""The folder of a cross-encoder: `reader.json` (shape, training, hashes), `tokenizer.json`, `reader.onnx`.

It reads `[CLS] question [SEP] title [SEP] passage [SEP]` together, for each question anew, and gives
every word piece of the passage a start and an end logit. That is what DrQA's and BERTserini's readers do, and what a
phrase index spares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ModelDamaged, ModelNotFound

CARD, NETWORK, TOKENIZER = "reader.json", "reader.onnx", "tokenizer.json"


@dataclass(frozen=True, slots=True)
class CrossEncoderCard:
    """What is known of a cross-encoder."""

    body: Mapping[str, Any]
    """The transformers configuration of its encoder."""
    window: int
    """Word pieces of question and passage together, special ones included."""
    question_window: int
    longest_answer: int
    mix: float
    """Weight of the BM25 score beside the reader's, chosen on held-out questions."""
    training: Mapping[str, Any]
    sha256: Mapping[str, str]
    title_window: int = 0
    """Word pieces of a title that it reads; 0: it was trained without titles."""
    serving: Mapping[str, Any] = field(default_factory=dict)
    """How it works together with a model (`search.rereading.ReadingFit`), once that was measured."""

    @property
    def fingerprint(self) -> str:
        """A short hash of its files."""
        return hashlib.sha256("".join(self.sha256[name] for name in sorted(self.sha256)).encode()).hexdigest()[:16]

    @property
    def in_words(self) -> str:
        """Its kind and size."""
        body = self.body
        return f"{body['model_type']}, {body.get('num_hidden_layers')} layers of {body.get('hidden_size')}"


def write_card(folder: Path, **values: Any) -> CrossEncoderCard:
    """Write `reader.json` with the hashes of the other files."""
    hashes = {name: _sha256(folder / name) for name in (NETWORK, TOKENIZER)}
    text = json.dumps({**values, "sha256": hashes}, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / CARD).write_text(text + "\n", "utf-8")
    return CrossEncoderCard(**values, sha256=hashes)


def reader_folder(name: str) -> Path:
    """The reader in a folder, or the one that comes with the package (`default`)."""
    return Path(__file__).parent / "default" if name == "default" else Path(name)


def read_card(folder: Path) -> CrossEncoderCard:
    """Read `reader.json` and check the files it names."""
    path = folder / CARD
    if not path.is_file():
        raise ModelNotFound(f"no reader in {folder}", "`sparc-search evaluate train-reader` makes one")
    try:
        card = CrossEncoderCard(**json.loads(path.read_text("utf-8")))
        wrong = [name for name, wanted in card.sha256.items() if _sha256(folder / name) != wanted]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelDamaged(f"{path} is no reader's card: {error}", "train the reader again") from error
    if wrong:
        raise ModelDamaged(f"{folder / wrong[0]} is damaged", "train the reader again")
    return card


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
