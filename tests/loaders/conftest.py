"""What the loader tests share: reading bytes with a reader, an engine in a dict, and running a whole ingest."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from sparc_search import plugins
from sparc_search.encoder import Encoder
from sparc_search.engine import Admin, Engine, Place, View, Where, Writer
from sparc_search.errors import RejectedDocument
from sparc_search.loaders.formats import Formats
from sparc_search.loaders.limits import ChildLimits
from sparc_search.loaders.outcomes import IngestProgress, Outcome, Summary
from sparc_search.loaders.patterns import Filters
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.reading import Read, Reading
from sparc_search.loaders.resuming import Item, items_of
from sparc_search.loaders.walk import Passed, roots, walk
from sparc_search.records import Document, Features
from sparc_search.stored import EncodedDocument, Fetched, Hits, Refusal, Statistics


class DictStore(Engine):
    """Documents in a dict. `batches` keeps what each `add` brought."""

    def __init__(self) -> None:
        self.documents: dict[str, EncodedDocument] = {}
        self.batches: list[list[str]] = []
        self.deleted: list[str] = []

    @classmethod
    def open(cls, place: Place, encoder: str = "", *, writable: bool = False) -> DictStore:
        return cls()

    def view(self) -> AbstractContextManager[View]:
        return nullcontext(DictView(self))

    def writer(self) -> Writer:
        return DictWriter(self)

    def admin(self) -> Admin:
        return DictAdmin(self)

    def add(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        self.batches.append([document.document.id for document in documents])
        self.documents.update({document.document.id: document for document in documents})
        return []

    def size_in_bytes(self) -> int:
        return sum(10 * len(document.document.text) for document in self.documents.values())


class PlainView(View):
    """What must be there; nothing is found."""

    def __init__(self, store: DictStore) -> None:
        self._store = store

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        known = self._store.documents
        return {name: known[name].content_hash for name in document_ids if name in known}

    def sparse_search(self, queries: Sequence[Features], k: int, where: Where) -> list[Hits]:
        return [Hits() for _ in queries]

    def fetch(self, passage_ids: Sequence[str]) -> Fetched:
        return Fetched()

    def statistics(self, lex_names: Sequence[str]) -> Statistics:
        return Statistics(0, 0, {})


class DictView(PlainView):
    """That, and where documents came from."""

    def documents_from(self, source_prefix: str) -> Iterator[tuple[str, str]]:
        for name, document in self._store.documents.items():
            if document.document.source.startswith(source_prefix):
                yield name, document.document.source


class DictWriter(Writer):
    def __init__(self, store: DictStore) -> None:
        self._store = store

    def add(self, documents: Sequence[EncodedDocument]) -> list[Refusal]:
        return self._store.add(documents)

    def delete(self, document_ids: Iterable[str]) -> int:
        ids = [document_id for document_id in document_ids if self._store.documents.pop(document_id, None)]
        self._store.deleted += ids
        return len(ids)


class DictAdmin(Admin):
    def __init__(self, store: DictStore) -> None:
        self._store = store

    def size_in_bytes(self) -> int:
        return self._store.size_in_bytes()


@pytest.fixture
def store() -> DictStore:
    return DictStore()


ReadBytes = Callable[..., list[Item]]
ReadFiles = Callable[..., list[Document | Passed]]
Run = Callable[..., tuple[list[Outcome], Summary]]


@pytest.fixture
def items() -> ReadBytes:
    """`items("jsonl", b"…", source="a.jsonl", text_field="body")`: what a reader makes of bytes, in this process."""

    def read(reader: str, data: bytes, source: str = "file", **options: str) -> list[Item]:
        dashed = {name.replace("_", "-"): value for name, value in options.items()}
        return list(items_of(lambda: plugins.load("readers", reader).read(io.BytesIO(data), source, dashed)))

    return read


@pytest.fixture
def one(items: ReadBytes) -> Callable[..., Document]:
    """The only document a reader makes of bytes."""

    def read(reader: str, data: bytes, source: str = "file", **options: str) -> Document:
        (item,) = items(reader, data, source, **options)
        assert isinstance(item, Document), item
        return item

    return read


@pytest.fixture
def reject(items: ReadBytes) -> Callable[..., str]:
    """The reason of the only reject a reader makes of bytes."""

    def read(reader: str, data: bytes, source: str = "file", **options: str) -> str:
        (item,) = items(reader, data, source, **options)
        assert isinstance(item, RejectedDocument), item
        assert item.remedy
        return item.message

    return read


@pytest.fixture
def read_files() -> ReadFiles:
    """Documents and rejects of paths, the whole way: walked, opened, in a sandbox where the format needs it."""

    def read(
        *paths: Path | str, format: str = "", limits: ChildLimits | None = None, **options: str
    ) -> list[Document | Passed]:
        reading = Reading(Formats(format), options, limits=limits)
        try:
            found = walk(roots([str(path) for path in paths]), Filters())
            return [item.document if isinstance(item, Read) else item for item in reading.everything(found)]
        finally:
            reading.close()

    return read


@pytest.fixture
def run(toy_encoder: Encoder) -> Run:
    """`run(engine, folder, sync=True)`: a whole ingest; its outcomes and its summary."""

    def whole(
        engine: Engine | None, *paths: Path | str, encoder: Encoder = toy_encoder, **settings: object
    ) -> tuple[list[Outcome], Summary]:
        plan = Plan(roots([str(path) for path in paths]), **settings)  # type: ignore[arg-type]
        *before, summary = ingest(plan, encoder, engine)
        assert isinstance(summary, Summary)
        assert all(isinstance(event, Outcome | IngestProgress) for event in before)
        return [event for event in before if isinstance(event, Outcome)], summary

    return whole
