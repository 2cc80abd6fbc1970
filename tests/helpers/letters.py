"""An encoder for tests of cutting: its word pieces can be counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

from sparc_search.encoder import Encoder
from sparc_search.records import EncodedPassage, EncodedQuestion, Passage


class Letters(Encoder):
    """Word pieces of at most four characters, and nothing else: so that cuts inside words happen too."""

    fingerprint = "letters"

    def __init__(self, window: int, *, additive: bool = False) -> None:
        self.window, self.additive = window, additive

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        pieces, start = [], 0
        for end in range(1, len(text) + 1):
            if text[start].isspace():
                start = end
            elif end - start == 4 or end == len(text) or text[end].isspace():
                pieces.append((start, end))
                start = end
        return pieces

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        raise AssertionError("cutting encodes nothing")

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        raise AssertionError("cutting encodes nothing")
