"""Word pieces with their characters: one tokenizer for both encoders, training and the n-gram names."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelDamaged
from ..records import CONTINUES, PUNCTUATION
from .code_tokens import with_code_tokens
from .plain_words import PlainWords

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_UNKNOWN = 255  # flags of a piece that nobody has met
_SURROGATES = re.compile("[\ud800-\udfff]")  # no UTF-8 has them
_GAPS = re.compile("[\x0b\x0c\x1c-\x1f\x85]")  # a new page or line; BERT's normaliser would glue the words around it


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of one text, without special tokens."""

    ids: NDArray[np.int32]  # (N,)
    offsets: NDArray[np.int32]  # (N, 2) characters of the text
    flags: NDArray[np.uint8]  # (N,) CONTINUES | PUNCTUATION


class WordPieces:
    """A `tokenizer.json` of a BERT-like model, with truncation and padding switched off.

    The library is opened with the first text that is not a short plain one, if the file's rules are known: see
    `plain_words`.
    """

    def __init__(self, tokenizer: Tokenizer | Path, plain: PlainWords | None = None) -> None:
        self._plain, self._lock = plain, threading.Lock()
        self._flags = np.full(1 << 16, _UNKNOWN, np.uint8)
        self._path = tokenizer if isinstance(tokenizer, Path) else None
        if not isinstance(tokenizer, Path):
            self._opened: Tokenizer | None = _bare(tokenizer)
        else:
            self._opened = None if plain else _bare(_read(tokenizer))
        self.cls, self.sep, self.pad = (self._special(name) for name in ("[CLS]", "[SEP]", "[PAD]"))

    @classmethod
    def load(cls, folder: Path) -> WordPieces:
        """Read `tokenizer.json` of a model folder."""
        path = folder / "tokenizer.json"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ModelDamaged(f"{path} is not a tokenizer: {error}") from error
        return cls(path, PlainWords.read(content))

    @property
    def _tokenizer(self) -> Tokenizer:
        """The library's tokenizer."""
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    assert self._path is not None
                    self._opened = _bare(_read(self._path))
        return self._opened

    def __call__(self, texts: Sequence[str]) -> list[Pieces]:
        """Pieces of each text, however long."""
        if self._plain and len(texts) == 1 and (cut := self._plain.cut(texts[0])):
            return [self._pieces(texts[0], *cut)]
        encodings = self._tokenizer.encode_batch([_clean(text) for text in texts], add_special_tokens=False)
        return [
            self._pieces(text, encoding.ids, encoding.offsets) for text, encoding in zip(texts, encodings, strict=True)
        ]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The characters of each piece of a text, and nothing else: quicker where many texts are measured."""
        found: list[tuple[int, int]] = self._tokenizer.encode(_clean(text), add_special_tokens=False).offsets
        return found if text.isascii() else with_marks(text, found)

    def count(self, text: str) -> int:
        """How many pieces a text has."""
        return len(self._tokenizer.encode(_clean(text), add_special_tokens=False))

    def __len__(self) -> int:
        if self._plain:
            return len(self._plain.vocabulary.whole)
        size: int = self._tokenizer.get_vocab_size(with_added_tokens=True)
        return size

    def piece(self, token_id: int) -> str:
        """The string of a token id."""
        if self._plain:
            return self._plain.piece(token_id)
        return self._tokenizer.id_to_token(token_id) or ""

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`."""
        self._tokenizer.save(str(folder / "tokenizer.json"), pretty=False)

    def _pieces(self, text: str, ids: list[int], offsets: list[tuple[int, int]]) -> Pieces:
        id_array = np.asarray(ids, np.int32)
        flags = self._flags_of(id_array)
        whole = offsets if text.isascii() else with_marks(text, offsets)
        places = np.asarray(whole, np.int32).reshape(-1, 2)
        return Pieces(id_array, places, with_code_tokens(text, places, flags))

    def _special(self, name: str) -> int:
        token_id: int | None = self._plain.vocabulary.get(name) if self._plain else self._tokenizer.token_to_id(name)
        if token_id is None:
            raise ModelDamaged(f"the tokenizer has no {name} token", "use the tokenizer of a BERT-like model")
        return token_id

    def _flags_of(self, ids: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Flags of each piece; found when a piece is first met, for a question knows few of thirty thousand."""
        if ids.size and (highest := int(ids.max())) >= len(self._flags):
            self._flags = np.concatenate([self._flags, np.full(highest + 1, _UNKNOWN, np.uint8)])
        flags = self._flags[ids]
        if _UNKNOWN in flags:
            for token_id in ids[flags == _UNKNOWN].tolist():
                self._flags[token_id] = flags_of(self.piece(token_id))
            flags = self._flags[ids]
        return flags


def _read(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise ModelDamaged(f"{path} is not a tokenizer: {error}") from error


def _bare(tokenizer: Tokenizer) -> Tokenizer:
    """Without truncation and padding."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _clean(text: str) -> str:
    """A text that the tokenizer takes, as long as before, so that offsets hold."""
    return _GAPS.sub(" ", text if text.isascii() else _SURROGATES.sub("\ufffd", text))


def with_marks(text: str, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Offsets that take in the combining marks behind a piece: the normaliser strips them, an answer shows them."""
    whole = []
    following = [start for start, _ in offsets[1:]] + [len(text)]
    for (start, end), limit in zip(offsets, following, strict=False):  # no pieces, one limit
        while end < limit and unicodedata.category(text[end])[0] == "M":
            end += 1
        whole.append((start, end))
    return whole


def flags_of(piece: str) -> int:
    """CONTINUES for a piece that goes on with a word, PUNCTUATION for one without letter or digit."""
    bare = piece.removeprefix("##") if len(piece) > 2 else piece
    flags = CONTINUES if bare != piece else 0
    if not any(unicodedata.category(character)[0] in "LNMS" for character in bare):
        flags |= PUNCTUATION
    return flags
