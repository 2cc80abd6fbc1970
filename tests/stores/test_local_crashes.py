"""A process that writes is killed, at each named moment and at random ones: nothing acknowledged may be lost."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engines import Store, open_local
from small_corpus import encode_all

from sparc_search.encoder import Encoder
from sparc_search.records import Document
from sparc_search.stores.local import points, writer

Model = dict[str, str]
Operation = tuple[str, tuple[tuple[str, str], ...]]
WRITING = [name for name in points.NAMES if name not in ("rebuilt beside", "switched", "backup verified")]
"""Those that a writer of these operations passes; the others are tested where they belong."""
WORDS = ["red", "green", "blue", "North", "South", "1901", "sea", "lake"]


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "FLUSH", 3)
    monkeypatch.setattr(writer, "MERGE", 2)


def operations(seed: int) -> Iterator[Operation]:
    """What a writer does, for ever; the same for the same seed."""
    chance = random.Random(seed)
    while True:
        kind = chance.choices(["add", "delete", "compact", "reopen"], [8, 3, 1, 1])[0]
        ids = sorted({f"doc-{chance.randrange(10)}" for _ in range(chance.randint(1, 3))})
        yield kind, tuple((id, " ".join(chance.choices(WORDS, k=4))) for id in ids)


def apply(store: Store, operation: Operation, encoder: Encoder) -> Store:
    kind, documents = operation
    if kind == "add":
        store.add(encode_all([Document(id, text) for id, text in documents], encoder))
    elif kind == "delete":
        store.delete([id for id, _ in documents])
    elif kind == "compact":
        store.compact()
    else:
        store.close()
        return open_local(store.location, encoder.fingerprint, writable=True)
    return store


def after(model: Model, operation: Operation) -> Model:
    kind, documents = operation
    if kind == "add":
        return {**model, **dict(documents)}
    if kind == "delete":
        return {id: text for id, text in model.items() if id not in dict(documents)}
    return model


def write_until_killed(location: Path, seed: int, encoder: Encoder, point: str, passes: int) -> None:
    """The child: acknowledge each operation that has returned; end at the given pass of a point."""
    left = passes

    def reached(name: str) -> None:
        nonlocal left
        if name == point:
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    points.reached = reached
    store = open_local(location, encoder.fingerprint, writable=True)
    for operation in operations(seed):
        store = apply(store, operation, encoder)
        os.write(1, b".")


def acknowledged(child: Callable[[], None], kill_after: float | None) -> int:
    """Run the child in a process of its own until it dies; how many operations it acknowledged."""
    reader, output = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(output, 1)
            child()
        finally:
            os._exit(70)  # only reached by an error: the parent expects a signal
    os.close(output)
    count, ends = 0, time.monotonic() + (kill_after if kill_after is not None else 60)
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, ends - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            assert kill_after is not None, "the point was not reached within a minute"
        data = os.read(reader, 4096)
        if not data:
            break
        count += len(data)
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    return count


def found(store: Store) -> Model:
    ids = [f"doc-{n}/0" for n in range(10)]
    return {passage.passage.document_id: passage.passage.text for passage in store.fetch(ids)}


def check(location: Path, seed: int, count: int, encoder: Encoder) -> None:
    """The index is what was acknowledged, or that and the operation that was under way."""
    model: Model = {}
    stream = operations(seed)
    for _ in range(count):
        model = after(model, next(stream))
    possible = [model, after(model, next(stream))]
    if not (location / "CURRENT").exists():
        assert count == 0
        return
    with open_local(location, encoder.fingerprint, writable=False) as store:
        state = found(store)
        assert state in possible
        assert found_by_search(store) == set(state)
    with open_local(location, encoder.fingerprint, writable=True) as store:
        assert found(store) == state
        assert store.verify().problems == ()
        store.add(encode_all([Document("doc-0", "red again")], encoder))
        assert found(store) == {**state, "doc-0": "red again"}
    with open_local(location, encoder.fingerprint, writable=False) as store:
        assert found_by_search(store) == {*state, "doc-0"}


def found_by_search(store: Store) -> set[str]:
    query = {"lex": {word.lower(): 1.0 for word in WORDS}}
    return {hit.passage_id.partition("/")[0] for hit in store.sparse_search(query, 100, {})}


@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("point", WRITING)
def test_killed_at_a_point(tmp_path: Path, toy_encoder: Encoder, point: str, passes: int) -> None:
    location, seed = tmp_path / "index", passes
    count = acknowledged(lambda: write_until_killed(location, seed, toy_encoder, point, passes), None)
    check(location, seed, count, toy_encoder)


@pytest.mark.parametrize("seed", range(30))
def test_killed_at_any_moment(tmp_path: Path, toy_encoder: Encoder, seed: int) -> None:
    location = tmp_path / "index"
    delay = random.Random(seed).uniform(0.0, 0.6)
    count = acknowledged(lambda: write_until_killed(location, seed, toy_encoder, "", 0), delay)
    check(location, seed, count, toy_encoder)
