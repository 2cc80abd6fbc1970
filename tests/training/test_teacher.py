"""The teacher's file: what is written is read; other data, another tokenizer and damage are refused before a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparc_search.errors import ModelDamaged, UsageError
from sparc_search.training.teacher import Taught, key_of, read_teacher, top_shares, write_teacher

ABOUT = {"tokenizer": "t", "data": [{"file": "a.json", "sha256": "1"}]}


def written(folder: Path) -> Path:
    questions = ("when", "where", "who")
    logits = [np.random.default_rng(number).normal(size=(9, 2)).astype(np.float32) for number in range(3)]
    places, logs = zip(*(top_shares(one, 4) for one in logits), strict=True)
    write_teacher(folder / "teacher.npz", ABOUT, [key_of(question, "text") for question in questions], places, logs)
    return folder / "teacher.npz"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    teacher = read_teacher(written(tmp_path))
    for number, question in enumerate(("when", "where", "who")):
        logits = np.random.default_rng(number).normal(size=(9, 2))
        shares = np.exp(logits) / np.exp(logits).sum(0)
        taught = teacher(question, "text")
        assert taught is not None
        for side in (0, 1):
            assert taught.places[side].tolist() == np.argsort(-shares[:, side])[:4].tolist()
            assert taught.shares[side] == pytest.approx(np.sort(shares[:, side])[::-1][:4], rel=2e-3)
    assert teacher("when", "another text") is None


@given(st.integers(1, 12), st.integers(1, 12))
def test_short_passages_fill_up_with_nothing(length: int, keep: int) -> None:
    places, logs = top_shares(np.zeros((length, 2), np.float32), keep)
    assert places.shape == logs.shape == (2, keep)
    assert np.exp(logs).sum(1) == pytest.approx(min(keep, length) / length)


def test_a_window_keeps_what_lies_in_it() -> None:
    taught = Taught(np.array([[4, 9], [5, 2]]), np.array([[0.7, 0.2], [0.6, 0.3]], np.float32)).inside(4, 3)
    assert taught.places.tolist() == [[0, 0], [1, 0]]
    assert taught.shares == pytest.approx(np.array([[0.7, 0], [0.6, 0]]))


def test_other_data_and_tokenizers_are_refused(tmp_path: Path) -> None:
    teacher = read_teacher(written(tmp_path))
    teacher.check("t", [("a.json", "1")])
    with pytest.raises(UsageError, match="tokenizer"):
        teacher.check("other", [("a.json", "1")])
    with pytest.raises(UsageError, match=r"b\.json"):
        teacher.check("t", [("a.json", "1"), ("b.json", "2")])


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no teacher file"):
        read_teacher(tmp_path / "none.npz")
    path = written(tmp_path)
    whole = path.read_bytes()
    for broken in (b"", b"text", whole[: len(whole) // 2], whole[:300] + bytes(40) + whole[340:]):
        path.write_bytes(broken)
        with pytest.raises(ModelDamaged, match="damaged"):
            read_teacher(path)
    np.savez(path, about=np.frombuffer(b"{}", np.uint8), keys=np.zeros(1), places=np.zeros((1, 2, 3)), logs=np.zeros(2))
    with pytest.raises(ModelDamaged, match="fit together"):
        read_teacher(path)
