"""A writer that ends at any request leaves nothing that the next one does not put right."""

from __future__ import annotations

from typing import Any

import pytest
from engines import Engine
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.encoder import Encoder


class Crash(BaseException):
    """The process is gone."""


def dies_at(store: Any, request: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From this request on, nothing of the store reaches the server."""
    send, count = store.server.send, 0

    def counted(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        if count >= request:
            raise Crash
        return send(*arguments)

    monkeypatch.setattr(store.server, "send", counted)


def abandon(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a process that was killed: its lease, until it runs out."""
    monkeypatch.undo()
    store.close()


def dies(*_: object) -> None:
    raise Crash


CHANGES = [plain("alps", "Only lakes."), plain("new", "A zebra.\n\nAnother zebra."), plain("empty", "Nothing")]


def passages(store: Any) -> set[str]:
    return set(store.matching({}))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_adding_and_replacing(opensearch: Engine, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = encode_all(CHANGES, toy_encoder)
    finished = False
    request = 1
    while not finished:
        with opensearch.open() as store:
            store.delete([one.document.id for one in changes])
            store.add(encode_all(DOCUMENTS, toy_encoder))
            store.dense_search(changes[0].passages[0].block.passage_vector[None].astype("float32"), 1, {})
        store = opensearch.open()
        dies_at(store, request, monkeypatch)
        try:
            store.add(changes)
            finished = True
        except Crash:
            pass
        abandon(store, monkeypatch)
        with opensearch.open() as store:
            assert store.verify().problems == (), request
            known = store.content_hashes(["alps", "seas", "new", "empty"])
            assert known["seas"] == f"hash of {DOCUMENTS[1].text}"
            assert known.get("alps") in (None, changes[0].content_hash, f"hash of {DOCUMENTS[0].text}")
            store.add([one for one in changes if known.get(one.document.id) != one.content_hash])
            assert passages(store) == {"alps/0", "seas/0", "new/0", "new/1", "empty/0"}
            assert store.verify().problems == ()
            (near,) = store.dense_search(changes[0].passages[0].block.passage_vector[None].astype("float32"), 99, {})
            assert {hit.passage_id for hit in near} == passages(store)
        request += 2
    assert request > 8


def test_a_text_of_the_same_length(opensearch: Engine, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums are as before, and yet each term has to be counted again."""
    before, after = (encode_all([plain("d", text)], toy_encoder) for text in ("Only lakes.", "Many zebras."))
    with opensearch.open() as store:
        store.add(before)
    store = opensearch.open()
    monkeypatch.setattr(store.writer(), "_commit", dies)
    with pytest.raises(Crash):
        store.add(after)
    abandon(store, monkeypatch)
    with opensearch.open() as store:
        assert store.verify().problems == ()
        assert store.content_hashes(["d"]) == {"d": after[0].content_hash}
    with opensearch.open() as store:
        store.add(encode_all([plain("other", "A lion.")], toy_encoder))
        assert store.verify().problems == ()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_deleting(opensearch: Engine, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = False
    request = 2
    while not finished:
        with opensearch.open() as store:
            store.add(encode_all(DOCUMENTS, toy_encoder))
        store = opensearch.open()
        dies_at(store, request, monkeypatch)
        try:
            store.delete(["alps"])
            finished = True
        except Crash:
            pass
        abandon(store, monkeypatch)
        with opensearch.open() as store:
            assert store.verify().problems == (), request
            there = "alps" in store.content_hashes(["alps"])
            assert passages(store) == ({"alps/0", "alps/1", "seas/0"} if there else {"seas/0"})
        request += 2
    assert request > 6
