"""A whole check of an index: its engine, what is kept beside it on this machine, and a sample encoded again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..encoder import Encoder
from ..engine import Engine, View, supports
from ..errors import IndexMismatch
from ..records import Document
from ..stored import CheckReport, EncodedDocument, Problem
from .derived import VECTORS, DerivedVectors
from .sample import compare

_AT_ONCE: Final = 50
"""Documents that are encoded again and replaced together."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of an index looked at, and what it found."""

    counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    repaired: tuple[str, ...] = ()
    """Derived parts that were made again."""
    not_sampled: str = ""
    """Why no passage was encoded again, although that was asked for."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong (any more)."""
        return not self.problems


EncodeAgain = Callable[[Iterable[Document], Encoder], Iterable[EncodedDocument]]
"""Documents as an ingest would bring them."""


def verify(
    engine: Engine,
    vectors: DerivedVectors,
    open_encoder: Callable[[], Encoder],
    encode_again: EncodeAgain,
    *,
    repair: bool,
    sample: int,
) -> Verification:
    """Check everything, make what is damaged again if wanted, and if all is well encode a sample again.

    Derived parts are made again from the truth, the passages of a document from its stored text.
    """
    report = _checked(engine, vectors)
    repaired = _repaired(engine, vectors, report, open_encoder, encode_again) if repair else ()
    report = _checked(engine, vectors) if repaired else report
    if report.problems or not sample:
        return Verification(report.counts, report.problems, repaired)
    problems, not_sampled = _sampled(engine, open_encoder, sample)
    return Verification(report.counts, problems, repaired, not_sampled)


def _checked(engine: Engine, vectors: DerivedVectors) -> CheckReport:
    report = engine.admin().verify()
    return CheckReport(report.counts, (*report.problems, *vectors.verify()))


def _repaired(
    engine: Engine,
    vectors: DerivedVectors,
    report: CheckReport,
    open_encoder: Callable[[], Encoder],
    encode_again: EncodeAgain,
) -> tuple[str, ...]:
    documents = sorted({problem.document for problem in report.problems if problem.document})
    if documents:
        _make_again(engine, documents, open_encoder(), encode_again)
    own = tuple(problem for problem in report.problems if problem.derived != VECTORS)
    names = [*(f"document {id}" for id in documents), *engine.admin().repair(CheckReport(report.counts, own))]
    if len(own) < len(report.problems):
        vectors.repair()
        names.append(VECTORS)
    return tuple(names)


def _make_again(engine: Engine, documents: Sequence[str], encoder: Encoder, encode_again: EncodeAgain) -> None:
    """Encode documents from their stored texts, in the place of what is there of them."""
    if encoder.fingerprint != engine.encoder:
        raise IndexMismatch(
            f"{len(documents):,} documents must be encoded again, and the index was made with the model "
            f"{engine.encoder}, not with {encoder.fingerprint}",
            "name the model that made it (--model)",
        )
    for begin in range(0, len(documents), _AT_ONCE):
        with engine.view() as view:
            encoded = list(encode_again(view.texts(documents[begin : begin + _AT_ONCE]), encoder))
        for refusal in engine.writer().add(encoded):
            raise refusal.error()


def _sampled(engine: Engine, open_encoder: Callable[[], Encoder], count: int) -> tuple[tuple[Problem, ...], str]:
    """Passages, evenly spread, that the model does not encode as they are stored; or why none was looked at."""
    with engine.view() as view:
        if not supports(view, View.sample) and not supports(view, View.matching):
            return (), ""
        encoder = open_encoder()
        if engine.encoder != encoder.fingerprint:
            return (), f"the index was made with the model {engine.encoder}, this is {encoder.fingerprint}"
        return tuple(compare(view.fetch(view.sample(count)).passages, encoder)), ""
