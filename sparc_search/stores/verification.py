"""A whole check of an index: its engine, what is kept beside it on this machine, and a sample encoded again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..encoder import Encoder
from ..engine import Engine, View, supports
from ..stored import CheckReport, Problem
from .derived import VECTORS, DerivedVectors
from .sample import compare


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


def verify(
    engine: Engine, vectors: DerivedVectors, open_encoder: Callable[[], Encoder], *, repair: bool, sample: int
) -> Verification:
    """Check everything, make damaged derived parts again if wanted, and if all is well encode a sample again."""
    report = _checked(engine, vectors)
    repaired = _repaired(engine, vectors, report) if repair else ()
    report = _checked(engine, vectors) if repaired else report
    if report.problems or not sample:
        return Verification(report.counts, report.problems, repaired)
    problems, not_sampled = _sampled(engine, open_encoder, sample)
    return Verification(report.counts, problems, repaired, not_sampled)


def _checked(engine: Engine, vectors: DerivedVectors) -> CheckReport:
    report = engine.admin().verify()
    return CheckReport(report.counts, (*report.problems, *vectors.verify()))


def _repaired(engine: Engine, vectors: DerivedVectors, report: CheckReport) -> tuple[str, ...]:
    own = tuple(problem for problem in report.problems if problem.derived != VECTORS)
    names = engine.admin().repair(CheckReport(report.counts, own))
    if len(own) < len(report.problems):
        vectors.repair()
        names.append(VECTORS)
    return tuple(names)


def _sampled(engine: Engine, open_encoder: Callable[[], Encoder], count: int) -> tuple[tuple[Problem, ...], str]:
    """Passages, evenly spread, that the model does not encode as they are stored; or why none was looked at."""
    with engine.view() as view:
        if not supports(view, View.sample) and not supports(view, View.matching):
            return (), ""
        encoder = open_encoder()
        if engine.encoder != encoder.fingerprint:
            return (), f"the index was made with the model {engine.encoder}, this is {encoder.fingerprint}"
        return tuple(compare(view.fetch(view.sample(count)).passages, encoder)), ""
