"""How much a page weighs, and what is computed for it more than once: nothing."""

from __future__ import annotations

import gzip

import pytest
from small_corpus import words

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.web.app import create_app

from .conftest import MakeIndex, client_of

ASK = "/?q=Who+climbed+the+Matterhorn%3F"


@pytest.fixture(scope="module")
def larger(make_index: MakeIndex) -> Index:
    return make_index(words(60))


@pytest.mark.parametrize(("k", "most"), [(5, 60_000), (50, 250_000)])
def test_a_page_of_answers_is_light(larger: Index, k: int, most: int) -> None:
    page = client_of(create_app(larger)).get(f"/?q=red+north+1901+climbing+sea&all=true&k={k}").text
    assert page.count("data-rank=") == k
    assert page.count('class="explanation"') == 1
    assert len(page.encode()) < most


def test_answers_are_compressed(index: Index) -> None:
    client = client_of(create_app(index))
    with client.stream("GET", ASK, headers={"accept-encoding": "gzip"}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["vary"]
    assert b"<mark>" in gzip.decompress(raw)
    plain = client.get(ASK, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers


def test_a_question_is_encoded_once_for_all_of_its_explanation(
    index: Index, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    original = type(encoder).encode_questions

    def counting(self: Encoder, questions: list[str]) -> object:
        encoded.extend(questions)
        return original(self, questions)

    monkeypatch.setattr(type(encoder), "encode_questions", counting)
    asked = "Which of them was climbed last of all?"
    answer = client_of(create_app(index)).get("/api/ask", params={"q": asked, "explain": "true"})
    assert answer.json()["explanation"]["opensearch_query"]
    assert encoded == [asked]


def test_metadata_is_counted_once_for_a_state_of_the_index(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with index.engine.view() as view:
        kind = type(view)
    counted: list[int] = []
    original = kind.metadata_values
    monkeypatch.setattr(kind, "metadata_values", lambda self, k: counted.append(k) or original(self, k))
    client = client_of(create_app(index))
    for _ in range(3):
        assert "kind=water" in client.get("/").text
    assert len(counted) == 1
