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

from .encoder import Encoder
from .engine import Engine
from .errors import UsageError
from .opening import derived_vectors, open_encoder, open_engine
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

    def __init__(self, engine: Engine, encoder: Encoder, settings: Settings) -> None:
        self.engine = engine
        self.encoder = encoder
        self.settings = settings
        self._vectors = derived_vectors(settings, engine)
        self._coordinator = Coordinator(engine, self._vectors, confidence.from_card(encoder.card))

    @classmethod
    def open(
        cls, path: str | Path | None = None, *, settings: Settings | None = None, encoder: Encoder | None = None
    ) -> Index:
        """Open the index in a folder (default: the one of the settings) with its model."""
        settings = settings or load()
        if path is not None:
            settings = replace(settings, index=Path(path))
        encoder = encoder or open_encoder(settings)
        engine = open_engine(settings, encoder.fingerprint)
        try:
            encoder.prepare()
            return cls(engine, encoder, settings)
        except BaseException:
            engine.close()
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
        self._vectors.close()
        self.engine.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
