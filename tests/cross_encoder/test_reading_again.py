"""A reader in a folder, through every door: the command, Python, HTTP, the pages, and the command that fits it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engines import open_local
from small_corpus import DOCUMENTS, encode_all
from starlette.testclient import TestClient
from tiny_model import BODY, tiny_pieces

from sparc_search.cli.main import run
from sparc_search.cross_encoder.files import read_card, write_card
from sparc_search.cross_encoder.network import CrossEncoderNetwork, export
from sparc_search.cross_encoder.reading import open_cross_encoder
from sparc_search.encoder import Encoder
from sparc_search.errors import ModelNotFound, UsageError
from sparc_search.index import Index
from sparc_search.web.app import create_app

QUESTION = "When was the Eiger climbed?"
Out = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index and a reader that was never trained: what it says is chance, but always the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    monkeypatch.setenv("SPARC_SEARCH_INDEX", "index")
    monkeypatch.setenv("SPARC_SEARCH_READ_WITH", str(tmp_path / "reader"))
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
    reader = tmp_path / "reader"
    reader.mkdir()
    tiny_pieces().save(reader)
    torch.manual_seed(1)
    export(CrossEncoderNetwork(BODY), BODY, reader / "reader.onnx")
    write_card(reader, body=BODY, window=24, question_window=12, longest_answer=3, title_window=6, mix=0.0, training={})
    return tmp_path


def test_what_it_says_does_not_depend_on_the_company(folder: Path) -> None:
    reader = open_cross_encoder(folder / "reader", threads=1)
    with Index.open() as index:
        passages = list(index.passages())
        together = list(reader.logits(QUESTION, passages))
        alone = [next(reader.logits(QUESTION, [passage])) for passage in passages]
    for one, other in zip(together, alone, strict=True):
        assert one.nothing == other.nothing
        assert np.array_equal(one.words, other.words)


def test_the_command(folder: Path, capsys: Out) -> None:
    assert run(["ask", QUESTION, "--read", "2", "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["read"]["passages"] == 2
    assert reply["read"]["fast_answer"] == "1858"
    best = reply["answers"][0]
    assert best["read_score"] == pytest.approx(best["read_logits"]["start"] + best["read_logits"]["end"])
    assert run(["ask", QUESTION, "--read", "2", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert 'read again: 2 passages; the fast answer was "1858" (score 6.' in shown
    assert "no part of the score" in shown
    assert run(["ask", QUESTION]) == 0
    assert "read again" not in capsys.readouterr().out


def test_what_cannot_be_read(folder: Path, capsys: Out) -> None:
    assert run(["ask", QUESTION, "--read", "sometimes"]) == 2
    assert "give never, auto, or a number of passages" in capsys.readouterr().err
    with Index.open(read_with=str(folder / "nowhere")) as index:
        assert index.ask(QUESTION).answers
        with pytest.raises(ModelNotFound, match="no reader in"):
            index.ask(QUESTION, read="auto")
        with pytest.raises(UsageError, match="read"):
            index.ask(QUESTION, read=0)


def test_over_http_and_in_the_page(folder: Path) -> None:
    with Index.open() as index:
        client = TestClient(create_app(index), base_url="http://127.0.0.1")
        reply = client.get("/api/ask", params={"q": QUESTION, "read": "2"}).json()
        assert reply["read"]["passages"] == 2
        body = {"questions": [QUESTION], "read": 2}
        assert client.post("/api/ask", json=body).json()["replies"][0]["read"] == reply["read"]
        assert client.get("/api/ask", params={"q": QUESTION}).json()["read"] is None
        assert client.get("/api/ask", params={"q": QUESTION, "read": "99"}).status_code == 422
        page = client.get("/", params={"q": QUESTION, "read": "2"}).text
        assert "A reader read 2 passages again" in page
        assert 'value="never" selected' in client.get("/", params={"q": QUESTION}).text


def test_it_is_fitted_to_a_model(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    questions = [{"question": QUESTION, "answer": ["1858"]}, {"question": "Who climbed it?", "answer": ["Whymper"]}]
    (folder / "asked.jsonl").write_text("\n".join(map(json.dumps, questions)))
    (folder / "absent.jsonl").write_text(json.dumps({"question": "Who is the king?", "answer": ["Nobody"]}))
    command = ["evaluate", "reading", "asked.jsonl", "--absent", "absent.jsonl", "--passages", "2", "--write", "--json"]
    assert run(command) == 0
    fitted: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (fitted["questions"], fitted["absent"]) == (2, 1)
    serving = read_card(folder / "reader").serving
    assert serving["model"] == toy_encoder.fingerprint
    assert serving["weight"] == fitted["fit"]["weight"]
    with Index.open() as index:
        assert index.rereader.fit.calibration is not None
        assert 0 <= (index.ask(QUESTION, read=2).confidence or 0) <= 1
