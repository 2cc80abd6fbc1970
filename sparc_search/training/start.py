"""What a run starts from: base weights that transformers knows, or a SPARC model that is to learn more."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ModelNotFound
from ..model.config import SparcConfig
from ..model.encoder_torch import SparcModel, load_tensors
from ..model.files import CARD
from ..model.network import SparcNetwork
from ..model.tokenizer import WordPieces

# Dropout costs a sixth of a step on a CPU and did not help at a few epochs.
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "dropout": 0.0, "attention_dropout": 0.0}


def start_model(base: Path, shape: dict[str, Any]) -> SparcModel:
    """A model with trained or base weights, on the CPU. `shape` only counts for base weights."""
    if (base / CARD).is_file():
        model = SparcModel.from_pretrained(base)
        model.network.config = replace(model.config, filter_thresholds=(-100.0, -100.0))
        return model
    if not (base / "config.json").is_file():
        raise ModelNotFound(
            f"no model in {base}",
            "sparc-search model fetch-base NAME gets one, or name a folder that transformers can load",
        )
    body = json.loads((base / "config.json").read_text("utf-8"))
    body = {**body, **{name: value for name, value in NO_DROPOUT.items() if name in body}}
    pieces = WordPieces.load(base)
    network = SparcNetwork.from_body(SparcConfig(body=body, lowest_ngram_id=lowest_ordinary_id(pieces), **shape))
    load_body(network, base)
    return SparcModel(network, pieces)


def lowest_ordinary_id(pieces: WordPieces) -> int:
    """The first id behind the leading [PAD], [unused1], [CLS] ... of a vocabulary: 999 in BERT's."""
    lowest = 0
    for token_id in range(len(pieces)):
        if re.fullmatch(r"\[\w+\]", pieces.piece(token_id)):
            lowest = token_id + 1
    return lowest


def load_body(network: SparcNetwork, base: Path) -> None:
    """Base weights into the body; its own prefix and parts it does not have (pooler, heads) are left out."""
    weights = {}
    for path in sorted(base.glob("*.safetensors")):
        weights.update(load_tensors(path))
    prefix = f"{getattr(network.body, 'base_model_prefix', '')}."
    weights = {name.removeprefix(prefix): value for name, value in weights.items()}
    wanted = network.body.state_dict()
    missing = sorted(set(wanted) - set(weights))
    if missing:
        raise ModelNotFound(
            f"the weights in {base} lack {len(missing)} tensors, such as {missing[0]}",
            "the folder needs the model's *.safetensors, whole",
        )
    network.body.load_state_dict({name: weights[name].float() for name in wanted})
