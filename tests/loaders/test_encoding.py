from __future__ import annotations

from collections.abc import Sequence

import pytest

from sparc_search.encoder import Encoder
from sparc_search.loaders.encoding import Encoding, Job, Stopped
from sparc_search.loaders.walk import Root
from sparc_search.records import Document, EncodedPassage, EncodedQuestion, Passage

ROOT = Root("folder", "/corpus")


class Wrapped(Encoder):
    """A real encoder that can be made to fail, and remembers what it was given."""

    def __init__(self, encoder: Encoder, poison: str = "\0") -> None:
        self._encoder, self._poison = encoder, poison
        self.fingerprint, self.window = encoder.fingerprint, encoder.window
        self.batches: list[list[int]] = []

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return self._encoder.token_offsets(text)

    def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
        if any(self._poison in passage.text for passage in passages):
            raise RuntimeError("poisoned")
        self.batches.append([len(self.token_offsets(passage.text)) for passage in passages])
        return self._encoder.encode_passages(passages)

    def encode_questions(self, questions: Sequence[str]) -> list[EncodedQuestion]:
        return self._encoder.encode_questions(questions)


def job(name: str, text: str) -> Job:
    return Job(Document(name, text), f"hash of {name}", ROOT)


def paragraphs(*lengths: int) -> str:
    return "\n\n".join("word " * length for length in lengths)


def test_passages_come_back_to_their_documents_in_order(toy_encoder: Encoder) -> None:
    encoder = Wrapped(toy_encoder)
    encoding = Encoding(encoder, 64, lambda: False, dry_run=False)
    pool = [encoding.cut(job("a", paragraphs(10, 60, 20))), encoding.cut(job("b", paragraphs(30, 8)))]
    a, b = encoding.encode(pool)
    assert a.encoded
    assert b.encoded
    assert [len(p.block.token_ids) for p in a.encoded.passages] == [10, 60, 20]
    assert [len(p.block.token_ids) for p in b.encoded.passages] == [30, 8]
    assert (b.encoded.document.id, b.encoded.content_hash) == ("b", "hash of b")
    assert encoder.batches == [[10, 60, 20, 30, 8]]  # together, so that the encoder can make its own batches of them


def test_an_encoder_is_told_how_large_its_batches_may_be(toy_encoder: Encoder) -> None:
    class Resizable(Wrapped):
        def in_batches_of(self, tokens: int) -> Wrapped:
            sizes.append(tokens)
            return self

    sizes: list[int] = []
    Encoding(Resizable(toy_encoder), 100_000, lambda: False, dry_run=False)
    assert sizes == [100_000]


def test_a_long_document_reaches_the_encoder_in_pieces(toy_encoder: Encoder) -> None:
    encoder = Wrapped(toy_encoder)
    encoding = Encoding(encoder, 16, lambda: False, dry_run=False)
    (done,) = encoding.encode([encoding.cut(job("a", paragraphs(*[60] * 5)))])
    assert encoder.batches == [[60, 60], [60, 60], [60]]
    assert done.encoded
    assert [passage.passage.number for passage in done.encoded.passages] == list(range(5))


def test_a_document_the_encoder_fails_on_costs_no_other(toy_encoder: Encoder) -> None:
    encoding = Encoding(Wrapped(toy_encoder, "poison"), 64, lambda: False, dry_run=False)
    done = encoding.encode([encoding.cut(job(text, text)) for text in ("good one", "poison", "good two")])
    assert [bool(one.encoded) for one in done] == [True, False, True]
    assert done[1].problem == "the encoder failed on it: RuntimeError: poisoned"


def test_an_encoder_that_always_fails_is_an_error(toy_encoder: Encoder) -> None:
    encoding = Encoding(Wrapped(toy_encoder, "o"), 64, lambda: False, dry_run=False)
    pool = [encoding.cut(job(text, text)) for text in ("one", "two", "four", "good")]
    with pytest.raises(RuntimeError, match="poisoned"):
        encoding.encode(pool)


def test_a_dry_run_only_cuts(toy_encoder: Encoder) -> None:
    encoder = Wrapped(toy_encoder)
    encoding = Encoding(encoder, 64, lambda: False, dry_run=True)
    (done,) = encoding.encode([encoding.cut(job("a", paragraphs(10, 60)))])
    assert (done.encoded, done.problem, done.cut.lengths) == (None, "", (10, 60))
    assert encoder.batches == []


def test_when_asked_to_stop_a_pool_is_finished_but_a_huge_one_is_not(toy_encoder: Encoder) -> None:
    encoding = Encoding(Wrapped(toy_encoder), 64, lambda: True, dry_run=False)
    assert encoding.encode([encoding.cut(job("a", paragraphs(*[60] * 10)))])[0].encoded
    with pytest.raises(Stopped):
        encoding.encode([encoding.cut(job("a", paragraphs(*[60] * 40)))])


def test_what_is_encoded_of_a_long_document_is_known_before_it_is_finished(toy_encoder: Encoder) -> None:
    class Watched(Wrapped):
        def encode_passages(self, passages: Sequence[Passage]) -> list[EncodedPassage]:
            seen.append(encoding.encoded_tokens)
            return super().encode_passages(passages)

    seen: list[int] = []
    encoding = Encoding(Watched(toy_encoder), 2, lambda: False, dry_run=False)
    encoding.encode([encoding.cut(job("long", paragraphs(12, 12, 12)))])
    assert [*seen, encoding.encoded_tokens] == [0, 12, 24, 36]


def test_what_is_encoded_again_alone_counts_once(toy_encoder: Encoder) -> None:
    encoding = Encoding(Wrapped(toy_encoder, poison="bad"), 2, lambda: False, dry_run=False)
    encoding.encode([encoding.cut(job("a", paragraphs(12, 12))), encoding.cut(job("b", "bad"))])
    assert encoding.encoded_tokens == 24
