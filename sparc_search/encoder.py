"""The contract of an encoder: text becomes vectors and weights (`sparc_search.encoders`).

An entry point names something to call, `(model="default", *, threads=0)`, that opens one: `model` is a folder, or
`default` for the one in the package; with 0 threads the encoder chooses. If it has `settings` (a tuple of `Setting`),
it is called with their values too, as `values`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .errors import Unsupported
from .records import EncodedPassage, EncodedQuestion, Passage


class Encoder(ABC):
    """Turns passages and questions into what an engine keeps and searches."""

    fingerprint: str
    """Hash of everything that decides its results; an index made with another is refused."""

    window: int
    """Most word pieces a passage may have."""

    tuned: str = ""
    """Fingerprint of its question side, if that was tuned apart from the passages' (`sparc-search tune`)."""

    card: Mapping[str, Any] = {}
    """What is known of the model: how it was trained, how good it is, how its confidence is calibrated."""

    ngrams: tuple[int, ...] = ()
    """The sizes of the n-grams it weighs; none if it cannot be looked into."""

    arithmetic: str = ""
    """By which arithmetic it encodes passages, such as `onnx fp32`: the same weights give other numbers by another."""

    additive: bool = False
    """Whether no word piece depends on what is beyond white space: then counts of texts can be added up, which makes
    cutting quicker."""

    # --- what must be there ----------------------------------------------------------------------------------------

    @abstractmethod
    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character offsets of the word pieces of `text`, however long it is."""

    @abstractmethod
    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages, in batches as it likes; the result of one never depends on the others."""

    @abstractmethod
    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        """Encode questions."""

    # --- what may be there -----------------------------------------------------------------------------------------

    def prepare(self) -> None:  # noqa: B027  (there may be nothing to load)
        """Load now what is otherwise loaded at the first use."""

    def expect_one_question(self) -> None:  # noqa: B027  (there may be nothing to leave out)
        """This process ends with its first answer: leave out what pays only later. No result depends on it."""

    def token_count(self, text: str) -> int:
        """How many word pieces `text` has, if that can be told sooner than their offsets: ingest asks it most."""
        return len(self.token_offsets(text))

    def in_batches_of(self, tokens: int) -> Encoder:
        """The same encoder with batches of at most so many word pieces, padding included; `--batch-tokens` asks."""
        return self

    def untuned(self) -> Encoder:
        """The same encoder, its questions as they were before they were tuned."""
        return self

    def piece(self, token_id: int) -> str:
        """The word piece of a token id."""
        raise _cannot_be_looked_into()

    def word_pieces(self, text: str) -> list[str]:
        """The word pieces of a text, in their order."""
        raise _cannot_be_looked_into()

    def encode_unfiltered(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        """Encode passages as ever, but keep every token at which a phrase may start or end."""
        raise _cannot_be_looked_into()


class EncoderOpener(Protocol):
    """What an entry point of `sparc_search.encoders` is."""

    def __call__(self, model: str = "default", *, threads: int = 0) -> Encoder:
        """Open the encoder of a model."""


def _cannot_be_looked_into() -> Unsupported:
    return Unsupported("this encoder cannot be looked into", "use one that can (--encoder)")
