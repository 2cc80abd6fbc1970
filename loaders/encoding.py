"""The costly stage: documents are cut and their passages encoded, many documents at a time.

Many at a time so that the encoder finds passages of like lengths among them: it makes its batches itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from sparc_search.encoder import Encoder
from sparc_search.records import Document, EncodedPassage, Passage
from sparc_search.stored import EncodedDocument

from .passages import cut_and_count
from .walk import Root

POOL: Final = 8
"""A pool of documents is encoded together once it holds so many batches: enough to sort, soon done."""

_HOPELESS: Final = 3
"""If so many documents fail one after another, alone and before any success, it is not the documents."""


@dataclass(frozen=True, slots=True)
class Job:
    """A document to encode."""

    document: Document
    content_hash: str
    root: Root
    encoded: EncodedDocument | None = None
    """The result, if there is one already."""
    left_out: tuple[str, ...] = ()
    """Furniture in it."""


@dataclass(frozen=True, slots=True)
class CutJob:
    """A document cut into passages, with their lengths."""

    job: Job
    passages: tuple[Passage, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """An encoded document, or why there is none. In a dry run nothing is encoded and nothing is wrong."""

    cut: CutJob
    encoded: EncodedDocument | None = None
    problem: str = ""


class Stopped(Exception):
    """Too much is left of a pool to finish it now."""


class Encoding:
    """Cuts and encodes. `stopping` is asked now and then; `dry_run` only cuts.

    Where all documents come encoded there need not be an encoder.
    """

    def __init__(self, encoder: Encoder | None, batch_tokens: int, stopping: Callable[[], bool], dry_run: bool) -> None:
        self._given = encoder.in_batches_of(batch_tokens) if encoder else None
        self._batch_tokens, self._stopping, self._dry_run = batch_tokens, stopping, dry_run
        self._succeeded, self._failures = False, 0
        self.seconds = {"cut": 0.0, "encode": 0.0}
        self._cut_characters = self._cut_tokens = 0
        self.encoded_tokens = 0
        """Word pieces that are encoded, those of documents of which more is left included."""

    @property
    def _encoder(self) -> Encoder:
        assert self._given is not None
        return self._given

    @property
    def pool_tokens(self) -> int:
        """How many word pieces make a pool."""
        return POOL * self._batch_tokens

    def cut(self, job: Job) -> CutJob:
        """The passages of a document; those without any word piece hold nothing that could be found."""
        if job.encoded:
            counted = [(encoded.passage, len(encoded.block.token_ids)) for encoded in job.encoded.passages]
        else:
            started = time.perf_counter()
            counted = [(passage, length) for passage, length in cut_and_count(job.document, self._encoder) if length]
            self.seconds["cut"] += time.perf_counter() - started
        lengths = tuple(length for _, length in counted)
        self._cut_characters += len(job.document.text)
        self._cut_tokens += sum(lengths)
        return CutJob(job, tuple(passage for passage, _ in counted), lengths)

    def work(self, characters: int) -> int:
        """Word pieces of so many characters, of which some are cut: counted for those, estimated for the others."""
        uncut = max(characters - self._cut_characters, 0)
        return self._cut_tokens + round(uncut * self._cut_tokens / max(self._cut_characters, 1))

    def encode(self, pool: Sequence[CutJob]) -> list[Done]:
        """All documents of a pool, each encoded or with its problem."""
        if self._dry_run:
            self.encoded_tokens += sum(sum(cut.lengths) for cut in pool)
            return [Done(cut) for cut in pool]
        ready = [Done(cut, cut.job.encoded) for cut in pool if cut.job.encoded]
        self.encoded_tokens += sum(sum(done.cut.lengths) for done in ready)
        return ready + self._timed([cut for cut in pool if not cut.job.encoded])

    def _timed(self, pool: Sequence[CutJob]) -> list[Done]:
        started, before = time.perf_counter(), self.encoded_tokens
        try:
            return self._together(pool)
        except Stopped:
            raise
        except Exception:  # whatever it was, it must not cost more than the document it is about
            self.encoded_tokens = before
            return [self._alone(cut) for cut in pool]
        finally:
            self.seconds["encode"] += time.perf_counter() - started

    def _together(self, pool: Sequence[CutJob]) -> list[Done]:
        passages = [passage for cut in pool for passage in cut.passages]
        lengths = [length for cut in pool for length in cut.lengths]
        encoded: list[EncodedPassage] = []
        left = sum(lengths)
        for start, end in _slices(lengths, self.pool_tokens):
            if self._stopping() and left > 2 * self.pool_tokens:  # one very long document
                raise Stopped
            encoded += self._encoder.encode_passages(passages[start:end])
            left -= sum(lengths[start:end])
            self.encoded_tokens += sum(lengths[start:end])
        self._succeeded = True
        in_order = iter(encoded)
        return [Done(cut, self._document(cut, tuple(islice(in_order, len(cut.passages))))) for cut in pool]

    def _document(self, cut: CutJob, passages: tuple[EncodedPassage, ...]) -> EncodedDocument:
        return EncodedDocument(cut.job.document, cut.job.content_hash, passages, self._encoder.arithmetic)

    def _alone(self, cut: CutJob) -> Done:
        try:
            return self._together([cut])[0]
        except Stopped:
            raise
        except Exception as error:
            self._failures += 1
            if not self._succeeded and self._failures >= _HOPELESS:
                raise
            return Done(cut, problem=f"the encoder failed on it: {type(error).__name__}: {error}")


def _slices(lengths: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Where to cut so that each piece has at most so many word pieces, or one passage."""
    start = total = 0
    for number, length in enumerate(lengths):
        if number > start and total + length > most:
            yield start, number
            start, total = number, 0
        total += length
    if start < len(lengths):
        yield start, len(lengths)
