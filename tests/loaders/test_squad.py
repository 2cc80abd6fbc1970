from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from sparc_search.encoder import Encoder
from sparc_search.errors import RejectedDocument
from sparc_search.loaders.passages import cut
from sparc_search.loaders.resuming import Item
from sparc_search.records import Document

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]


def squad(*articles: object) -> bytes:
    return json.dumps({"version": "1.1", "data": articles}).encode()


def article(*contexts: str, **fields: str) -> dict[str, object]:
    return {**fields, "paragraphs": [{"context": context, "qas": []} for context in contexts]}


def test_an_article_is_a_document(items: Items) -> None:
    data = squad(article("One.", " Two\n\nlines. ", title="Super_Bowl_50"), article("Three.", title="Super_Bowl_50"))
    assert items("squad", data, "dev.json") == [
        Document("dev.json#1", "One.\n\nTwo\nlines.", "Super Bowl 50", "dev.json"),
        Document("dev.json#2", "Three.", "Super Bowl 50", "dev.json"),
    ]


def test_paragraphs_are_the_passages_of_an_untitled_article_of_thousands(one: One, toy_encoder: Encoder) -> None:
    contexts = [f"Paragraph number {number} says that it is one of very many in here." for number in range(3000)]
    document = one("squad", squad(article(*contexts)), "dev.json")
    assert document.title == ""
    assert [passage.text for passage in cut(document, toy_encoder)] == contexts


def test_a_bad_article_is_one_reject(items: Items) -> None:
    found = items("squad", squad({"title": "x"}, "nonsense", article("Good."), {"paragraphs": [{}]}), "dev.json")
    assert [type(item) for item in found] == [RejectedDocument, RejectedDocument, Document, RejectedDocument]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"data": 1}', b"[" * 100_000, b'{"a": 1}\n{"a": 2}\n'])
def test_what_is_not_squad_is_rejected(reject: Reject, data: bytes) -> None:
    assert "JSON" in reject("squad", data)
