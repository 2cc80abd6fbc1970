"""Reading again, with a reader whose logits can be worked out by hand, against a reference that tries every span."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import Store, open_local
from hypothesis import given
from hypothesis import strategies as st
from small_corpus import DOCUMENTS, encode_all

from sparc_search.cross_encoder.reading import PassageLogits
from sparc_search.encoder import Encoder
from sparc_search.errors import ModelDamaged
from sparc_search.model.tokenizer import Pieces
from sparc_search.records import Passage, Reply
from sparc_search.search.confidence import Calibration
from sparc_search.search.coordinator import Coordinator, SearchOptions
from sparc_search.search.lexical import lex_weights, look_up_many, scaled
from sparc_search.search.rereading import ReadCalibration, ReadingFit, Rereader, _by_token
from sparc_search.search.scorer import score_spans

QUESTION = "When was the Eiger climbed?"
WORDS = re.compile(r"\w+")


class ByHand:
    """Gives every word of its list what stands there as start and as end logit; counts what it reads."""

    def __init__(self, likes: Mapping[str, float], nothing: float = 0.0) -> None:
        self.likes, self.nothing, self.read = likes, nothing, 0

    def logits(self, question: str, passages: Sequence[Passage]) -> Iterator[PassageLogits]:
        for passage in passages:
            self.read += 1
            words = list(WORDS.finditer(passage.text))
            offsets = np.array([word.span() for word in words], np.int32).reshape(-1, 2)
            liked = np.array([[self.likes.get(word.group(), 0.0)] * 2 for word in words], np.float32).reshape(-1, 2)
            empty = np.zeros(len(words))
            yield PassageLogits(Pieces(empty.astype(np.int32), offsets, empty.astype(np.uint8)), liked, self.nothing)


@pytest.fixture
def store(tmp_path: Path, toy_encoder: Encoder) -> Iterator[Store]:
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
        yield store


def ask(
    store: Store, encoder: Encoder, reader: Any, fit: ReadingFit, sure: Calibration | None = None, **options: Any
) -> Reply:
    coordinator = Coordinator(store.engine, None, sure, lambda: Rereader(reader, fit))
    (reply,) = coordinator.answer(encoder.encode_questions([QUESTION]), SearchOptions(**options))
    return reply


@pytest.mark.parametrize("weight", [0.0, 0.3, 100.0])
@pytest.mark.parametrize("passages", [1, 3])
def test_the_best_of_two_scores_wins(store: Store, toy_encoder: Encoder, weight: float, passages: int) -> None:
    reader = ByHand({"climbed": 3.0, "Baltic": 2.0, "Eiger": 1.0})
    fast = ask(store, toy_encoder, reader, ReadingFit(weight=weight), k=50)
    reply = ask(store, toy_encoder, reader, ReadingFit(weight=weight), k=3, read=passages)
    ids = list(dict.fromkeys(answer.passage.id for answer in fast.answers))[:passages]
    assert reader.read == passages

    (question,) = toy_encoder.encode_questions([QUESTION])
    with store.engine.view() as view:
        lex = scaled(lex_weights(question, look_up_many([question], view)), SearchOptions().lex_weight)
        stored = view.fetch(ids).passages
    best = -math.inf
    for encoded in stored:
        spans = score_spans(question, lex, [encoded.block])
        for number in range(len(spans)):
            span = spans.span(number)
            start, end = int(encoded.block.offsets[span.start, 0]), int(encoded.block.offsets[span.end, 1])
            text = encoded.passage.text[start:end]
            first, last = WORDS.findall(text)[0], WORDS.findall(text)[-1]
            best = max(best, reader.likes.get(first, 0.0) + reader.likes.get(last, 0.0) + weight * span.score)
    answer = reply.answers[0]
    assert answer.read_score is not None
    assert answer.read_score + weight * answer.score == pytest.approx(best)
    assert sum(part.value for part in answer.parts) == pytest.approx(answer.score)
    totals = [(answer.read_score or 0.0) + weight * answer.score for answer in reply.answers]
    assert totals == sorted(totals, reverse=True)
    assert {answer.passage.id for answer in reply.answers} <= set(ids)


def test_it_tells_what_was_before(store: Store, toy_encoder: Encoder) -> None:
    fast = ask(store, toy_encoder, ByHand({}), ReadingFit())
    reply = ask(store, toy_encoder, ByHand({"Eiger": 9.0}), ReadingFit(weight=0.25), read=2, explain=True)
    assert fast.read is None
    assert fast.answers[0].read_score is None
    assert reply.read is not None
    assert (reply.read.passages, reply.read.weight, reply.read.answered) == (2, 0.25, True)
    assert (reply.read.fast_answer, reply.read.fast_score) == (fast.answers[0].text, fast.answers[0].score)
    assert "read" in reply.seconds
    logits = reply.answers[0].read_logits
    assert logits is not None
    assert logits.score == reply.answers[0].read_score == pytest.approx(logits.start + logits.end)
    assert sum(part.value for part in reply.answers[0].parts) == pytest.approx(reply.answers[0].score)


def test_a_reader_may_find_nothing(store: Store, toy_encoder: Encoder) -> None:
    reply = ask(store, toy_encoder, ByHand({"Eiger": 1.0}, nothing=5.0), ReadingFit(), read=2)
    assert reply.read is not None
    assert not reply.read.answered
    assert reply.answers  # it is told, not hidden


def test_sure_answers_are_not_read(store: Store, toy_encoder: Encoder) -> None:
    sure = Calibration(bias=2.0, score=0.0, lead=0.0, widest=0.0)  # 0.88 for whatever is asked
    reader = ByHand({})
    assert ask(store, toy_encoder, reader, ReadingFit(), sure, read=5, read_below=0.8).read is None
    assert reader.read == 0
    reply = ask(store, toy_encoder, reader, ReadingFit(), sure, read=5, read_below=0.9)
    assert reply.read is not None
    assert reply.read.fast_confidence == pytest.approx(0.88, abs=0.01)
    assert reply.confidence is None  # nobody measured how sure this reader may be
    fit = ReadingFit(calibration=ReadCalibration(0.0, 1.0, 0.0, 0.0, 1.0))
    assert ask(store, toy_encoder, ByHand({}, nothing=-3.0), fit, sure, read=5).confidence == pytest.approx(
        0.953, abs=0.001
    )


def test_any_characters_of_a_passage_can_be_judged() -> None:
    passage = Passage("alps/0", "alps", 0, "The Eiger was first climbed in 1858.")
    reader: Any = ByHand({"Eiger": 2.0, "climbed": 3.0}, nothing=1.0)
    logits = Rereader(reader, ReadingFit()).of_span(QUESTION, passage, 4, 27)
    assert (logits.start, logits.end, logits.nothing) == (2.0, 3.0, 1.0)


def test_nothing_proposed_is_nothing_read(store: Store, toy_encoder: Encoder) -> None:
    reply = ask(store, toy_encoder, ByHand({}), ReadingFit(), read=5, where={"kind": "no such"})
    assert reply.answers == ()
    assert reply.read is None


def test_a_confidence_is_for_the_model_it_was_measured_with() -> None:
    fit = ReadingFit("abc", 0.2, 5, 0.6, ReadCalibration(0.1, 0.2, 0.3, 0.4, 0.5))
    assert ReadingFit.from_card(fit.as_card(), "abc") == fit
    assert ReadingFit.from_card(fit.as_card(), "other") == replace(fit, calibration=None)
    assert ReadingFit.from_card({}, "abc") == ReadingFit()
    with pytest.raises(ModelDamaged, match="fit it again"):
        ReadingFit.from_card({"weights": 1}, "abc")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.lists(st.integers(1, 4), min_size=1, max_size=8))
def test_other_word_pieces_are_found_by_their_characters(mine: list[int], theirs: list[int]) -> None:
    def offsets(lengths: list[int]) -> np.ndarray[Any, np.dtype[np.int32]]:
        ends = np.cumsum(lengths)
        return np.stack([ends - lengths, ends], axis=1).astype(np.int32)

    length = min(sum(mine), sum(theirs))
    pieces = offsets(theirs)
    words = np.stack([np.arange(len(pieces)), -np.arange(len(pieces))], axis=1).astype(np.float32)
    zeros = np.zeros(len(pieces))
    logits = PassageLogits(Pieces(zeros.astype(np.int32), pieces, zeros.astype(np.uint8)), words, 0.0)
    tokens = [token for token in offsets(mine) if token[1] <= length]
    for (start, end), (first, last) in zip(tokens, _by_token(logits, np.array(tokens).reshape(-1, 2)), strict=True):
        assert pieces[int(first), 0] <= start < pieces[int(first), 1]
        assert pieces[int(-last), 0] < end <= pieces[int(-last), 1]
