"""An engine for sparc-search over LMDB: one memory-mapped file, many readers, one writer, transactions.

It has what an engine must have, and filters and vectors besides. Everything is in tables of one LMDB environment:

    meta        encoder, identity, how many passages there are, and the generation: every change raises it
    documents   hash of a document's id -> its content hash and the numbers of its passages
    ids         hash of a passage's id  -> its number, which is the generation it came with
    passages    number                  -> the passage, its phrase block, its features
    postings    field, name, number     -> the value of a feature in a passage
"""

from __future__ import annotations

import hashlib
import heapq
import json
import struct
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import uuid4
from weakref import WeakValueDictionary

import lmdb
import numpy as np
from filelock import FileLock, Timeout

from sparc_search import stored
from sparc_search.engine import Engine, Place, View, Where, Writer
from sparc_search.errors import DiskFull, IndexLocked, IndexMismatch, IndexNotFound, UsageError
from sparc_search.records import Features, Passage
from sparc_search.setting import Setting
from sparc_search.stores import borders, phrase_block
from sparc_search.stores.features import as_features, decode_features, encode_features
from sparc_search.stores.refusals import badly_encoded, taken_id

GIGABYTES = Setting("lmdb_gigabytes", 64.0, "Most room an index may take; nothing is taken before.", least=0.01)
_TABLES = ("meta", "documents", "ids", "passages", "postings")
_VALUE, _ENDS = struct.Struct("<d"), struct.Struct("<II")


class LmdbEngine(Engine):
    """Passages in one LMDB file on this machine."""

    settings = (GIGABYTES,)

    def __init__(self, shared: _Shared, held: FileLock | None) -> None:
        self._shared, self._held = shared, held
        with shared.transaction() as tables:
            self.encoder, self._identity = tables.meta["encoder"], tables.meta["identity"]

    @classmethod
    def open(cls, place: Place, encoder: str = "", *, writable: bool = False) -> Self:
        """Open the index in a folder; to write, it is made if there is none."""
        location = place.location
        if not (location / "data.mdb").exists() and not (writable and encoder):
            raise IndexNotFound(f"there is no index at {location}", "make one with `sparc-search ingest PATH`")
        held = _lock(location) if writable else None
        engine = cls(_Shared.open(location, float(str(place.values[GIGABYTES.name])), encoder), held)
        if encoder not in ("", engine.encoder):
            engine.close()
            raise IndexMismatch(
                f"the index at {location} was made with the model {engine.encoder}, not with {encoder}",
                "ask with the model that made it (--model); this engine cannot `sparc-search index upgrade`",
            )
        return engine

    @contextmanager
    def view(self) -> Iterator[View]:
        """What is committed now; a read transaction holds it still."""
        with self._shared.transaction() as tables:
            yield LmdbView(tables, self._identity)

    def writer(self) -> Writer:
        """Whoever changes the index."""
        if self._held is None:
            raise UsageError("the index was opened for reading", "open it with writable=True")
        return LmdbWriter(self._shared)

    def close(self) -> None:
        """Let go of the right to write; the file is closed when nobody uses it any more."""
        if self._held:
            self._held.release()


class LmdbView(View):
    """One read transaction."""

    def __init__(self, tables: _Tables, identity: str) -> None:
        self._tables, self.identity = tables, identity

    def sparse_search(self, queries: Sequence[Features], k: int, where: Where) -> list[stored.Hits]:
        """Add up the postings of every feature of a query, then name the k best."""
        return [stored.Hits(self._best(query, k, where)) for query in queries]

    def _best(self, query: Features, k: int, where: Where) -> list[stored.Hit]:
        scores: dict[bytes, float] = defaultdict(float)
        for field, features in query.items():
            for name, weight in features.items():
                for number, value in self._tables.postings(field, name):
                    scores[number] += weight * value
        passages = ((score, self._tables.parts(number)[0]) for number, score in scores.items() if score > 0)
        hits = (stored.Hit(passage.id, score) for score, passage in passages if stored.fits(passage.metadata, where))
        return heapq.nsmallest(k, hits, key=lambda hit: (-hit.score, hit.passage_id))

    def fetch(self, passage_ids: Sequence[str]) -> stored.Fetched:
        """Passages by id, in that order."""
        numbers = (self._tables.get("ids", _key(id)) for id in passage_ids)
        found = (self._tables.parts(number) for number in numbers if number)
        passages = [stored.StoredPassage(passage, phrase_block.decode(block)) for passage, block, _ in found]
        return stored.Fetched(passages)

    def statistics(self, lex_names: Sequence[str]) -> stored.Statistics:
        """How long the postings of these terms are."""
        meta, postings = self._tables.meta, self._tables.postings
        lengths = {name: sum(1 for _ in postings("lex", name)) for name in set(lex_names)}
        return stored.Statistics(meta["generation"], meta["passages"], {n: long for n, long in lengths.items() if long})

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each of these documents that is there."""
        rows = {id: self._tables.get("documents", _key(id)) for id in document_ids}
        return {id: json.loads(row)["content_hash"] for id, row in rows.items() if row}

    def matching(self, where: Where) -> stored.Matching:
        """Look at the metadata of every passage."""
        passages = (self._tables.parts(number)[0] for number, _ in self._tables.items("passages"))
        return stored.Matching([passage.id for passage in passages if stored.fits(passage.metadata, where)])

    def vector_changes(self, since: int) -> Iterator[stored.VectorChange]:
        """Every later passage that is still there."""
        for number, _ in self._tables.items("passages", (since + 1).to_bytes(8)):
            passage, data, _ = self._tables.parts(number)
            block = phrase_block.decode(data)
            scale = np.array([block.passage_scale], np.float32)
            yield stored.VectorChange(int.from_bytes(number), (passage.id,), block.passage_vector[None] * scale, scale)


class LmdbWriter(Writer):
    """Every change is one write transaction."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared

    def add(self, documents: Sequence[stored.EncodedDocument]) -> list[stored.Refusal]:
        """Add or replace documents, all that fit in one transaction."""
        last = {one.document.id: one for one in documents}
        with self._shared.transaction(write=True) as tables:
            for id in last:
                tables.delete_document(id)
            return [refusal for one in last.values() if (refusal := tables.put_document(one))]

    def delete(self, document_ids: Iterable[str]) -> int:
        """Delete documents; how many there were."""
        with self._shared.transaction(write=True) as tables:
            return sum(tables.delete_document(id) for id in document_ids)


class _Tables:
    """The tables as one transaction sees them."""

    def __init__(self, transaction: Any, tables: Mapping[str, Any]) -> None:
        self._transaction, self._tables = transaction, tables
        self.meta: dict[str, Any] = json.loads(self.get("meta", b"meta") or b"{}")

    def get(self, table: str, key: bytes) -> bytes | None:
        found: bytes | None = self._transaction.get(key, db=self._tables[table])
        return found

    def put(self, table: str, key: bytes, value: object) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self._transaction.put(key, data, db=self._tables[table])

    def delete(self, table: str, key: bytes) -> bool:
        return bool(self._transaction.delete(key, db=self._tables[table]))

    def items(self, table: str, first: bytes = b"\0") -> Iterator[tuple[bytes, bytes]]:
        """Keys and values, in the order of the keys, from one on."""
        with self._transaction.cursor(db=self._tables[table]) as cursor:
            if cursor.set_range(first):
                yield from cursor

    def postings(self, field: str, name: str) -> Iterator[tuple[bytes, float]]:
        """Number and value of every passage with a feature."""
        begin = _posting(field, name)
        for found, value in self.items("postings", begin):
            if not found.startswith(begin):
                return
            yield found[len(begin) :], _VALUE.unpack(value)[0]

    def parts(self, number: bytes) -> tuple[Passage, bytes, bytes]:
        """A passage, its block and its features."""
        data = self.get("passages", number) or b""
        first, second = (_ENDS.size + end for end in _ENDS.unpack_from(data))
        facts = json.loads(data[_ENDS.size : first])
        return Passage(**borders.read_structure(facts)), data[first:second], data[second:]

    def put_document(self, one: stored.EncodedDocument) -> stored.Refusal | None:
        """Write a document that is not there; or say why not, and write nothing."""
        rows = []
        for passage in one.passages:
            if self.get("ids", _key(passage.passage.id)):
                return taken_id(one.document.id, passage.passage.id)
            try:
                rows.append((passage.passage, phrase_block.encode(passage.block), encode_features(passage.features)))
            except ValueError as error:
                return badly_encoded(one.document.id, error)
        numbers = [self.meta["generation"] + place for place in range(1, len(rows) + 1)]
        for place, (passage, block, features) in zip(numbers, rows, strict=True):
            number = place.to_bytes(8)
            facts = json.dumps(asdict(passage)).encode()
            self.put("passages", number, _ENDS.pack(len(facts), len(facts) + len(block)) + facts + block + features)
            self.put("ids", _key(passage.id), number)
            for begin, value in _postings(features):
                self.put("postings", begin + number, _VALUE.pack(value))
        self.put("documents", _key(one.document.id), {"content_hash": one.content_hash, "numbers": numbers})
        self._count(len(rows), generations=len(rows) + 1)
        return None

    def delete_document(self, id: str) -> bool:
        """Delete a document with all that is its own; whether it was there."""
        row = json.loads(self.get("documents", _key(id)) or b"null")
        for number in (place.to_bytes(8) for place in (row["numbers"] if row else ())):
            passage, _, features = self.parts(number)
            for begin, _ in _postings(features):
                self.delete("postings", begin + number)
            self.delete("ids", _key(passage.id))
            self.delete("passages", number)
        if row:
            self._count(-len(row["numbers"]), generations=1)
        return self.delete("documents", _key(id))

    def _count(self, passages: int, generations: int) -> None:
        self.meta["passages"] += passages
        self.meta["generation"] += generations
        self.put("meta", b"meta", self.meta)


class _Shared:
    """The LMDB environment of a folder. A process may open it only once: whoever opens it again shares it."""

    _all: ClassVar[WeakValueDictionary[Path, _Shared]] = WeakValueDictionary()
    _lock: ClassVar = threading.Lock()

    def __init__(self, path: Path, gigabytes: float, encoder: str) -> None:
        size, tables = int(gigabytes * 2**30), len(_TABLES)
        self._environment = lmdb.open(str(path), map_size=size, max_dbs=tables, max_readers=1024)
        self._tables = {name: self._environment.open_db(name.encode()) for name in _TABLES}
        with self.transaction(write=True) as tables:
            if not tables.meta:
                tables.put(
                    "meta", b"meta", {"encoder": encoder, "identity": uuid4().hex, "generation": 0, "passages": 0}
                )

    @classmethod
    def open(cls, location: Path, gigabytes: float, encoder: str) -> _Shared:
        with cls._lock:
            path = location.resolve()
            shared = cls._all.get(path) or cls(path, gigabytes, encoder)
            cls._all[path] = shared
            return shared

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[_Tables]:
        """The tables as they are now. What is written is there, and synced, when the context ends without an error."""
        try:
            with self._environment.begin(write=write) as transaction:
                yield _Tables(transaction, self._tables)
        except lmdb.MapFullError as error:
            raise DiskFull("the index is as large as it may be", f"set `{GIGABYTES.name}` to more") from error


def _lock(location: Path) -> FileLock:
    location.mkdir(parents=True, exist_ok=True)
    held = FileLock(location / "writer.lock", thread_local=False)
    try:
        held.acquire(timeout=0)
    except Timeout:
        raise IndexLocked(f"another process is writing to the index at {location}", "wait for it") from None
    return held


def _postings(features: bytes) -> Iterator[tuple[bytes, float]]:
    """How the keys of a passage's postings begin, and their values."""
    for field, values in as_features(decode_features(features)).items():
        yield from ((_posting(field, name), value) for name, value in values.items())


def _posting(field: str, name: str) -> bytes:
    return field[:1].encode() + _key(name)


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
