"""The front door: everything that can be done with an index, as methods of one class.

>>> from sparc_search import Index
>>> with Index.create("alps") as index:
...     report = index.add(["The Eiger was first climbed in 1858 by Charles Barrington."])
...     reply = index.ask("Who climbed the Eiger first?")
>>> report.indexed, reply.best.text
(1, 'Charles Barrington')

In the examples of the methods `index` is an index of two notes, as this makes it:

>>> index = Index.create("notes", exist_ok=True)
>>> _ = index.add([
...     {"id": "eiger", "title": "Eiger", "text": "The Eiger was first climbed in 1858.", "metadata": {"height": 3967}},
...     {"id": "baltic", "title": "Baltic Sea", "text": "The Baltic Sea has a mean depth of 55 metres."},
... ])
>>> index.close()
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, TypeVar, Unpack

from .encoder import Encoder
from .engine import Admin, Engine, supports
from .errors import IndexFailure, IndexMismatch, IndexNotFound, ModelError, NotThere, SparcSearchError, UsageError
from .opening import derived_vectors, open_encoder, open_engine, rebuild_engine, restore_engine, upgrade_engine
from .records import STRATEGIES, UNITS, Document, EncodedQuestion, Passage, Reply, Strategy, Unit
from .search import confidence
from .settings import Settings, load
from .stored import EncodedDocument, Listing, Proposals

if TYPE_CHECKING:  # to ask a question none of this is needed, or not yet
    from .loaders.given import Given
    from .loaders.outcomes import Report, Summary
    from .loaders.planning import FileOptions
    from .loaders.running import Listener
    from .search.coordinator import Coordinator, SearchOptions
    from .search.rereading import Rereader
    from .stores.verification import Verification

MOST_READ: Final = 200
"""Passages that can be read again for one question."""
_Choice = TypeVar("_Choice", bound=str)
Result = TypeVar("Result")

BATCH: Final = 16
"""Questions that are encoded and searched together."""
_MOST_ENCODED: Final = 8
"""Questions of which it is remembered how they are encoded."""

# Control characters separate words and are nothing else; half characters have no bytes to encode.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_HALF = re.compile("[\ud800-\udfff]")


class Sizes(NamedTuple):
    """Bytes of an index."""

    before: int
    after: int


class Index:
    """An index: made, filled, asked, looked after.

    Asking and reading is safe from several threads. Writing is too, one call after the other. The first call that
    writes makes this process the one writer, and it stays that until `close`: many small `add`s cost no more than one
    large one, and others that want to write are told so at once. Opening and reading never wait for a writer.

    An index is opened whichever model or format made it, so that it can be listed, exported and upgraded; the model is
    loaded, and must be the right one, when something is asked or added. Errors are those of the command line
    (`sparc_search.errors`).
    """

    def __init__(self, settings: Settings, encoder: Encoder | None = None) -> None:
        """An index that may not be there yet; `open` and `create` are the usual ways in."""
        self.settings = settings
        self._given = encoder is not None
        if encoder is not None:
            self.encoder = encoder  # in place of the property
        self._opened = ExitStack()
        self._opened_for = ""
        """Fingerprint of the model that `engine` must be of; empty if any will do."""
        self._writer: Engine | None = None
        self._writing_lock = threading.RLock()
        self._following_lock = threading.Lock()
        self._encoded: dict[tuple[str, str], EncodedQuestion] = {}
        self._cannot_follow: IndexMismatch | None = None

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        encoder: Encoder | str | None = None,
        **overrides: Any,
    ) -> Index:
        """Open the index in a folder; without one, the index that the settings name.

        Settings come from files and the environment, unless `settings` is given; keywords overrule them (`engine`,
        `model`, `strategy`, …). An `encoder` is the name of a plugin, as in the settings, or one that is open already:
        then the index must have been made with it.

        >>> with Index.open("notes", strategy="sparse", top_k=1) as index:
        ...     index.ask("When was the Eiger climbed?").best.text
        '1858'
        """
        index = cls(*_chosen(path, settings, encoder, overrides))
        try:
            _ = index._asking if isinstance(encoder, Encoder) else index.engine
        except BaseException:
            index.close()
            raise
        return index

    @classmethod
    def create(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        encoder: Encoder | str | None = None,
        exist_ok: bool = False,
        **overrides: Any,
    ) -> Index:
        """Make an empty index; with `exist_ok` open the one that is there, if it is of the same model.

        >>> with Index.create("letters") as index:
        ...     index.stats()["documents"]
        0
        """
        index = cls(*_chosen(path, settings, encoder, overrides))
        try:
            if not exist_ok and index._is_there():
                raise IndexFailure(
                    f"there is an index at {index.settings.index} already", "open it, or say `exist_ok=True`"
                )
            with index._writing(index.encoder.fingerprint):
                return index
        except BaseException:
            index.close()
            raise

    @classmethod
    def restore(
        cls,
        source: str | Path,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        encoder: Encoder | str | None = None,
        replace: bool = False,
        **overrides: Any,
    ) -> Index:
        """Make a backup the index at a place, and open it. Its sums are checked before anything is changed.

        If there is an index already, it must be said that it is to be replaced; it serves until then.

        >>> _ = index.backup("notes.tar.gz")
        >>> with Index.restore("notes.tar.gz", "notes again") as copy:
        ...     copy.stats()["documents"]
        2
        """
        index = cls(*_chosen(path, settings, encoder, overrides))
        restore_engine(index.settings, Path(source).expanduser(), replace=replace)
        return index

    # --- asking ------------------------------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        *,
        k: int | None = None,
        unit: Unit | None = None,
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
        explain: bool = False,
        all: bool = False,
        read: int | str | None = None,
    ) -> Reply:
        """Answer one question; `where` lets only passages with these metadata through.

        An answer is a phrase, or with `unit` the sentence, passage or document that holds it, each once. Answers that
        say the same are one, which names its other places; with `all` they stand one by one.

        With `read`, a reader reads so many of the best passages again together with the question, or, with "auto",
        only if the fast answer is doubtful: it takes longer and is right more often (`reply.read`).

        >>> reply = index.ask("When was the Eiger climbed?", k=3)
        >>> reply.best.text, reply.best.passage.title
        ('1858', 'Eiger')
        >>> index.ask("When was the Eiger climbed?", where={"height": "4478"}).answers
        ()
        >>> index.ask("When was the Eiger climbed?", unit="sentence").best.text
        'The Eiger was first climbed in 1858.'
        """
        return self._answer([question], self._options(k, unit, strategy, where, explain, all, read))[0]

    def ask_many(
        self,
        questions: Iterable[str],
        *,
        k: int | None = None,
        unit: Unit | None = None,
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
        explain: bool = False,
        all: bool = False,
        read: int | str | None = None,
    ) -> Iterator[Reply]:
        """Answer many questions, in their order; they are encoded and searched in batches.

        >>> questions = ["When was the Eiger climbed?", "How deep is the Baltic Sea?"]
        >>> [reply.best.passage.document_id for reply in index.ask_many(questions)]
        ['eiger', 'baltic']
        """
        options = self._options(k, unit, strategy, where, explain, all, read)
        stream = iter(questions)
        while batch := list(islice(stream, BATCH)):
            yield from self._answer(batch, options)

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        unit: Unit = "passage",
        strategy: Strategy | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Reply:
        """The passages (or sentences, or documents) that fit some words best: `ask` in a larger unit.

        >>> [hit.passage.title for hit in index.search("mountain first ascent", k=1).answers]
        ['Eiger']
        """
        return self.ask(query, k=k, unit=unit, strategy=strategy, where=where)

    def proposals(
        self, question: str, *, strategy: Strategy | None = None, where: Mapping[str, str] | None = None
    ) -> Proposals:
        """The passages that sparse and dense search propose for a question, best first, before any is scored.

        >>> titles = {passage.id: passage.title for passage in index.passages()}
        >>> [titles[hit.passage_id] for hit in index.proposals("When was the Eiger climbed?").dense.hits]
        ['Eiger', 'Baltic Sea']
        """
        options = self._options(None, "phrase", strategy, where, False, False, "never")

        def propose() -> Proposals:
            encoder, coordinator = self._asking
            return coordinator.propose(encoder.encode_questions([cleaned(question)])[0], options)

        return self.following(propose)

    def encoded(self, question: str) -> EncodedQuestion:
        """A question as the model encodes it; of the last few, nothing is computed twice.

        >>> index.encoded("When was the Eiger climbed?").text
        'When was the Eiger climbed?'
        """
        encoder, text = self.encoder, cleaned(question)
        known, key = self._encoded, (encoder.fingerprint, text)
        found = known.pop(key, None) or encoder.encode_questions([text])[0]
        known[key] = found  # the newest stand last
        while len(known) > _MOST_ENCODED:
            known.pop(next(iter(known)), None)
        return found

    def prepare(self) -> None:
        """Load the model now, and see whether the index is of it, rather than with the first question.

        >>> index.prepare()
        """
        _ = self._asking

    def _answer(self, questions: list[str], options: SearchOptions) -> list[Reply]:
        return self.following(lambda: self._answer_now(questions, options))

    def _answer_now(self, questions: list[str], options: SearchOptions) -> list[Reply]:
        encoder, coordinator = self._asking
        began = time.perf_counter()
        encoded = [self.encoded(questions[0])] if len(questions) == 1 else None
        encoded = encoded or encoder.encode_questions([cleaned(question) for question in questions])
        share = (time.perf_counter() - began) / len(questions)
        replies = coordinator.answer(encoded, options)
        return [
            replace(reply, question=question, seconds={"encode": share, **reply.seconds}, guess=self._is_guess(reply))
            for question, reply in zip(questions, replies, strict=True)
        ]

    def _is_guess(self, reply: Reply) -> bool:
        best = reply.best  # confidence is in the phrase: whether a passage is the right one it does not say
        if best is None or best.confidence is None or best.unit in ("passage", "document"):
            return False
        return best.confidence < self.settings.min_confidence

    def _options(
        self,
        k: int | None,
        unit: str | None,
        strategy: str | None,
        where: Mapping[str, str] | None,
        explain: bool,
        all: bool,
        read: int | str | None,
    ) -> SearchOptions:
        from .search.coordinator import SearchOptions

        settings = self.settings
        to_read, below = self._to_read(settings.read if read is None else read)
        k = settings.top_k if k is None else k
        if k < 1:
            raise UsageError(f"k is {k}", "ask for one answer or more")
        chosen = _one_of(UNITS, unit or settings.unit, "unit")
        passages = 2 * k if chosen in ("passage", "document") else 0  # so many different ones must be proposed
        return SearchOptions(
            k=k,
            strategy=_one_of(STRATEGIES, strategy or settings.strategy, "strategy"),
            sparse_candidates=max(settings.sparse_candidates, passages),
            dense_candidates=max(settings.dense_candidates, passages),
            lex_weight=settings.lex_weight,
            first_stage_lex_weight=settings.first_stage_lex_weight,
            where=dict(where or {}),
            explain=explain,
            unit=chosen,
            merge=not all,
            refuse_partial=settings.partial == "refuse",
            read=to_read,
            read_below=below,
        )

    def _to_read(self, read: int | str) -> tuple[int, float]:
        """How many passages are read again, and below which confidence of the fast answer."""
        if read == "never":
            return 0, math.inf
        if read == "auto":
            return self.rereader.fit.passages, self.rereader.fit.below
        if str(read).isdecimal() and 1 <= int(read) <= MOST_READ:
            return int(read), math.inf
        raise UsageError(f"`read` is {read!r}", f"give never, auto, or a number of passages from 1 to {MOST_READ}")

    # --- filling -----------------------------------------------------------------------------------------------------

    def add(self, documents: Iterable[Given] | Given, *, on_event: Listener | None = None) -> Report:
        """Add documents, or replace those of the same id; what has not changed is not encoded again.

        A document is a `Document`, a dict with `text` and, if you like, `id`, `title` and `metadata`, or just a text.
        One without an id gets one that follows from its content. Numbers and truth values in the metadata become text.
        Documents are taken in this thread, one by one as there is room: a generator over millions will do. On return
        all of them are durable, and the next question sees them.

        >>> report = index.add([{"id": "cook", "title": "Mount Cook", "text": "Mount Cook is 3,724 metres high."}, 7])
        >>> report.indexed, report.unchanged, report.rejected
        (1, 0, 1)
        >>> report.rejects[0].reason
        'a document is a text, a dict or a Document, not int'
        >>> index.ask("How high is Mount Cook?").best.passage.document_id
        'cook'
        """
        from .loaders.given import given
        from .loaders.plan import Plan
        from .loaders.running import run_documents

        encoder = self.encoder
        with self._writing(encoder.fingerprint) as engine:
            return run_documents(Plan(documents=given(documents)), encoder, engine, on_event)

    def ingest(
        self,
        *paths: str | Path,
        sync: bool = False,
        rebuild: bool = False,
        dry_run: bool = False,
        rejects: str | Path | None = None,
        retry_rejects: bool = False,
        on_event: Listener | None = None,
        stop: threading.Event | None = None,
        **options: Unpack[FileOptions],
    ) -> Summary:
        """Read files, folders, globs or `-` (standard input), as `sparc-search ingest` does; its summary.

        `sync` deletes what these paths no longer hold, `rebuild` makes the index anew from them, `dry_run` writes
        nothing. What is rejected goes to a file beside the index (or to `rejects`); `retry_rejects` reads that again.
        Options are `format`, `include` and `exclude` (lists of globs), `no_ignore`, `corpus`, `id_field`, `text_field`,
        `title_field`, `max_rejects`, `batch_tokens`, `readers` and `part`.

        `on_event` is told the plan, what becomes of each document, how far it is, and the summary. Setting `stop` ends
        the run after the batch in flight; the same call goes on from there later. A rebuild that was stopped, or that
        found nothing, leaves the old index in its place.

        >>> _ = Path("rhine.md").write_text("# Rhine\\n\\nThe Rhine flows into the North Sea.")
        >>> summary = index.ingest("rhine.md")
        >>> summary.read, summary.indexed, summary.rejected
        (1, 1, 0)
        >>> index.ask("Where does the Rhine flow?").best.passage.title
        'Rhine'
        """
        from .loaders.history import note_ingest, rejects_path
        from .loaders.planning import plan_files
        from .loaders.rejects import RejectFile
        from .loaders.running import run_files

        place = Path(rejects) if rejects else rejects_path(self.settings.index)
        retry = place if retry_rejects else None
        plan = plan_files(paths, sync=sync, rebuild=rebuild, dry_run=dry_run, retry=retry, **options)
        if dry_run:
            return run_files(plan, self.encoder, self._for_dry_run(), RejectFile(place), on_event, stop)
        encoder = self.encoder
        writing = self._rebuilding(encoder, self.settings) if rebuild else self._writing(encoder.fingerprint)
        with suppress(_KeepOldIndex), writing as engine:
            summary = run_files(plan, encoder, engine, RejectFile(place), on_event, stop)
            kept = rebuild and bool(summary.stopped or summary.found_nothing)
            note_ingest(self.settings.index, summary, [str(path) for path in paths], rebuilt=rebuild and not kept)
            if kept:
                raise _KeepOldIndex
        return summary

    def watch(
        self,
        *paths: str | Path,
        stop: threading.Event | None = None,
        on_event: Listener | None = None,
        on_error: Callable[[SparcSearchError], None] | None = None,
        **options: Unpack[FileOptions],
    ) -> Iterator[Summary]:
        """Follow files and folders: `ingest` them with `sync`, and what changes there as it does, until `stop` is set.

        Yields the summary of each batch in which something happened. A file that cannot be read is a reject of its
        batch, and is read again when it changes. What keeps a whole batch from being written (a full disk, a folder
        that is gone) goes to `on_error`, if there is one, and is tried again with the next change; else it is raised.

        >>> from threading import Event
        >>> _ = Path("alps.md").write_text("# Alps\\n\\nThe Alps have 82 summits above 4,000 metres.")
        >>> stop = Event()
        >>> for summary in index.watch("alps.md", stop=stop):
        ...     print(summary.indexed)
        ...     stop.set()
        1
        """
        from .loaders.watching import batches

        pending: frozenset[str] | None = frozenset()  # what no run has been through with; None: everything
        names = [str(path) for path in paths]
        for changed in batches(names, stop or threading.Event(), self.settings.index):
            pending = None if changed is None or pending is None else pending | changed
            try:
                summary = self._follow(names, pending, on_event, stop, options)
            except SparcSearchError as error:
                if on_error is None:
                    raise
                on_error(error)
            else:
                pending = frozenset() if not summary.stopped else pending
                if summary.read > summary.skipped or summary.deleted or summary.renamed or changed is None:
                    yield summary

    def _follow(
        self,
        paths: Sequence[str],
        touched: frozenset[str] | None,
        on_event: Listener | None,
        stop: threading.Event | None,
        options: FileOptions,
    ) -> Summary:
        """Bring the index up to what some of the paths hold now. The reject file is that of the last whole run."""
        from .loaders.history import note_ingest
        from .loaders.planning import plan_files
        from .loaders.running import run

        if touched is None:
            return self.ingest(*paths, sync=True, on_event=on_event, stop=stop, **options)
        plan = replace(plan_files(paths, sync=True, **options), touched=touched)
        with self._writing(self.encoder.fingerprint) as engine:
            summary = run(plan, self.encoder, engine, on_event, stop)
            if summary.indexed or summary.deleted or summary.renamed:
                note_ingest(self.settings.index, summary, paths)
        return summary

    @classmethod
    def encode(
        cls,
        *paths: str | Path,
        out: str | Path,
        settings: Settings | None = None,
        encoder: Encoder | str | None = None,
        on_event: Listener | None = None,
        stop: threading.Event | None = None,
        **options: Unpack[FileOptions],
    ) -> Summary | None:
        """Encode files, or one part of their documents, into a file that `import_` takes: for many machines at once.

        Options are those of `ingest`; `part="3/16"` is the third of sixteen. What is encoded lies in a folder beside
        the file until all of it is, and the same call goes on from there. None if the file is there already.

        >>> _ = Path("alps.md").write_text("# Alps\\n\\nThe Alps have 82 summits above 4,000 metres.")
        >>> _ = [Index.encode("alps.md", out=f"part-{n}.sparc", part=f"{n}/2") for n in (1, 2)]
        >>> sum(index.import_(f"part-{n}.sparc").indexed for n in (1, 2))
        1
        """
        from shutil import rmtree

        from .loaders.planning import plan_files

        out = Path(out).expanduser()
        if out.exists():
            return None
        plan_files(paths, **options)  # what cannot be done is said before anything is made
        work, rejects = out.with_name(f"{out.name}.work"), out.with_name(f"{out.name}.rejects.jsonl")
        work.mkdir(parents=True, exist_ok=True)
        with cls.create(work / "index", settings=settings, encoder=encoder, exist_ok=True, engine="local") as made:
            summary = made.ingest(*paths, rejects=rejects, on_event=on_event, stop=stop, **options)
            if summary.stopped:
                return summary
            made.export(out, encoded=True)
        rmtree(work)
        return summary

    def delete(self, ids: Iterable[str] | str, *, purge: bool = False) -> int:
        """Delete documents by their ids; how many there were. `purge` leaves no byte of them in the files.

        >>> index.delete(["eiger", "nothing"])
        1
        """
        with self._writing() as engine:
            count = engine.writer().delete([ids] if isinstance(ids, str) else ids)
            if purge:
                engine.admin().compact()
        return count

    # --- reading -----------------------------------------------------------------------------------------------------

    def documents(self) -> Iterator[Document]:
        """All documents, as they were added, by id.

        >>> [document.title for document in index.documents()]
        ['Baltic Sea', 'Eiger']
        """
        return (encoded.document for encoded in self._documents())

    def document(self, id: str) -> Document:
        """The document of an id; `NotThere` if there is none.

        >>> dict(index.document("eiger").metadata)
        {'height': '3967'}
        """
        with self.engine.view() as view:
            for document in view.texts([id]):
                return document
        raise NotThere(f"there is no document {id!r} in the index", "`Index.documents` lists all")

    def passages(self, document_id: str = "") -> Iterator[Passage]:
        """The passages that a document was cut into; without an id, those of all documents.

        >>> [passage.text for passage in index.passages("baltic")]
        ['The Baltic Sea has a mean depth of 55 metres.']
        """
        offset, more = 0, True
        with self.engine.view() as view:
            while more:
                page = view.list_passages(Listing(document_id=document_id, offset=offset, size=200))
                yield from page.passages
                offset, more = offset + len(page.passages), page.more

    def stats(self) -> dict[str, Any]:
        """What the index holds and how much room it takes.

        >>> facts = index.stats()
        >>> facts["documents"], facts["passages"]
        (2, 2)
        """
        from .loaders.history import left_out

        return {**self.engine.admin().describe(), "left_out": left_out(self.settings.index)}

    # --- moving ------------------------------------------------------------------------------------------------------

    def export(self, target: str | Path | TextIO, *, encoded: bool = False) -> None:
        """Write all documents as JSON lines, to a file (`.gz`: compressed) or to a text stream.

        With `encoded` their phrase blocks are there too, so that `import_` need not encode anything again.

        >>> index.export("notes.jsonl.gz", encoded=True)
        """
        from .loaders.exchange import write_lines
        from .stores.exchange import Header, export_lines

        if encoded:  # an older format is listed without blocks, so the format must be today's
            open_engine(self.settings, self.engine.encoder).close()
        lines = export_lines(self._documents(), Header(self.engine.encoder, encoded))
        if isinstance(target, str | Path):
            write_lines(Path(target), lines)
        else:
            for line in lines:
                target.write(line + "\n")

    def import_(self, source: str | Path | Iterable[str], *, on_event: Listener | None = None) -> Report:
        """Add the documents of an export, which is a file or an iterable of its lines.

        One with phrase blocks is taken over as it is, and needs no model; any other is encoded.

        >>> index.export("notes.jsonl")
        >>> with Index.create("copy") as copy:
        ...     copy.import_("notes.jsonl").indexed
        2
        """
        from .loaders.exchange import lines_of, read_export
        from .loaders.plan import Plan
        from .loaders.running import run_documents

        with closing(lines_of(source)) as lines:
            header, documents = read_export(lines)
            encoder = None if header.encoded else self.encoder
            with self._writing(encoder.fingerprint if encoder else header.encoder) as engine:
                return run_documents(Plan(documents=documents), encoder, engine, on_event)

    def reencode(self, model: str | Path | None = None, *, on_event: Listener | None = None) -> Report | None:
        """Encode all documents anew, from their stored texts, with another model.

        The new index is made beside the old one, which serves until the new one takes its place, in one step. If it is
        stopped, the same call goes on where it was. From then on this index asks with that model. None if there is
        nothing to do, because the index is of that model already.

        >>> index.reencode() is None
        True
        """
        settings = self.settings if model is None else self.settings.changed(model=str(model))
        encoder = self.encoder if model is None else open_encoder(settings)
        if self.engine.encoder == encoder.fingerprint:
            return None
        return self._encode_anew(settings, encoder, on_event)

    def upgrade(self, *, on_event: Listener | None = None) -> Report | None:
        """Bring an index of another format or another model up to this version and model.

        Beside the old one and offline. Rows of the format before are copied, which encodes nothing; all else is made
        from the stored texts as `reencode` does it, continued if it was stopped. None if there is nothing to do.

        >>> index.upgrade() is None
        True
        """
        try:
            open_engine(self.settings, self.encoder.fingerprint).close()
        except IndexMismatch:
            return self._copied() or self._encode_anew(self.settings, self.encoder, on_event)
        return None

    def _copied(self) -> Report | None:
        """What became of the documents if all of them could be taken over as they are; else None."""
        from .loaders.outcomes import Report

        if self.engine.encoder != self.encoder.fingerprint:
            return None
        with self._writing_lock:
            self._stop_writing()
            if not upgrade_engine(self.settings):
                return None
            self._forget()
        facts = self.stats()
        return Report(unchanged=facts["documents"], passages=facts["passages"])

    def _encode_anew(self, settings: Settings, encoder: Encoder, on_event: Listener | None) -> Report:
        from .loaders.moving import move

        old = self.engine
        with self._rebuilding(encoder, settings) as new:
            return move(old, new, encoder, on_event)

    # --- looking after -----------------------------------------------------------------------------------------------

    def verify(self, *, repair: bool = False, sample: int = 20) -> Verification:
        """Check sums, counts, every block, posting and vector; `repair` makes again what is damaged.

        Derived files are made from the database, the passages of a document from its stored text, with the model.

        If all is well, a sample of passages is encoded again and compared with what is stored; 0 needs no model.

        >>> index.verify(sample=1).ok
        True
        """
        from .loaders.moving import encoded_again
        from .stores.verification import verify

        with ExitStack() as stack:
            engine = stack.enter_context(self._writing()) if repair else self.engine
            vectors = stack.enter_context(closing(derived_vectors(self.settings, engine)))
            verification = verify(engine, vectors, lambda: self.encoder, encoded_again, repair=repair, sample=sample)
        if repair:
            self._forget()
        return verification

    def backup(self, target: str | Path) -> dict[str, Any]:
        """Copy the index to a new folder, or to a new file (`.tar`, `.tar.gz`), and verify the copy; what was copied.

        Others may read and write meanwhile: what is committed when it begins is copied, and nothing else.

        >>> facts = index.backup("notes.backup")
        >>> facts["documents"], facts["files"]
        (2, 15)
        """
        return dict(self.engine.admin().backup(Path(target).expanduser()))

    def compact(self) -> Sizes:
        """Put the pieces of the index together and give back the room of what was deleted; bytes before and after.

        >>> sizes = index.compact()
        >>> sizes.after <= sizes.before
        True
        """
        with self._writing() as engine:
            admin = engine.admin()
            before = _size(admin)
            admin.compact()
            return Sizes(before, _size(admin))

    def rollback(self) -> str:
        """Serve the version before the last rebuild again; its name. Only a cluster keeps one.

        >>> index.rollback()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        sparc_search.errors.Unsupported: this engine cannot go back to a version before (...)
        """
        with self._writing() as engine:
            version = engine.admin().rollback()
        self._forget()
        return version

    def close(self) -> None:
        """Let go of files and of the right to write; nothing that was acknowledged depends on it."""
        try:
            self._stop_writing()
        finally:
            self._opened.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what is open ------------------------------------------------------------------------------------------------

    def following(self, work: Callable[[], Result]) -> Result:
        """Do some work that reads, all of it with one model: if that changes meanwhile, the work is done again."""
        while True:
            self.follow()
            encoder = self.encoder
            try:
                result = work()
            except SparcSearchError:
                if self.encoder is encoder and not self.follow():
                    raise
            else:
                if self.encoder is encoder:
                    return result

    def follow(self) -> bool:
        """Whether the index has been encoded anew, elsewhere, with another model, with which it is asked from now on.

        An index that is made anew with the same model is followed by every view. One of another model is followed if
        that model is where `reencode` found it; if not, the version before answers for as long as it is there, and
        then an `IndexMismatch` tells what to do.
        """
        behind = self._behind()
        if behind is None:
            return False
        with self._following_lock:
            if self._behind() is not behind:
                return True  # another thread has done it
            self._cannot_follow = behind
            return self._take_over()

    def _behind(self) -> IndexMismatch | None:
        """Why views are of a version that does not count any more, if nobody has tried to mend that yet."""
        engine = self.__dict__.get("engine")
        behind = engine.behind if engine is not None else None
        return None if self._given or behind is self._cannot_follow else behind

    def _take_over(self) -> bool:
        """Open the model of the index as it is now, if it can be found."""
        from .loaders.history import models

        with suppress(IndexMismatch), open_engine(self.settings) as engine:
            for model in dict.fromkeys([self.settings.model, *models(self.settings.index, engine.encoder)]):
                settings = self.settings.changed(model=model)
                with suppress(ModelError):
                    encoder = open_encoder(settings)
                    if encoder.fingerprint == engine.encoder:
                        encoder.prepare()
                        self._use(settings, encoder)
                        return True
        return False

    def _use(self, settings: Settings, encoder: Encoder) -> None:
        """Read with this model from now on."""
        self.settings, self.encoder = settings, encoder
        self._forget()

    @cached_property
    def encoder(self) -> Encoder:
        """The model, opened at its first use."""
        return open_encoder(self.settings)

    @cached_property
    def engine(self) -> Engine:
        """What is read from (see `sparc_search.engine`)."""
        return self._open_reader("")

    @cached_property
    def _asking(self) -> tuple[Encoder, Coordinator]:
        """What a question needs: a model, and an index of it."""
        encoder = self.encoder
        with ThreadPoolExecutor(1) as aside:  # the network is loaded while the index is opened
            loading = aside.submit(encoder.prepare)
            self._must_be_of(encoder)
            from .search.coordinator import Coordinator
        loading.result()
        vectors = derived_vectors(self.settings, self.engine)
        self._opened.callback(vectors.close)
        calibration = confidence.from_card(encoder.card)
        return encoder, Coordinator(self.engine, vectors, calibration, lambda: self.rereader)

    @cached_property
    def rereader(self) -> Rereader:
        """The reader, opened when it is first needed."""
        from .cross_encoder.files import reader_folder
        from .cross_encoder.reading import open_cross_encoder
        from .search.rereading import ReadingFit, Rereader

        reader = open_cross_encoder(reader_folder(self.settings.read_with), threads=self.settings.threads)
        return Rereader(reader, ReadingFit.from_card(reader.card.serving, self.encoder.fingerprint))

    def _must_be_of(self, encoder: Encoder) -> None:
        if self._opened_for == encoder.fingerprint:
            return
        try:
            self.engine = self._open_reader(encoder.fingerprint)
        except IndexMismatch as error:
            if not encoder.tuned:
                raise
            raise IndexMismatch(
                f"{error.message}: the question model {encoder.tuned} was tuned for passages of {encoder.fingerprint}",
                "ask with a model that fits (--model), or tune one for this index (sparc-search tune)",
            ) from error

    def _open_reader(self, encoder: str) -> Engine:
        engine = open_engine(self.settings, encoder)
        self._opened.callback(engine.close)  # and not before: other threads may be reading
        self._opened_for = encoder
        return engine

    def _forget(self) -> None:
        """Open anew what is read from next: the index has been replaced."""
        self._opened_for = ""
        for name in ("engine", "_asking", "rereader"):
            self.__dict__.pop(name, None)

    def _documents(self, ids: Sequence[str] | None = None) -> Iterator[EncodedDocument]:
        with self.engine.view() as view:
            yield from view.documents(ids)

    def _is_there(self) -> bool:
        try:
            return bool(self.engine)
        except IndexNotFound:
            return False

    @contextmanager
    def _writing(self, encoder: str = "") -> Iterator[Engine]:
        """The index, open for writing, made if there is none; for a model, if it must be of one."""
        with self._writing_lock:
            if self._writer is None:
                self._writer = open_engine(self.settings, encoder, writable=True)
            elif encoder not in ("", self._writer.encoder):
                open_engine(self.settings, encoder).close()  # says what is wrong
            try:
                yield self._writer
            except IndexNotFound:  # it was deleted below us: the next call opens, or makes, what is there then
                self._stop_writing()
                raise

    def _stop_writing(self) -> None:
        with self._writing_lock:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.close()

    @contextmanager
    def _rebuilding(self, encoder: Encoder, settings: Settings) -> Iterator[Engine]:
        """The index to come; it takes the place of this one when the context ends without an error."""
        from .loaders.history import note_model

        with self._writing_lock:
            self._stop_writing()
            with rebuild_engine(settings, encoder.fingerprint) as new:
                yield new
                note_model(settings.index, encoder.fingerprint, settings.model)
            self._use(settings, encoder)

    def _for_dry_run(self) -> Engine | None:
        try:
            self._must_be_of(self.encoder)
            return self.engine
        except IndexNotFound:
            return None


class _KeepOldIndex(Exception):
    """A rebuild that was stopped or found nothing must not take the old index's place."""


def cleaned(question: str) -> str:
    """A question fit to be encoded; `UsageError` if nothing is left of it."""
    text = _HALF.sub("\ufffd", _CONTROL.sub(" ", question)).strip()
    if not text:
        raise UsageError("the question is empty", "ask something")
    return text


def _one_of(known: Sequence[_Choice], name: str, what: str) -> _Choice:
    for choice in known:
        if choice == name:
            return choice
    raise UsageError(f"no {what} {name!r}", f"known are: {', '.join(known)}")


def _chosen(
    path: str | Path | None, settings: Settings | None, encoder: Encoder | str | None, overrides: Mapping[str, Any]
) -> tuple[Settings, Encoder | None]:
    """The settings of a call, and the encoder if one is open already."""
    values = dict(overrides)
    if path is not None:
        values["index"] = Path(path).expanduser()
    if isinstance(encoder, str):
        values["encoder"] = encoder
    return (settings or load()).changed(**values), encoder if isinstance(encoder, Encoder) else None


def _size(admin: Admin) -> int:
    return admin.size_in_bytes() if supports(admin, Admin.size_in_bytes) else 0
