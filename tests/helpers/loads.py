"""Loads that are to survive something: documents of some size, and the proof that each is there exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from engines import Engine, Store
from small_corpus import encode_all

from sparc_search.encoder import Encoder
from sparc_search.opening import place_of
from sparc_search.records import Document
from sparc_search.stored import EncodedDocument, Refusal
from sparc_search.stores.opensearch import OpenSearchEngine
from sparc_search.stores.opensearch.bulk import BulkLimits

AT_ONCE = 40


def long_documents(count: int, encoder: Encoder, seed: int = 0) -> list[EncodedDocument]:
    """Documents of two passages, which take some 20 kB on a server; few are encoded, the others are like them."""
    rng = np.random.default_rng(seed)
    vocabulary = np.array([f"{head}{tail}" for head in ("sea", "lake", "North", "19") for tail in range(100)])
    texts = ["\n\n".join(" ".join(rng.choice(vocabulary, 60)) for _ in range(2)) for _ in range(min(count, 8))]
    models = encode_all([Document(f"model-{n}", text) for n, text in enumerate(texts)], encoder)
    return [_like(models[n % len(models)], f"doc-{seed}-{n:04d}") for n in range(count)]


def _like(model: EncodedDocument, id: str) -> EncodedDocument:
    passages = tuple(
        replace(one, passage=replace(one.passage, id=f"{id}/{n}", document_id=id))
        for n, one in enumerate(model.passages)
    )
    return EncodedDocument(replace(model.document, id=id), f"hash of {id}", passages)


@contextmanager
def writing(engine: Engine, limits: BulkLimits | None = None, **settings: Any) -> Iterator[Any]:
    """A store that is open for writing, with limits of its own."""
    found = engine.settings(**settings)
    kind = type("Limited", (OpenSearchEngine,), {"limits": limits or BulkLimits()})
    with Store(kind.open(place_of(found), "toy-1", writable=True), found) as store:
        yield store


def load(store: Any, documents: Sequence[EncodedDocument], after: Callable[[int], None] | None = None) -> list[Refusal]:
    """Add documents as an ingest does, in portions; `after` is told how many are through."""
    refusals = []
    for begin in range(0, len(documents), AT_ONCE):
        refusals += store.add_what_fits(documents[begin : begin + AT_ONCE])
        if after:
            after(begin + AT_ONCE)
    return refusals


@contextmanager
def meanwhile(function: Callable[[], None]) -> Iterator[threading.Thread]:
    """Run something beside; what it raises is raised here at the end."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()
    if errors:
        raise errors[0]


def assert_each_is_there_once(engine: Engine, expected: Sequence[EncodedDocument], **settings: Any) -> None:
    """Every document and passage, whole, and nothing besides; the store's own verification finds nothing wrong."""
    with engine.open(writable=False, **settings) as store:
        found = {one.document.id: one for one in store.documents()}
        assert not store.verify().problems
    wanted = {one.document.id: one for one in expected}
    assert found.keys() == wanted.keys()
    for id, one in wanted.items():
        assert found[id].document == one.document
        assert [passage.passage for passage in found[id].passages] == [passage.passage for passage in one.passages]
    count = engine.request("GET", f"/{engine.prefix}-index/_count")["count"]
    assert count == sum(len(one.passages) for one in expected)
