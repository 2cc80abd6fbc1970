"""An encoder whose questions lack a part, to see what that part gives through the whole search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..encoder import Encoder
from ..records import EncodedPassage, EncodedQuestion, Passage


def without_sparc(question: EncodedQuestion) -> EncodedQuestion:
    """No learned n-gram weights."""
    return replace(question, start_ngrams=(), end_ngrams=())


def without_vectors(question: EncodedQuestion, *names: str) -> EncodedQuestion:
    """These vectors switched off."""
    return replace(question, **{name: np.zeros_like(getattr(question, name)) for name in names})


PARTS: dict[str, Callable[[EncodedQuestion], EncodedQuestion]] = {
    "sparc": without_sparc,
    "lex": lambda question: replace(question, lex_terms=()),
    "dense": lambda question: without_vectors(question, "start_vector", "end_vector", "passage_vector"),
}


class SwitchedOff(Encoder):
    """The same encoder, its questions without some parts."""

    def __init__(self, encoder: Encoder, parts: Sequence[str]) -> None:
        self._encoder, self._parts = encoder, parts
        self.fingerprint, self.window, self.tuned = encoder.fingerprint, encoder.window, encoder.tuned

    def untuned(self) -> SwitchedOff:
        """The same, of the encoder before it was tuned."""
        return SwitchedOff(self._encoder.untuned(), self._parts)

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """As the encoder's."""
        return self._encoder.token_offsets(text)

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """As the encoder's."""
        return self._encoder.encode_passages(passages)

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        """The encoder's questions, without the parts."""
        encoded = self._encoder.encode_questions(questions)
        for part in self._parts:
            encoded = [PARTS[part](question) for question in encoded]
        return encoded
