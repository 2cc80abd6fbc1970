"""A handful of documents for the toy encoder, and how they get into a store without the ingest pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from sparc_search.encoder import Encoder
from sparc_search.records import Document, EncodedPassage, Features, Passage
from sparc_search.stored import EncodedDocument, Hit

ALPS = """The Eiger was first climbed in 1858 by Charles Barrington.

The Matterhorn was first climbed in 1865 by Edward Whymper. Seven men reached the summit."""

SEAS = "The Baltic Sea is shallow. The Caspian Sea has no outlet; it covers 371000 square kilometres."

DOCUMENTS = (
    Document("alps", ALPS, "Alps", "alps.md", {"kind": "mountains", "lang": "en"}),
    Document("seas", SEAS, "Seas", "seas.md", {"kind": "water", "lang": "en"}),
)


def encoded(document: Document, encoder: Encoder) -> EncodedDocument:
    """The document cut at empty lines and encoded."""
    passages, at = [], 0
    for number, text in enumerate(document.text.split("\n\n")):
        passages.append(
            Passage(
                f"{document.id}/{number}",
                document.id,
                number,
                text,
                at,
                document.title,
                document.source,
                metadata=document.metadata,
            )
        )
        at += len(text) + 2
    return EncodedDocument(document, f"hash of {document.text}", tuple(encoder.encode_passages(passages)))


def encode_all(documents: Iterable[Document], encoder: Encoder) -> list[EncodedDocument]:
    return [encoded(document, encoder) for document in documents]


def plain(id: str, text: str, metadata: Mapping[str, str] | None = None) -> Document:
    return Document(id, text, metadata=metadata or {})


def words(count: int, seed: int = 0) -> list[Document]:
    rng = np.random.default_rng(seed)
    vocabulary = ["red", "green", "blue", "North", "South", "1901", "1902", "climbing", "sea", "lake"]
    texts = [" ".join(rng.choice(vocabulary, rng.integers(1, 9))) + "." for _ in range(count)]
    return [
        Document(f"d{seed}-{n:03d}", text, source=f"s/{n % 3}/f{n}", metadata={"group": str(n % 4)})
        for n, text in enumerate(texts)
    ]


def all_passages(documents: Iterable[Document], encoder: Encoder) -> list[EncodedPassage]:
    return [passage for one in encode_all(documents, encoder) for passage in one.passages]


def best(passages: Sequence[EncodedPassage], query: Features, k: int) -> list[Hit]:
    """What `sparse_search` must give, computed as the definition says."""
    hits = []
    for passage in passages:
        score = 0.0
        for field, weights in sorted(query.items()):
            for name, weight in sorted(weights.items()):
                score += weight * passage.features.get(field, {}).get(name, 0.0)
        if score > 0:
            hits.append(Hit(passage.passage.id, score))
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage_id))[:k]


def nearest(passages: Sequence[EncodedPassage], vector: Any, k: int) -> list[str]:
    scored = [
        (-float(np.dot(p.block.passage_vector.astype(np.float32), vector) * np.float32(p.block.passage_scale)), p)
        for p in passages
    ]
    return [p.passage.id for _, p in sorted(scored, key=lambda pair: (round(pair[0], 5), pair[1].passage.id))][:k]


QUERY: Features = {
    "start": {"climb": 1.0, "red": 0.5, "red green": 0.25, "nowhere": 3.0},
    "end": {"sea": 0.75},
    "lex": {"lake": 0.3, "1901": 0.2, "red": 0.1, "%2E": 0.05},
}


@contextmanager
def readers(opened: Callable[[], AbstractContextManager[Any]], look: Callable[[Any], None]) -> Iterator[None]:
    """Two threads that look at one view after another of a store; whatever goes wrong in them is raised at the end."""
    problems: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        try:
            with opened() as reader:
                while not done.is_set():
                    with reader.view() as view:
                        look(view)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert problems == []
