"""The words of the tiny model: a real WordPiece tokenizer over a small vocabulary, and a configuration for it."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from sparc_search.model.config import SparcConfig
from sparc_search.model.tokenizer import WordPieces

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# fmt: off
WORDS = [
    "the", "a", "of", "in", "and", "who", "what", "where", "when", "is", "was",
    "river", "dome", "gold", "golden", "lake", "city", "built", "painted", "tower", "bridge", "climb",
    "1882", "paris", "rome", "cafe", "naive", "school", "museum", "saint", "mary", "queen", "king",
]
# fmt: on
CHINESE = "北京大学中国人"
LOWEST = len(SPECIAL)
VOCABULARY_SIZE = 600  # times 32 is enough for the table to be stored in fewer bits by `export`

BODY: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": VOCABULARY_SIZE,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 520,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "pad_token_id": 0,
}


def tiny_vocabulary() -> dict[str, int]:
    """Special tokens, words, single characters to spell everything else with, and fillers."""
    letters = string.ascii_lowercase + string.digits + "éßñ"
    pieces = [*SPECIAL, *dict.fromkeys(WORDS), *letters, *(f"##{letter}" for letter in letters), "##ing", "##en"]
    pieces += [*CHINESE, *string.punctuation]
    pieces = list(dict.fromkeys(pieces))
    pieces += [f"filler{number}" for number in range(VOCABULARY_SIZE - len(pieces))]
    return {piece: number for number, piece in enumerate(pieces)}


def tiny_tokenizer() -> Tokenizer:
    """BERT's own normaliser and word splitter over the tiny vocabulary."""
    tokenizer = Tokenizer(WordPiece(tiny_vocabulary(), unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def tiny_pieces() -> WordPieces:
    return WordPieces(tiny_tokenizer())


def tiny_config(body: Mapping[str, Any] | None = None, **changes: Any) -> SparcConfig:
    shape = SparcConfig(
        body={**BODY, **(body or {})},
        dense_size=8,
        span_size=4,
        sparse_size=8,
        lowest_ngram_id=LOWEST,
        window=48,
        question_window=16,
        longest_answer=5,
    )
    return replace(shape, **changes)


def random_ids(rng: np.random.Generator, length: int, vocabulary: int = 12) -> NDArray[np.int32]:
    """Ids of ordinary words; few of them, so that n-grams repeat."""
    return rng.integers(LOWEST, LOWEST + vocabulary, length).astype(np.int32)
