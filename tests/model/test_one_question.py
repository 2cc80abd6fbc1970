"""A process for one question opens less, and computes the same."""

from __future__ import annotations

import numpy as np
import pytest

from sparc_search.model import encoder_onnx
from sparc_search.model.encoder_onnx import OnnxEncoder, open_encoder

QUESTIONS = ["When was the Suez Canal opened?", "x", "who " * 80, "Ångström’s [SEP] 北京"]


@pytest.fixture(params=[True, False])
def exact(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the processor adds up without a bound, as far as the encoder knows."""
    monkeypatch.setattr(encoder_onnx, "sums_are_exact", lambda: request.param)
    known: bool = request.param
    return known


def in_numbers(encoder: OnnxEncoder, question: str) -> list[bytes]:
    """All numbers that the network gives for a question."""
    tokens = encoder.pieces([question])[0].ids[:60]
    ids = np.array([[encoder.pieces.cls, *tokens, encoder.pieces.sep]], np.int64)
    names = [output.name for output in encoder.question_session.opened().get_outputs()]
    return [value.tobytes() for value in encoder.question_session.run(names, {"ids": ids, "mask": np.ones_like(ids)})]


def test_every_number_is_the_same() -> None:
    usual, once = open_encoder("default", threads=1), open_encoder("default", threads=1)
    once.expect_one_question()
    once.prepare()
    assert [in_numbers(once, text) for text in QUESTIONS] == [in_numbers(usual, text) for text in QUESTIONS]


def test_weights_are_left_where_they_lie_only_if_no_sum_depends_on_it(exact: bool) -> None:
    encoder = open_encoder("default", threads=1)
    assert not encoder.question_session.once
    encoder.expect_one_question()
    assert encoder.exact
    assert encoder.question_session.once == exact


def test_preparing_for_one_question_does_not_run_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, runs = open_encoder("default", threads=1), list[object]()
    monkeypatch.setattr(encoder.question_session, "run", lambda *given: runs.append(given))
    encoder.expect_one_question()
    encoder.prepare()
    assert not runs


@pytest.mark.parametrize("features", [{}, {"AVX2": True}, {"AVX512VNNI": False}])
def test_another_processor_packs_as_ever(features: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numpy._core._multiarray_umath.__cpu_features__", features)
    assert not encoder_onnx.sums_are_exact()
