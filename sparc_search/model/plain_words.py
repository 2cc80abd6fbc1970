"""Word pieces of a short plain text, without the tokenizer's library: a question from a shell waits for nothing else.

BERT's rules need a page of code as long as a text is printable ASCII: lower case, words of letters and digits, every
other mark by itself, and of each word the longest piece that is known, again and again. The library takes five times as
long to build its tables as Python to read the vocabulary. Whatever else a text or a `tokenizer.json` holds is left to
the library; tests hold the two to the same pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

_LONGEST: Final = 400
"""Characters of a text; longer ones are cut sooner by the library."""
_SAME: Final[Mapping[str, Any]] = {
    "version": "1.0",
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}
"""What a `tokenizer.json` must say for these rules to be its own."""
_MODEL: Final = {
    "type": "WordPiece",
    "unk_token": "[UNK]",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
}
_ADDED: Final = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
_MOST: Final = 100
"""Characters of a word that is cut into pieces."""
_WORD: Final = re.compile("[a-z0-9]+|[^ ]")


class PlainWords:
    """The vocabulary of a `tokenizer.json` that follows BERT's rules, and these rules for plain texts."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self.vocabulary = vocabulary

    @classmethod
    def read(cls, content: bytes) -> PlainWords | None:
        """The vocabulary; None if the file says anything that is not known here."""
        try:
            said = json.loads(content)
            model = dict(said["model"])
            vocabulary: dict[str, int] = model.pop("vocab")
            added = [(entry.pop("content"), entry.pop("id"), entry) for entry in said["added_tokens"]]
            same = all(said[key] == value for key, value in _SAME.items()) and model == _MODEL
            special = all(
                name.startswith("[") and vocabulary[name] == number and rest == _ADDED for name, number, rest in added
            )
            return cls(vocabulary) if same and special and vocabulary["[UNK]"] >= 0 else None
        except (ValueError, LookupError, TypeError, AttributeError):
            return None

    def cut(self, text: str) -> tuple[list[int], list[tuple[int, int]]] | None:
        """Ids of the pieces and their characters; None of a text that is not plain."""
        if len(text) > _LONGEST or not (text.isascii() and text.isprintable()) or "[" in text:
            return None  # a bracket may begin the name of a special token
        found = [
            (token, (word.start() + start, word.start() + end))
            for word in _WORD.finditer(text.lower())
            for token, start, end in self._pieces(word[0])
        ]
        return [token for token, _ in found], [place for _, place in found]

    @cached_property
    def names(self) -> dict[int, str]:
        """The string of each id."""
        return {number: name for name, number in self.vocabulary.items()}

    def _pieces(self, word: str) -> Iterator[tuple[int, int, int]]:
        """Id, start and end of each piece of a word; a word that cannot be cut is one unknown piece."""
        known = self.vocabulary
        if (whole := known.get(word)) is not None and len(word) <= _MOST:
            return iter([(whole, 0, len(word))])
        pieces, start = [], 0
        while start < len(word) <= _MOST:
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in known), 0)
            if not end:
                break
            pieces.append((known[mark + word[start:end]], start, end))
            start = end
        return iter(pieces if start == len(word) else [(known["[UNK]"], 0, len(word))])
