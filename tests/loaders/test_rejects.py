from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparc_search.encoder import Encoder
from sparc_search.errors import ReaderError
from sparc_search.loaders.outcomes import Outcome, Summary
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.rejects import RejectFile, rejected_before

Run = Callable[..., tuple[list[Outcome], Summary]]
BAD = Outcome("rejected", "id", "/corpus/a.txt", "why \x1b[2J", "what to do", "/corpus", "folder")


def test_a_reject_is_a_line_of_plain_ascii(tmp_path: Path) -> None:
    rejects = RejectFile(tmp_path / "deep" / "rejects.jsonl")
    rejects.add(BAD)
    assert rejects.finish() == rejects.path
    text = rejects.path.read_text()
    assert "\x1b" not in text
    assert json.loads(text) == {
        "id": "id",
        "reason": "why \x1b[2J",
        "remedy": "what to do",
        "source": "/corpus/a.txt",
        "root": "/corpus",
        "root_kind": "folder",
    }


def test_an_older_file_stays_until_the_end_and_goes_if_all_is_well(tmp_path: Path) -> None:
    path = tmp_path / "rejects.jsonl"
    path.write_text("older")
    first = RejectFile(path)
    first.add(BAD)
    assert path.read_text() == "older"
    first.abandon()
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]
    assert RejectFile(path).finish() is None
    assert not path.exists()


def test_rejects_can_be_read_again_under_the_same_ids(
    run: Run, store: Any, tmp_path: Path, toy_encoder: Encoder
) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "deep").mkdir(parents=True)
    (corpus / "deep" / "a.txt").write_bytes(b"\x00\x01\xff")
    (corpus / "deep" / "b.txt").write_text("Good.")
    (corpus / "gone.txt").write_bytes(b"\x00\x01\xff")
    outcomes, _ = run(store, corpus)
    rejects = RejectFile(tmp_path / "rejects.jsonl")
    for outcome in outcomes:
        if outcome.kind == "rejected":
            rejects.add(outcome)
    rejects.finish()
    (corpus / "deep" / "a.txt").write_text("Corrected.")
    (corpus / "gone.txt").unlink()
    again = rejected_before(rejects.path)
    events = list(ingest(Plan([], only=again), toy_encoder, store))
    ended = {(event.kind, event.document_id or event.reason) for event in events if isinstance(event, Outcome)}
    assert ended == {("indexed", "corpus/deep/a.txt"), ("skipped", "no longer there")}
    _, summary = run(store, corpus)
    assert summary.unchanged == 2


def test_each_source_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("bad\nbad\n")
    rejects = RejectFile(tmp_path / "rejects.jsonl")
    for _ in range(2):
        rejects.add(Outcome("rejected", "", str(tmp_path / "a.jsonl"), "bad", "", str(tmp_path), "folder"))
    rejects.finish()
    assert len(rejected_before(rejects.path)) == 1


@pytest.mark.parametrize("content", [b"{}\n", b"odd\n", b"\xff\n", b'{"source": 1, "root": "", "root_kind": "file"}\n'])
def test_what_is_no_reject_file_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rejects.jsonl").write_bytes(content)
    with pytest.raises(ReaderError, match="reject file"):
        rejected_before(tmp_path / "rejects.jsonl")
    with pytest.raises(ReaderError, match="there is no reject file"):
        rejected_before(tmp_path / "nowhere")
