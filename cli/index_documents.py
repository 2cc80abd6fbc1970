"""Documents on their way from one index to another: encoded anew, or taken over as they are."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TextIO

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine
from sparc_search.errors import UsageError
from sparc_search.loaders.batches import by_length
from sparc_search.loaders.hashing import content_hash
from sparc_search.loaders.passages import cut_and_count
from sparc_search.records import Document, EncodedPassage, Passage
from sparc_search.stored import EncodedDocument

_POOL_TOKENS = 16_384
_BATCH_TOKENS = 2_048
_ADD_PASSAGES = 256


@dataclass(slots=True)
class Moved:
    """How many documents a run has taken over."""

    documents: int = 0
    passages: int = 0
    unchanged: int = 0
    """Already there, so nothing was done."""


def move_encoded(documents: Iterable[EncodedDocument], engine: Engine) -> Iterator[Moved]:
    """Add documents that have their blocks already; the count after each batch."""
    moved = Moved()
    for batch in _batches(documents):
        known = _known(engine, [one.document.id for one in batch])
        new = [one for one in batch if known.get(one.document.id) != one.content_hash]
        _add(engine, new)
        moved.documents += len(new)
        moved.passages += sum(len(one.passages) for one in new)
        moved.unchanged += len(batch) - len(new)
        yield moved


def _known(engine: Engine, ids: list[str]) -> dict[str, str]:
    with engine.view() as view:
        return view.content_hashes(ids)


def _add(engine: Engine, documents: list[EncodedDocument]) -> None:
    for refusal in engine.writer().add(documents):
        raise refusal.error()


def _batches(documents: Iterable[EncodedDocument]) -> Iterator[list[EncodedDocument]]:
    batch: list[EncodedDocument] = []
    for document in documents:
        batch.append(document)
        if sum(len(one.passages) for one in batch) >= _ADD_PASSAGES or len(batch) >= _ADD_PASSAGES:
            yield batch
            batch = []
    if batch:
        yield batch


def encode_and_move(documents: Iterable[Document], encoder: Encoder, engine: Engine) -> Iterator[Moved]:
    """Cut and encode documents and add them, but for those that are there already; the count after each pool."""
    moved = Moved()
    for pool in _pools(documents, encoder, engine, moved):
        encoded = _encoded(pool, encoder)
        _add(engine, encoded)
        moved.documents += len(encoded)
        moved.passages += sum(len(one.passages) for one in encoded)
        yield moved
    yield moved


_Cut = tuple[Document, str, list[tuple[Passage, int]]]


def _pools(documents: Iterable[Document], encoder: Encoder, engine: Engine, moved: Moved) -> Iterator[list[_Cut]]:
    pool: list[_Cut] = []
    for document in documents:
        digest = content_hash(document, encoder.window)
        if _known(engine, [document.id]).get(document.id) == digest:
            moved.unchanged += 1
            continue
        pool.append((document, digest, [pair for pair in cut_and_count(document, encoder) if pair[1]]))
        if sum(tokens for _, _, passages in pool for _, tokens in passages) >= _POOL_TOKENS:
            yield pool
            pool = []
    if pool:
        yield pool


def _encoded(pool: list[_Cut], encoder: Encoder) -> list[EncodedDocument]:
    """The documents of a pool, encoded in batches of about one length."""
    pairs = list(chain.from_iterable(passages for _, _, passages in pool))
    done: dict[int, EncodedPassage] = {}
    for batch in by_length([tokens for _, tokens in pairs], _BATCH_TOKENS):
        done.update(zip(batch, encoder.encode_passages([pairs[i][0] for i in batch]), strict=True))
    in_order = iter([done[number] for number in range(len(pairs))])
    return [
        EncodedDocument(document, digest, tuple(next(in_order) for _ in passages))
        for document, digest, passages in pool
    ]


def lines_from(path: str) -> Generator[str, None, None]:
    """The lines of a file, of a gzip file, or of standard input."""
    if path == "-":
        yield from sys.stdin
        return
    try:
        with _text(Path(path), "r", compressed=path.endswith(".gz")) as stream:
            yield from stream
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", "name a file that `sparc-search index export` made") from error


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, or to a gzip file; a file that is there already is replaced when all is written."""
    draft = path.with_name(path.name + ".part")
    try:
        with _text(draft, "w", compressed=path.suffix == ".gz") as stream:
            stream.writelines(line + "\n" for line in lines)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _text(path: Path, mode: Literal["r", "w"], *, compressed: bool) -> Iterator[TextIO]:
    opened: Any = gzip.open if compressed else open
    with opened(path, f"{mode}t", encoding="utf-8") as stream:
        yield stream
