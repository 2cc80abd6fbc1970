"""What a writer does, what must be true after it, and whether it is: the oracle of the campaigns on an index."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine
from sparc_search.errors import SparcSearchError
from sparc_search.loaders.moving import encoded_again
from sparc_search.opening import open_encoder, open_engine
from sparc_search.records import Document, Strategy
from sparc_search.search.coordinator import Coordinator, SearchOptions
from sparc_search.settings import Settings, load
from sparc_search.stored import EncodedDocument

Model = Mapping[str, str]
"""The text of each document that must be there, by id."""

Facts = tuple[tuple[tuple[str, float], ...], ...]
"""For each question the answers and their scores."""

Found = frozenset[tuple[int, str, str]]
"""Documents and their texts, by the number of the question."""

SUBJECTS: Final = ("The Eiger", "The Rhine", "Lake Baikal", "The Suez Canal")
DOINGS: Final = ("was first climbed", "was measured", "was painted", "was opened", "was lost")
PEOPLE: Final = ("Ada King", "Charles Barrington", "Ismail Pasha", "Maria Merian")
QUESTIONS: Final = (
    "Who climbed the Eiger first?",
    "When was the Suez Canal opened?",
    "By whom was Lake Baikal painted?",
)
DOCUMENTS: Final = 10
MEMORY: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""A folder for what need not outlive the machine: what is synced there costs nothing."""


class Operation(NamedTuple):
    """One call of a writer."""

    kind: str
    documents: tuple[tuple[str, str], ...]


def operations(seed: object, kinds: Sequence[str] = ("add", "delete", "compact", "reopen")) -> Iterator[Operation]:
    """What a writer does, for ever; the same for the same seed."""
    chance = random.Random(str(seed))
    weights = {"add": 8, "delete": 3}
    while True:
        (kind,) = chance.choices(kinds, [weights.get(name, 1) for name in kinds])
        ids = sorted({f"doc-{chance.randrange(DOCUMENTS)}" for _ in range(chance.randint(1, 3))})
        yield Operation(kind, tuple((id, sentence(chance)) for id in ids))


def sentence(chance: random.Random) -> str:
    """One that some question asks about; there are few, since each has to be encoded."""
    what, number = f"{chance.choice(SUBJECTS)} {chance.choice(DOINGS)}", chance.randrange(len(PEOPLE))
    return f"{what} in {1801 + 37 * number} by {PEOPLE[number]}."


def after(model: Model, operation: Operation) -> Model:
    """What must be there then."""
    if operation.kind in ("add", "rebuild"):
        return {**(model if operation.kind == "add" else {}), **dict(operation.documents)}
    if operation.kind == "delete":
        return {id: text for id, text in model.items() if id not in dict(operation.documents)}
    return model


def planned(seed: object, kinds: Sequence[str], count: int, model: Model) -> tuple[list[Operation], list[Model]]:
    """So many operations, and what must be there before the first and after each."""
    wanted = list(itertools.islice(operations(seed, kinds), count))
    return wanted, list(itertools.accumulate(wanted, after, initial=model))


def halves(model: Model, operation: Operation) -> list[Model]:
    """What may be there if each document of an operation stands for itself: as before, as after, or not at all."""
    if operation.kind == "rebuild":
        return [model, after(model, operation)]
    done = after(model, operation)
    ids = [id for id, _ in operation.documents]
    choices = itertools.product(*[{model.get(id), done.get(id), None} for id in ids])
    others = {id: text for id, text in model.items() if id not in ids}
    return [{**others, **{id: t for id, t in zip(ids, texts, strict=True) if t is not None}} for texts in choices]


class Oracle:
    """Knows the encoded form of every text, and the answers of an index that nothing ever happened to."""

    def __init__(self, strategy: Strategy = "hybrid") -> None:
        self._options = SearchOptions(k=3, strategy=strategy)
        self.encoder: Encoder = open_encoder(load())
        self._questions = self.encoder.encode_questions(list(QUESTIONS))
        self._encoded: dict[tuple[str, str], EncodedDocument] = {}
        self._answers: dict[tuple[tuple[str, str], ...], Facts] = {}

    def encoded(self, documents: Sequence[tuple[str, str]]) -> list[EncodedDocument]:
        """The documents, encoded; each is encoded once."""
        new = [pair for pair in dict.fromkeys(documents) if pair not in self._encoded]
        found = encoded_again((Document(id, text, title=id) for id, text in new), self.encoder)
        self._encoded.update(zip(new, found, strict=True))
        return [self._encoded[pair] for pair in documents]

    def answers(self, model: Model) -> Facts:
        """What must be answered when these documents are there."""
        key = tuple(sorted(model.items()))
        if key not in self._answers:
            with self._calm(key) as engine:
                self._answers[key] = self.facts(engine)
        return self._answers[key]

    @contextmanager
    def _calm(self, documents: Sequence[tuple[str, str]]) -> Iterator[Engine]:
        """An index of these documents that nothing happens to."""
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            settings = Settings(index=Path(folder) / "index")
            with open_engine(settings, self.encoder.fingerprint, writable=True) as engine:
                engine.writer().add(self.encoded(documents))
                yield engine

    def facts(self, engine: Engine) -> Facts:
        """What an index answers to our questions, all from one state. Scores are compared as they would be read."""
        replies = Coordinator(engine).answer(self._questions, self._options)
        return tuple(tuple((answer.text, round(answer.score, 3)) for answer in reply.answers) for reply in replies)

    def found(self, engine: Engine) -> tuple[Found, bool]:
        """The documents that it finds for our questions, and whether it says that some may be missing."""
        replies = Coordinator(engine).answer(self._questions, replace(self._options, k=DOCUMENTS, unit="document"))
        places = ((number, answer.passage) for number, reply in enumerate(replies) for answer in reply.answers)
        found = frozenset((number, passage.document_id, passage.text) for number, passage in places)
        return found, any(reply.degraded for reply in replies)

    def complaint_meanwhile(
        self, found: Found, wanted: Sequence[Operation], models: Sequence[Model], *, lacks: bool
    ) -> str:
        """What is wrong with what was found while these operations were under way, or nothing.

        A document that changes meanwhile may be found or not, but only with a text that it had or was to have. One that
        nobody touches is found as in an index of such documents alone, unless it is said that something is missing.
        """
        ever = {pair for model in models for pair in model.items()}
        if strangers := {(id, text) for _, id, text in found} - ever:
            return f"found {strangers}, which was not there since the round began"
        touched = {id for operation in wanted for id, _ in operation.documents}
        same = [pair for pair in models[0].items() if pair[0] not in touched and all(pair in m.items() for m in models)]
        with self._calm(same) as engine:
            expected, _ = self.found(engine)
        return "" if lacks or expected <= found else f"{expected - found} was not found, and nobody said so"

    def complaint(
        self, settings: Settings, possible: Sequence[Model], *, nothing_yet: bool, after_recovery: bool = False
    ) -> tuple[str, Model]:
        """What is wrong with an index after some trouble, or nothing, and what is in it.

        It must hold one of the possible models, answer as an index that nothing ever happened to, find nothing wrong
        with itself when it is opened for writing, and go on. Some engines may show what was not committed until the
        next writer has put it right: `after_recovery` opens one first.
        """
        try:
            if after_recovery:
                open_engine(settings, self.encoder.fingerprint, writable=True).close()
            return self._complaint(settings, possible)
        except SparcSearchError as error:
            if nothing_yet and type(error).__name__ == "IndexNotFound":
                return "", {}
            return f"{type(error).__name__}: {error}", possible[0]
        except Exception as error:  # nothing but errors of the package may come out of it
            return f"raw {type(error).__name__}: {error}", possible[0]

    def _complaint(self, settings: Settings, possible: Sequence[Model]) -> tuple[str, Model]:
        with open_engine(settings, self.encoder.fingerprint) as engine:
            model = texts(engine)
            if model not in possible:
                return f"holds {model}, not one of {[dict(one) for one in possible]}", model
            if (told := self.facts(engine)) != self.answers(model):
                return f"answers {told}, not {self.answers(model)}", model
        with open_engine(settings, self.encoder.fingerprint, writable=True) as engine:
            problems = engine.admin().verify().problems
            if problems:
                return f"verify: {problems[0].where}: {problems[0].what}", model
            if (again := texts(engine)) != model:
                return f"opened for writing it holds {again}, before {model}", model
        return "", model


def texts(engine: Engine) -> Model:
    """What is in an index."""
    with engine.view() as view:
        return {document.id: document.text for document in view.texts()}


class Doing:
    """An index open for writing, to which operations are applied."""

    def __init__(self, settings: Settings, fingerprint: str) -> None:
        self._settings, self._fingerprint = settings, fingerprint
        self._engine = self._open()

    def _open(self) -> Engine:
        return open_engine(self._settings, self._fingerprint, writable=True)

    def apply(self, kind: str, documents: Sequence[EncodedDocument]) -> None:
        """Do one operation; it is acknowledged when this returns."""
        if kind == "add":
            refused = self._engine.writer().add(documents)
            assert not refused, refused
        elif kind == "delete":
            self._engine.writer().delete([one.document.id for one in documents])
        elif kind == "compact":
            self._engine.admin().compact()
        elif kind == "rebuild":
            self._rebuild(documents)
        else:
            self._engine.close()
            self._engine = self._open()

    def _rebuild(self, documents: Sequence[EncodedDocument]) -> None:
        from sparc_search.opening import rebuild_engine

        self._engine.close()
        try:
            with rebuild_engine(self._settings, self._fingerprint) as new:
                stale = [id for id in texts(new) if id not in {one.document.id for one in documents}]
                new.writer().add(documents)
                new.writer().delete(stale)
        finally:
            self._engine = self._open()

    def close(self) -> None:
        """Let go."""
        with suppress(SparcSearchError):
            self._engine.close()


def small_segments() -> None:
    """Let segments be made and merged all the time, in this process."""
    from sparc_search.stores.local import writer

    writer.FLUSH, writer.MERGE = 3, 2
