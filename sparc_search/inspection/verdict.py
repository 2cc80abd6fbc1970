"""Why the one that lost has lost: the first cause of a small table that fits, in one sentence, and what can be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..ngrams import parse_feature
from ..records import PartKind
from .answer import differences
from .question import QuestionView
from .scored_phrase import ScoredPhrase

Group = Literal["dense", "sparse", "lexical"]
GROUPS: Mapping[Group, tuple[PartKind, ...]] = {
    "dense": ("dense start", "dense end", "span", "passage"),
    "sparse": ("sparse start", "sparse end"),
    "lexical": ("lex",),
}
"""The parts of a score that can be weighed against each other."""

_UNKNOWN = "[UNK]"
_EVEN = 0.005
"""Differences below this are none to the eye."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence on why one of two phrases lost."""

    cause: str
    sentence: str
    remedy: str
    winner: str
    """`a` or `b`; empty if there is none."""


class Case(NamedTuple):
    """What a cause is judged by."""

    question: QuestionView
    winner: ScoredPhrase
    loser: ScoredPhrase
    lead: Mapping[Group, float]
    """What each part gives the winner more than the loser."""
    filters: Mapping[str, str]


class Cause(NamedTuple):
    """A name, whether it fits, and what is said then."""

    name: str
    fits: Callable[[Case], bool]
    sentence: Callable[[Case], str]
    remedy: str
    in_vain: str = ""
    """What is said instead where the loser would have lost all the same."""


def by_group(by_kind: Mapping[PartKind, float]) -> dict[Group, float]:
    """A score as dense, sparse and lexical part."""
    return {group: sum(by_kind[kind] for kind in kinds) for group, kinds in GROUPS.items()}


def verdict(question: QuestionView, a: ScoredPhrase, b: ScoredPhrase, filters: Mapping[str, str]) -> Verdict:
    """Why A stands before B, or B before A."""
    if b.method == "tfidf":
        return _without_sparc(a, b)
    won, lost = (b, a) if _before(b, a) else (a, b)
    mine, other = by_group(won.by_kind), by_group(lost.by_kind)
    lead = {group: mine[group] - other[group] for group in GROUPS}
    case = Case(question, won, lost, lead, filters)
    cause = next(cause for cause in CAUSES if cause.fits(case))
    return Verdict(cause.name, cause.sentence(case), _remedy(cause, case), "b" if won is b else "a")


def _remedy(cause: Cause, case: Case) -> str:
    if cause.remedy == _READ and case.winner.read_logits and case.loser.read_logits:
        return _WAS_READ
    comparable = case.loser.index == case.winner.index
    return cause.in_vain if cause.in_vain and comparable and case.loser.score < case.winner.score else cause.remedy


def _before(one: ScoredPhrase, other: ScoredPhrase) -> bool:
    """Whether one stands before another: what could not be an answer last, then as answers stand, then by score."""
    if one.can_win != other.can_win:
        return one.can_win
    if one.rank and other.rank and one.index == other.index:
        return one.rank < other.rank
    return one.score > other.score


def _without_sparc(a: ScoredPhrase, b: ScoredPhrase) -> Verdict:
    learned = a.score - b.score
    return Verdict(
        "tf-idf",
        f"The learned weights of n-grams give {quoted(a)} {learned:+.2f}. By tf-idf its words are worth "
        f"{b.by_kind['lex']:.2f}, the same for every phrase of the passage.",
        "With sparse at 0 (What if, on the page /why) answers stand as they would without them.",
        "a" if learned > 0 else "",
    )


def quoted(phrase: ScoredPhrase) -> str:
    """Its text as it is named in a sentence."""
    text = " ".join(phrase.text.split())
    index = f" of {phrase.index}" if phrase.index else ""
    return f"“{text if len(text) <= 60 else text[:59] + '…'}”{index}"


def _filtered(case: Case) -> str:
    sides = " and ".join(boundary.side for boundary in case.loser.boundaries if not boundary.indexed)
    return f"{quoted(case.loser)} was filtered out: the model left its {sides} out of the index.{_had_it_been(case)}"


def _had_it_been(case: Case) -> str:
    more = case.loser.score - case.winner.score
    if case.loser.index != case.winner.index:
        return ""
    told = f"{case.loser.score:.2f} against {case.winner.score:.2f}"
    return f" It would have won, {told}." if more > 0 else f" It would have lost all the same, {told}."


def _not_proposed(case: Case) -> str:
    missed = [
        f"{road.retriever} search by {road.missed_by:.2f} ({road.score:.2f} of {road.least:.2f})"
        if road.least is not None
        else f"{road.retriever} search, which found nothing of the question in it"
        for road in case.loser.roads
    ]
    told = " and by ".join(missed)
    return f"The passage of {quoted(case.loser)} was not proposed: missed by {told}.{_had_it_been(case)}"


def _hidden(case: Case) -> bool:
    metadata = case.loser.passage.metadata
    return any(metadata.get(key) != value for key, value in case.filters.items())


def _unknown(case: Case) -> list[str]:
    return [piece.text for piece in case.question.pieces if piece.piece == _UNKNOWN]


def _no_ngram(case: Case) -> bool:
    return bool(case.winner.marks) and not case.loser.marks


def _overlap(case: Case) -> bool:
    won, lost = case.winner, case.loser
    return won.passage.id == lost.passage.id and won.first <= lost.last and lost.first <= won.last


def _outvoted(first: Group, second: Group, remedy: str) -> Cause:
    """The winner owes its place to one part, and another part is against it most of all."""

    def fits(case: Case) -> bool:
        lead = case.lead
        return lead[first] == max(lead.values()) > _EVEN and lead[second] == min(lead.values()) < -_EVEN

    def sentence(case: Case) -> str:
        return (
            f"{first.capitalize()} outvotes {second}, most of all by {_decisive(case, first)}: {first} "
            f"{case.lead[first]:+.2f} for {quoted(case.winner)}, {second} {case.lead[second]:+.2f}: "
            f"together with the rest {case.winner.score - case.loser.score:+.2f}."
        )

    return Cause(f"{first} outvotes {second}", fits, sentence, remedy)


def _told_by_reader(case: Case) -> bool:
    won, lost = case.winner, case.loser
    return bool(won.read_logits and lost.read_logits) and won.can_win and lost.can_win and won.score < lost.score


def _agreed(case: Case) -> str:
    most = max(case.lead, key=lambda group: case.lead[group])
    lead = case.winner.score - case.loser.score
    return (
        f"{quoted(case.winner)} leads by {lead:.2f}: the {most} part gives {case.lead[most]:+.2f}, most of all by "
        f"{_decisive(case, most)}."
    )


def _decisive(case: Case, group: Group | None = None) -> str:
    """What gives the winner most: words of the question (for start and end together), or a dense part."""
    gives: dict[str, float] = {}
    for row in differences(case.winner, case.loser)[1]:
        if group is None or row.kind in GROUPS[group]:
            name = f"“{_spelled(case.question, row.name)}”" if row.name else row.kind
            gives[name] = gives.get(name, 0.0) + row.difference
    ranked = sorted(((name, value) for name, value in gives.items() if value > 0), key=lambda item: -item[1])
    return " and ".join(f"{name} ({value:+.2f})" for name, value in ranked[: 2 if group == "sparse" else 1])


def _spelled(question: QuestionView, name: str) -> str:
    """An n-gram as whole words of the question: a piece of a word says little, and the word says it."""
    sought, pieces = parse_feature(name), tuple(piece.piece for piece in question.pieces)
    found = (at for at in range(len(pieces)) if pieces[at : at + len(sought)] == sought)
    first = next(found, None)
    if first is None:
        return " ".join(sought).replace(" ##", "")
    last = first + len(sought)
    while first and pieces[first].startswith("##"):
        first -= 1
    while last < len(pieces) and pieces[last].startswith("##"):
        last += 1
    words = ((" " if at > first and not pieces[at].startswith("##") else "", at) for at in range(first, last))
    return "".join(blank + question.pieces[at].text for blank, at in words)


_READ = "If that is wrong, read again: a reader sees question and passage together."
_WAS_READ = "Both were read again already. If that is wrong, ask with other words."
_COUNTED = (
    "This part counts the question's words wherever they stand in a passage: weigh it less (lex_weight), or ask with "
    "other words."
)

CAUSES: Sequence[Cause] = (
    Cause(
        "filter",
        lambda case: not case.loser.can_win and _hidden(case),
        lambda case: f"The passage of {quoted(case.loser)} does not pass the filter.{_had_it_been(case)}",
        "Take the filter away.",
        "Without the filter it would still lose: ask with words that stand near it.",
    ),
    Cause(
        "filtered out",
        lambda case: not case.loser.indexed,
        _filtered,
        "A model trained with a looser filter keeps it; a larger unit (sentence) shows it around another phrase.",
        "Were it kept, it would still lose: ask with words that stand near it, or for a larger unit (sentence).",
    ),
    Cause(
        "no answer",
        lambda case: bool(case.loser.illegal),
        lambda case: f"{quoted(case.loser)} can be no answer: {case.loser.illegal}.{_had_it_been(case)}",
        "Ask for a larger unit: sentence or passage.",
    ),
    Cause(
        "not proposed",
        lambda case: not case.loser.proposed,
        _not_proposed,
        "Let more passages be proposed: sparse_candidates, dense_candidates.",
        "Were it proposed, it would still lose: ask with words that stand near it.",
    ),
    Cause(
        "read",
        _told_by_reader,
        lambda case: (
            f"The reader put {quoted(case.winner)} first; by the exact score {quoted(case.loser)} leads by "
            f"{case.loser.score - case.winner.score:.2f}."
        ),
        "Ask without reading again to see the order of the exact scores.",
    ),
    Cause(
        "unknown words",
        lambda case: bool(_unknown(case)),
        lambda case: (
            f"The model does not know {', '.join(f'“{word}”' for word in _unknown(case))} of the question: no learned "
            f"weight is on it. By the rest {_agreed(case)}"
        ),
        "Ask with other words.",
    ),
    Cause(
        "boundary",
        _overlap,
        lambda case: (
            f"Only the boundary differs: {quoted(case.winner)} and {quoted(case.loser)} share words, and "
            f"{_decisive(case)} decides."
        ),
        "Ask for a larger unit (sentence) if either will do.",
    ),
    Cause(
        "no n-gram in common",
        _no_ngram,
        lambda case: (
            f"No n-gram of the question weighs anything for {quoted(case.loser)}; for {quoted(case.winner)} it "
            f"is {by_group(case.winner.by_kind)['sparse']:.2f} points, most of all by "
            f"{_decisive(case, 'sparse')}."
        ),
        "Ask with words that stand near the right phrase.",
    ),
    _outvoted("dense", "sparse", _READ),
    _outvoted("dense", "lexical", _READ),
    _outvoted("sparse", "dense", _READ),
    _outvoted("sparse", "lexical", _READ),
    _outvoted("lexical", "dense", _COUNTED),
    _outvoted("lexical", "sparse", _COUNTED),
    Cause(
        "all agree",
        lambda case: True,
        _agreed,
        _READ,
    ),
)
"""In the order in which they are looked at."""
