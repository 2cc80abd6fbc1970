"""Word pieces of a short plain text, without the tokenizer's library: a question from a shell waits for nothing else.

BERT's rules need a page of code as long as a text is printable ASCII: lower case, words of letters and digits, every
other mark by itself, and of each word the longest piece that is known, again and again. The library takes five times as
long to build its tables as Python to read the vocabulary, and that takes longer than to find the pieces of one question
in the file. Whatever else a text or a `tokenizer.json` holds is left to the library; tests hold the two to the same
pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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


_VOCABULARY: Final = b'"vocab":{'
_REST: Final = b"}}}"
"""What follows the vocabulary: it is the last part of the model, which is the last of the file."""
_SOUGHT: Final = 200
"""Pieces that are looked for in the file, one after another; whoever wants more needs a table."""


class Vocabulary:
    """The ids of pieces, in the bytes of a file that was written without white space."""

    def __init__(self, entries: bytes) -> None:
        self._entries, self._sought = b"," + entries + b",", 0

    def get(self, piece: str) -> int | None:
        """The id of an ASCII piece; None if it is unknown."""
        if "whole" in self.__dict__ or self._sought == _SOUGHT:
            return self.whole.get(piece)
        self._sought += 1
        key = f",{json.dumps(piece)}:".encode("ascii")  # a quotation mark inside of another piece has a backslash
        if (found := self._entries.find(key)) < 0:
            return None
        start = found + len(key)
        return int(self._entries[start : self._entries.index(b",", start)])

    @cached_property
    def whole(self) -> dict[str, int]:
        """All of them."""
        return dict(json.loads(b"{" + self._entries[1:-1] + b"}"))


class PlainWords:
    """The vocabulary of a `tokenizer.json` that follows BERT's rules, and these rules for plain texts."""

    def __init__(self, vocabulary: Vocabulary, unknown: int) -> None:
        self.vocabulary, self._unknown = vocabulary, unknown
        self._met = {unknown: "[UNK]"}

    @classmethod
    def read(cls, content: bytes) -> PlainWords | None:
        """The vocabulary; None if the file says anything that is not known here."""
        before, found, entries = content.rstrip().partition(_VOCABULARY)
        if not found or not entries.endswith(_REST):
            return None
        try:
            said = json.loads(before + _VOCABULARY + _REST)
            model = dict(said["model"])
            added = [(entry.pop("content"), entry.pop("id"), entry) for entry in said["added_tokens"]]
        except (ValueError, LookupError, TypeError, AttributeError):
            return None
        vocabulary = Vocabulary(entries.removesuffix(_REST))
        same = all(said.get(key) == value for key, value in _SAME.items()) and model == {**_MODEL, "vocab": {}}
        special = all(
            name.startswith("[") and vocabulary.get(name) == number and rest == _ADDED for name, number, rest in added
        )
        unknown = vocabulary.get("[UNK]")
        return cls(vocabulary, unknown) if same and special and unknown is not None else None

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

    def piece(self, token: int) -> str:
        """The string of an id."""
        return self._met.get(token) or self._names.get(token, "")

    @cached_property
    def _names(self) -> dict[int, str]:
        return {number: name for name, number in self.vocabulary.whole.items()}

    def _pieces(self, word: str) -> list[tuple[int, int, int]]:
        """Id, start and end of each piece of a word; a word that cannot be cut is one unknown piece."""
        pieces, start = [], 0
        while start < len(word) <= _MOST:
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                if (token := self.vocabulary.get(mark + word[start:end])) is not None:
                    break
            else:
                break
            self._met[token] = mark + word[start:end]
            pieces.append((token, start, end))
            start = end
        return pieces if start == len(word) else [(self._unknown, 0, len(word))]
