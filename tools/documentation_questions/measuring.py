"""Ask the questions and count: right answers, right passages, refusals; beside BM25 over the same passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sparc_search import Index
from sparc_search.evaluation.bm25 import Bm25
from sparc_search.evaluation.markdown import table
from sparc_search.records import Answer, Passage, Unit

from .judging import is_right, matches, plain, stands_in
from .places import place_text
from .records import ABSENT, CATEGORIES, Place, Question

AMONG: Final = 5
ASKED: Final = 30
"""Answers that are asked for: enough to hold five different passages."""
THRESHOLDS: Final = (0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question. Ranks begin with 1; `None` is not among those that were looked at."""

    question: Question
    right: int | None
    passage: int | None
    bm25_passage: int | None
    confidence: float | None
    """Of the best answer; of none, it is 0."""
    shown: str

    def refused(self, threshold: float) -> bool:
        """Whether a system that shows nothing below this confidence would show nothing."""
        return self.confidence is not None and self.confidence < threshold


class Judge:
    """Knows the places, and so which answers and passages are right."""

    def __init__(self, corpus: Path) -> None:
        self._corpus = corpus

    def answer(self, question: Question, answer: Answer) -> bool:
        """Whether it is an accepted answer, and it, or an equal one elsewhere, stands at one of the named places."""
        return is_right(answer.text, question.answers) and any(
            self._stands_at(question, *where) for where in _everywhere(answer)
        )

    def _stands_at(self, question: Question, passage: Passage, start: int, end: int) -> bool:
        before, shown = plain(passage.text[:start]), plain(passage.text[start:end])
        whole = f"{before} {shown} {plain(passage.text[end:])}"
        span = (len(before) + 1, len(before) + 1 + len(shown))
        places = self._near(question, passage)
        return any(stands_in(whole, span, place_text(place, self._corpus)) for place in places)

    def passage(self, question: Question, passage: Passage) -> bool:
        """Whether it holds an accepted answer, and this stands at one of the named places."""
        text = plain(passage.text)
        places = [place_text(place, self._corpus) for place in self._near(question, passage)]
        return any(stands_in(text, span, place) for place in places for span in matches(text, question.answers))

    def _near(self, question: Question, passage: Passage) -> Iterator[Place]:
        """The named places that the passage may be a part of."""
        source = Path(passage.source).resolve()
        return (place for place in question.places if place.path(self._corpus).resolve() == source)


def outcomes(questions: Sequence[Question], index: Index, corpus: Path, unit: Unit | None = None) -> Iterator[Outcome]:
    """Ask them all."""
    judge, bm25 = Judge(corpus), Bm25(index.passages())
    replies = index.ask_many([question.question for question in questions], k=ASKED, unit=unit)
    for question, reply in zip(questions, replies, strict=True):
        shown = [passage for answer in reply.answers for passage, _, _ in _everywhere(answer)]
        passages = list({passage.id: passage for passage in shown}.values())[:AMONG]
        proposals = [proposal.passage for proposal in bm25.propose(question.question, AMONG)]
        yield Outcome(
            question,
            _rank(judge.answer(question, answer) for answer in reply.answers[:AMONG]),
            _rank(judge.passage(question, passage) for passage in passages),
            _rank(judge.passage(question, passage) for passage in proposals),
            reply.confidence if reply.answers else 0.0,
            plain(reply.answers[0].text) if reply.answers else "",
        )


def _everywhere(answer: Answer) -> Iterator[tuple[Passage, int, int]]:
    """Where it stands, and where else the same stands."""
    yield answer.passage, answer.start, answer.end
    yield from ((other.passage, other.start, other.end) for other in answer.others)


def _rank(verdicts: Iterable[bool]) -> int | None:
    return next((rank for rank, verdict in enumerate(verdicts, start=1) if verdict), None)


def report(measured: Sequence[Outcome], threshold: float | None) -> str:
    """Tables by category, by package, and by threshold."""
    groups = [(name, [one for one in measured if one.question.category == name]) for name in CATEGORIES]
    answerable = [one for one in measured if one.question.places]
    packages = sorted({one.question.places[0].package for one in answerable})
    by_package = [(name, [one for one in answerable if one.question.places[0].package == name]) for name in packages]
    return "\n\n".join(
        (
            _by_group("category", [*groups, ("**all that are in the corpus**", answerable)], threshold),
            _by_group("package", by_package, threshold),
            _by_threshold(measured),
        )
    )


def _by_group(name: str, groups: Sequence[tuple[str, Sequence[Outcome]]], threshold: float | None) -> str:
    headers = (
        name, "questions", "right@1", f"right@{AMONG}", "passage@1", f"passage@{AMONG}", "refused", "BM25 passage@1",
        f"BM25 passage@{AMONG}",
    )  # fmt: skip
    return table(headers, [(group, len(members), *_shares(members, threshold)) for group, members in groups if members])


def _shares(members: Sequence[Outcome], threshold: float | None) -> list[str]:
    refused = "-" if threshold is None else _share(one.refused(threshold) for one in members)
    if all(one.question.category == ABSENT for one in members):
        return ["-"] * 4 + [refused] + ["-"] * 2
    ours, theirs = [
        [_share(rank is not None and rank <= most for rank in ranks) for most in (1, AMONG)]
        for ranks in ([one.passage for one in members], [one.bm25_passage for one in members])
    ]
    right = [_share(one.right is not None and one.right <= most for one in members) for most in (1, AMONG)]
    return [*right, *ours, refused, *theirs]


def _by_threshold(measured: Sequence[Outcome]) -> str:
    """What a threshold on the confidence would refuse: of right first answers, of wrong ones, of what has no answer."""
    groups = {
        "right first answers": [one for one in measured if one.right == 1],
        "other questions in the corpus": [one for one in measured if one.question.places and one.right != 1],
        ABSENT: [one for one in measured if not one.question.places],
    }
    rows = [
        (f"below {threshold}", *(_share(one.refused(threshold) for one in members) for members in groups.values()))
        for threshold in THRESHOLDS
    ]
    return table(("confidence", *(f"{name} ({len(members)})" for name, members in groups.items())), rows)


def _share(verdicts: Iterable[bool]) -> str:
    found = list(verdicts)
    return f"{sum(found) / len(found):.0%} ({sum(found)})" if found else "-"
