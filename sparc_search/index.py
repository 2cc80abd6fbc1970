"""The public face: open an index and ask it.

from sparc_search.index import Index

with Index.open("my-index") as index:
    reply = index.ask("Who painted the ceiling?", k=3)
    print(reply.best.text, reply.best.passage.title, reply.seconds)
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from . import plugins
from .errors import UsageError
from .interfaces import Configurable, DenseSearch, DenseStore, Encoder, Preparable, Store, StoreOpener, VectorSource
from .records import STRATEGIES, Reply, Strategy
from .search import confidence
from .search.coordinator import Coordinator, SearchOptions
from .settings import Settings, load

BATCH = 16
"""Questions that are encoded and searched together."""

# Control characters separate words and are nothing else; half characters have no bytes to encode.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_HALF = re.compile("[\ud800-\udfff]")


class Index:
    """An index, opened to answer questions. Safe to use from several threads."""

    def __init__(self, store: Store, encoder: Encoder, dense: DenseStore | None, settings: Settings) -> None:
        self.store = store
        self.encoder = encoder
        self.settings = settings
        self._dense = dense
        calibration = confidence.from_card(getattr(encoder, "card", {}))
        self._coordinator = Coordinator(store, dense, calibration)

    @classmethod
    def open(
        cls, path: str | Path | None = None, *, settings: Settings | None = None, encoder: Encoder | None = None
    ) -> Index:
        """Open the index in a folder (default: the one of the settings) with its model."""
        settings = settings or load()
        location = Path(path) if path is not None else settings.index
        encoder = encoder or open_encoder(settings)
        store = open_store(replace(settings, index=location), encoder.fingerprint, writable=False)
        try:
            if isinstance(encoder, Preparable):
                encoder.prepare()
            return cls(store, encoder, _open_dense(store, location, settings), settings)
        except BaseException:
            store.close()
            raise

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
        explain: bool = False,
    ) -> Reply:
        """Answer one question; `where` lets only passages with these metadata through."""
        options = self._options(k, strategy, where, explain)
        return self._answer([question], options)[0]

    def ask_many(
        self,
        questions: Iterable[str],
        *,
        k: int | None = None,
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
        explain: bool = False,
    ) -> Iterator[Reply]:
        """Answer many questions, in their order; they are encoded and searched in batches."""
        options = self._options(k, strategy, where, explain)
        stream = iter(questions)
        while batch := list(islice(stream, BATCH)):
            yield from self._answer(batch, options)

    def _answer(self, questions: list[str], options: SearchOptions) -> list[Reply]:
        began = time.perf_counter()
        encoded = self.encoder.encode_questions([cleaned(question) for question in questions])
        share = (time.perf_counter() - began) / len(questions)
        replies = self._coordinator.answer(encoded, options)
        return [
            replace(reply, question=question, seconds={"encode": share, **reply.seconds})
            for question, reply in zip(questions, replies, strict=True)
        ]

    def _options(
        self, k: int | None, strategy: str | None, where: Mapping[str, str] | None, explain: bool
    ) -> SearchOptions:
        settings = self.settings
        k = settings.top_k if k is None else k
        if k < 1:
            raise UsageError(f"k is {k}", "ask for one answer or more")
        return SearchOptions(
            k=k,
            strategy=_strategy(strategy or settings.strategy),
            sparse_candidates=settings.sparse_candidates,
            dense_candidates=settings.dense_candidates,
            lex_weight=settings.lex_weight,
            first_stage_lex_weight=settings.first_stage_lex_weight,
            where=dict(where or {}),
            explain=explain,
        )

    def close(self) -> None:
        """Let go of the files."""
        if self._dense is not None:
            self._dense.close()
        self.store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_encoder(settings: Settings) -> Encoder:
    """The encoder that the settings name."""
    opener = _configured("encoders", settings.encoder, settings)
    opened: Any = opener(settings.model, threads=settings.threads)
    assert isinstance(opened, Encoder)
    return opened


def open_store(settings: Settings, encoder: str, *, writable: bool) -> Store:
    """The store that the settings name, for an encoder's fingerprint; an empty one opens whatever is there."""
    return store_opener(settings)(settings.index, encoder, writable=writable)


def store_opener(settings: Settings) -> StoreOpener:
    """What opens the store that the settings name."""
    opener: StoreOpener = _configured("stores", settings.engine, settings)
    return opener


def _configured(group: plugins.Group, name: str, settings: Settings) -> Any:
    """A plugin with the values of the settings it declares."""
    opener: Any = plugins.load(group, name)
    return opener.with_settings(settings.of_plugin(group, name)) if isinstance(opener, Configurable) else opener


def _open_dense(store: Store, location: Path, settings: Settings) -> DenseStore | None:
    """A dense store beside the store; none if the store searches vectors itself, in the way that is wanted."""
    own = getattr(store, "dense_store", "faiss")
    if settings.dense_store == own and isinstance(store, DenseSearch):
        return None
    if not isinstance(store, VectorSource):
        raise UsageError(
            f"the store {settings.engine!r} gives no vectors to a dense store", "set `strategy` to `sparse`"
        )
    opener = _configured("dense_stores", settings.dense_store, settings)
    opened = opener(location / "dense", store, writable=False)
    assert isinstance(opened, DenseStore)
    return opened


def cleaned(question: str) -> str:
    """A question fit to be encoded; `UsageError` if nothing is left of it."""
    text = _HALF.sub("\ufffd", _CONTROL.sub(" ", question)).strip()
    if not text:
        raise UsageError("the question is empty", "ask something")
    return text


def _strategy(name: str) -> Strategy:
    for strategy in STRATEGIES:
        if strategy == name:
            return strategy
    raise UsageError(f"no strategy {name!r}", f"known are: {', '.join(STRATEGIES)}")
