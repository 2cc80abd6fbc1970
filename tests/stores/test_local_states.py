"""Whatever is done to a store, in whatever order, it equals a dictionary."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engines import Store, open_local
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from small_corpus import encode_all

from sparc_search.encoder import Encoder
from sparc_search.records import Document
from sparc_search.stores.local import writer

IDS = st.sampled_from([f"doc-{n}" for n in range(8)])
WORDS = st.sampled_from(["red", "green", "North", "1901", "climbing", "sea"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=3).map("\n\n".join)
GROUPS = st.sampled_from(["a", "b"])


class LocalStoreMachine(RuleBasedStateMachine):
    encoder: Encoder

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.location = Path(self.folder.name) / "index"
        self.model: dict[str, Document] = {}
        self.store: Store = open_local(self.location, "toy-1", writable=True)
        self.reader = open_local(self.location, "toy-1", writable=False)

    @rule(documents=st.lists(st.tuples(IDS, TEXTS, GROUPS), min_size=1, max_size=3))
    def add(self, documents: list[tuple[str, str, str]]) -> None:
        made = [Document(id, text, metadata={"group": group}) for id, text, group in documents]
        self.store.add(encode_all(made, self.encoder))
        self.model.update({document.id: document for document in made})

    @rule(ids=st.lists(IDS, max_size=4))
    def delete(self, ids: list[str]) -> None:
        expected = len({id for id in ids if id in self.model})
        assert self.store.delete(ids) == expected
        for id in ids:
            self.model.pop(id, None)

    @rule()
    def compact(self) -> None:
        self.store.compact()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_local(self.location, "toy-1", writable=True)

    @rule()
    def another_reader(self) -> None:
        self.reader.close()
        self.reader = open_local(self.location, "toy-1", writable=False)

    @rule()
    def check_everything(self) -> None:
        assert self.store.verify().problems == ()

    @invariant()
    def searches_equal_the_model(self) -> None:
        documents = encode_all(self.model.values(), self.encoder)
        passages = {p.passage.id: p for document in documents for p in document.passages}
        for store in (self.store, self.reader):
            hashes = store.content_hashes([f"doc-{n}" for n in range(8)])
            assert hashes == {document.document.id: document.content_hash for document in documents}
            query = {"lex": {"red": 1.0, "sea": 0.5}, "start": {"climb": 0.25}}
            expected = {}
            for id, p in passages.items():
                lex, start = p.features["lex"], p.features["start"]
                score = lex.get("red", 0) + 0.5 * lex.get("sea", 0) + 0.25 * start.get("climb", 0)
                if score > 0:
                    expected[id] = score
            assert {h.passage_id: h.score for h in store.sparse_search(query, 100, {})} == pytest.approx(expected)
            near = store.dense_search(np.ones((1, 4), np.float32), 100, {"group": "a"})[0]
            assert {h.passage_id for h in near} == {
                id for id, p in passages.items() if p.passage.metadata["group"] == "a"
            }
            assert [s.passage for s in store.fetch(sorted(passages))] == [passages[i].passage for i in sorted(passages)]
            self.counts_are_right(store, list(passages.values()))

    def counts_are_right(self, store: Store, passages: list[Any]) -> None:
        counts: Counter[str] = Counter()
        for passage in passages:
            counts.update(list(passage.features["lex"]))
        found = store.statistics(["red", "green", "north", "1901", "climb", "##ing", "sea"])
        assert found.document_frequency == counts
        assert found.passages == len(passages)

    def teardown(self) -> None:
        self.reader.close()
        self.store.close()
        self.folder.cleanup()


def test_a_store_equals_a_dictionary(toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "FLUSH", 3)
    monkeypatch.setattr(writer, "MERGE", 2)
    monkeypatch.setattr(LocalStoreMachine, "encoder", toy_encoder, raising=False)
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        LocalStoreMachine, settings=settings(max_examples=12, stateful_step_count=15, deadline=None)
    )
