"""Why this, and why not that: two phrases and one question, their scores taken apart and put beside each other.

    score_view(index, question, passage_id, start, end) -> ScoredPhrase
        The exact score of any span of a passage, and what pays for it. A span that the filter left out of the index is
        encoded on the spot, and says so.
    why_view(index, question, Choice(…), Choice(…)) -> WhyView
        Two of these, and the difference between them.

A **choice** says which phrase is meant: an answer by its rank; a passage, which stands for its best phrase; a span or a
text of a passage; the same phrase by tf-idf; or any of these in a second index.

A **scored phrase** is a span with its score, the parts of that score, and its **marks**: where in the passage an n-gram
of the question stands that pays for this very phrase, with the points it gives to the start and to the end.

A **comparison** of A and B is, for every part (and for every n-gram and term of a part), what it gives to A, what it
gives to B, and the difference of the two. The differences sum to the difference of the scores.

A **verdict** is one sentence on why the one that lost has lost, from a table of causes, each with what can be done
about it. A **cure** is a factor for one part of the scores with which it would have been first among the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np

from ..engine import View, supports
from ..errors import NotThere, UsageError
from ..index import Index
from ..ngrams import round_up_9bits
from ..records import SIDES, Answer, PartKind, Passage, Reading, Reply, Retriever, Strategy
from ..search.grid import exact_products
from ..search.sparse_first import sparse_query
from ..stored import Hits, Listing, Proposals, StoredPassage
from . import asking, tables
from .answer import Difference, differences
from .passage import chosen_tokens, places_of
from .question import QuestionView, question_view
from .scored_phrase import PhraseScorer, ScoredPhrase, Standing
from .summaries import facts
from .tokens import tokens_between
from .verdict import GROUPS, Group, Verdict, by_group, verdict

MOST_PLACES = 20
"""Passages in which a text is looked for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which phrase is meant; the fields exclude each other, but a text or a span may be of a passage."""

    answer: int | None = None
    """The answer of this rank."""
    passage: str = ""
    """Of this passage: its best phrase, or the text or span that is asked for."""
    phrase: str = ""
    """This text: of the passage, or of the best one that holds it."""
    span: tuple[int, int] | None = None
    """These characters of the passage."""
    tfidf: bool = False
    """The phrase it is put beside, by tf-idf."""
    index: str = ""
    """In the second index of this name; without another field its best answer."""

    def __post_init__(self) -> None:
        kinds = (self.answer is not None, bool(self.passage or self.phrase or self.span), self.tfidf)
        if sum(kinds) > 1 or (self.phrase and self.span):
            raise UsageError("an answer, a phrase and tf-idf exclude each other", "choose one of them")
        if self.span and not self.passage:
            raise UsageError("a span is of no passage", "say of which")


@dataclass(frozen=True, slots=True)
class ReturnedAnswer:
    """An answer that was given, as far as it is needed to choose it and to weigh its parts anew."""

    rank: int
    text: str
    passage_id: str
    title: str
    start: int
    end: int
    score: float
    confidence: float | None
    read_score: float | None
    by_kind: Mapping[PartKind, float]
    by_group: Mapping[Group, float]
    """Dense, sparse and lexical part: with other factors before them the answers would stand in another order."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A and B part by part; the differences of either list sum to `difference`."""

    difference: float
    by_kind: tuple[Difference, ...]
    by_name: tuple[Difference, ...]
    """N-grams and terms one by one, dense parts whole; the largest difference first."""


@dataclass(frozen=True, slots=True)
class Cure:
    """Factors for one part of all scores with which the one that lost would be the first of the answers."""

    part: Group
    least: float
    most: float | None
    """None if any larger factor will do."""


@dataclass(frozen=True, slots=True)
class WhyView:
    """A question, two phrases, and why one of them stands before the other."""

    question: QuestionView
    a: ScoredPhrase
    b: ScoredPhrase | None
    other_question: QuestionView | None
    """The weights of the question in the second index, if B is of that."""
    contrast: Contrast | None
    verdict: Verdict | None
    cures: tuple[Cure, ...]
    answers: tuple[ReturnedAnswer, ...]
    strategy: Strategy
    candidates: int
    snapshot: int
    degraded: tuple[str, ...]
    read: Reading | None


def score_view(index: Index, question: str, passage_id: str, start: int, end: int) -> ScoredPhrase:
    """The exact score of the words that have characters from `start` to `end` of a passage."""
    return _Asked(index, question).phrase(Choice(passage=passage_id, span=(start, end)))


def why_view(
    index: Index,
    question: str,
    one: Choice | None = None,
    other: Choice | None = None,
    *,
    k: int | None = None,
    strategy: Strategy | None = None,
    where: Mapping[str, str] | None = None,
    read: int | str | None = None,
    every: bool = False,
    also: Mapping[str, Index] | None = None,
) -> WhyView:
    """Why one phrase (the best answer) and not another (the next one); `also` are further indexes by name.

    With `every`, both phrases come with all their weights, whatever the question.
    """
    k = max([k or index.settings.top_k, *(choice.answer or 1 for choice in (one, other) if choice)])
    asked = _Asked(index, question, k, strategy, dict(where or {}), read, every)
    a = asked.phrase(one or Choice(answer=1))
    other = other or asked.opponent(a)
    b, second = asked.against(a, other, also or {}) if other else (None, None)
    contrast = Contrast(a.score - b.score, *differences(a, b)) if b else None
    shown = question_view(index, question)
    judged = verdict(shown, a, b, asked.where) if b else None
    answers = tuple(_returned(rank, answer) for rank, answer in enumerate(asked.reply.answers, start=1))
    return WhyView(
        question=shown,
        a=a,
        b=b,
        other_question=question_view(second, question) if second else None,
        contrast=contrast,
        verdict=judged,
        cures=_cures(b if judged.winner == "a" else a, answers)
        if b and judged and b.method == "learned" and not second
        else (),
        answers=answers,
        strategy=asked.reply.strategy,
        candidates=asked.reply.candidates,
        snapshot=asked.reply.snapshot,
        degraded=asked.reply.degraded,
        read=asked.reply.read,
    )


@dataclass
class _Asked:
    """A question to one index, and what its phrases score."""

    index: Index
    question: str
    k: int | None = None
    strategy: Strategy | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    read: int | str | None = None
    every: bool = False
    name: str = ""

    @cached_property
    def reply(self) -> Reply:
        options = {"k": self.k, "strategy": self.strategy, "where": self.where, "read": self.read}
        return self.index.ask(self.question, unit="phrase", **options)  # type: ignore[arg-type]

    @cached_property
    def scorer(self) -> PhraseScorer:
        return PhraseScorer(self.index, self.question)

    def opponent(self, a: ScoredPhrase) -> Choice | None:
        """What a phrase is put beside if nothing is said: the next answer for the first, the first for any other."""
        rank = 2 if a.rank == 1 else 1
        return Choice(answer=rank) if len(self.reply.answers) >= rank else None

    def against(self, a: ScoredPhrase, choice: Choice, also: Mapping[str, Index]) -> tuple[ScoredPhrase, Index | None]:
        """The other phrase, and the second index if it is of that."""
        if choice.tfidf:
            stored = asking.stored(self.index, a.passage.id)
            return self.scorer.by_tfidf(a, stored.block), None
        if not choice.index:
            return self.phrase(choice), None
        if choice.index not in also:
            raise NotThere(
                f"there is no index {choice.index!r} beside this one", f"known are: {', '.join(also) or 'none'}"
            )
        second = replace(self, index=also[choice.index], name=choice.index)
        plain = replace(choice, index="")
        return second.phrase(Choice(answer=1) if plain == Choice() else plain), second.index

    def phrase(self, choice: Choice) -> ScoredPhrase:
        """The phrase that is meant, with everything that is known of it."""
        if choice.answer is not None:
            span = self._answer(choice.answer).scored
            stored = asking.stored(self.index, self._answer(choice.answer).passage.id)
            return self._known(stored, tokens_between(stored.block, span.start, span.end))
        if choice.phrase and not choice.passage:
            return max(self._places(choice.phrase), key=lambda found: found.score)
        stored = asking.stored(self.index, choice.passage)
        if choice.phrase or choice.span:
            return self._known(stored, chosen_tokens(stored.passage, stored.block, None, choice.phrase, choice.span))
        return self._known(stored, self.scorer.best(stored))

    def _answer(self, rank: int) -> Answer:
        answers = self.reply.answers
        if not 1 <= rank <= len(answers):
            raise NotThere(f"there are {len(answers)} answers", "choose one of them, or ask for more (k)")
        return answers[rank - 1]

    def _places(self, text: str) -> Iterator[ScoredPhrase]:
        """The phrase wherever it stands: in the passages of the answers, or else in the index."""
        listed = self._listed(text)
        answered = [answer.passage for answer in self.reply.answers]
        looked = product((False, True), (answered, listed))  # within a word only where it is nowhere a word
        ids = next(filter(None, (_holding(passages, text, inside) for inside, passages in looked)), None)
        if not ids:
            raise NotThere(f"{text!r} stands in no passage", "write it as it stands there")
        for passage_id in ids:
            yield self.phrase(Choice(passage=passage_id, phrase=text))

    def _listed(self, text: str) -> Sequence[Passage]:
        with self.index.engine.view() as view:
            listing = Listing(text=asking.whole(text), size=MOST_PLACES)
            return view.list_passages(listing).passages if supports(view, View.list_passages) else ()

    def _known(self, stored: StoredPassage, tokens: tuple[int, int] | None) -> ScoredPhrase:
        if tokens is None:
            raise NotThere("the passage has no phrase that could be an answer", "choose another")
        phrase = self.scorer.phrase(stored, *tokens, every=self.every)
        ranks = (
            rank
            for rank, answer in enumerate(self.reply.answers, start=1)
            if (answer.passage.id, answer.scored.start, answer.scored.end)
            == (stored.passage.id, phrase.start, phrase.end)
        )
        logits = None
        if self.reply.read:
            logits = self.index.rereader.of_span(self.question, stored.passage, phrase.start, phrase.end)
        return replace(
            phrase, rank=next(ranks, None), roads=tuple(self._standings(stored)), read_logits=logits, index=self.name
        )

    def _standings(self, stored: StoredPassage) -> Iterator[Standing]:
        proposed = self._proposed
        settings = self.index.settings
        if self.reply.strategy != "dense":
            yield _standing("sparse", stored, proposed.sparse, self._sparse_score(stored), settings.sparse_candidates)
        if self.reply.strategy != "sparse":
            yield _standing("dense", stored, proposed.dense, self._dense_score(stored), settings.dense_candidates)

    @cached_property
    def _proposed(self) -> Proposals:
        return self.index.proposals(self.question, strategy=self.strategy, where=self.where)

    def _sparse_score(self, stored: StoredPassage) -> float:
        """What sparse search gives the passage: the question's weights times the most that each n-gram weighs."""
        query = sparse_query(self.scorer.question, self.scorer.lex, self.index.settings.first_stage_lex_weight)
        block, name = stored.block, asking.namer(self.index)
        bounds = tables.passage_ngrams(block, SIDES, self.index.encoder.ngrams)
        score = 0.0
        for (side, _), ngrams in bounds.items():
            for ids, bound in ngrams.items():
                score += query[side].get(name(ids), 0.0) * float(round_up_9bits(bound))
        for term, impact in zip(block.lex_ids.tolist(), block.lex_impacts.tolist(), strict=True):
            score += query["lex"].get(name((term,)), 0.0) * impact
        return score

    def _dense_score(self, stored: StoredPassage) -> float:
        """What dense search gives the passage, to the precision of its vectors."""
        vector, scale = stored.block.passage_vector, stored.block.passage_scale
        return float(exact_products((vector[np.newaxis],), self.scorer.question.passage_vector)[0] * scale)


def _standing(retriever: Retriever, stored: StoredPassage, found: Hits, score: float, most: int) -> Standing:
    hits = {hit.passage_id: hit.score for hit in found.hits}
    least = min(hits.values()) if len(hits) >= most else None
    return Standing(retriever, stored.passage.id in hits, score, least)


def _holding(passages: Sequence[Passage], phrase: str, inside: bool) -> list[str]:
    holding = (passage.id for passage in passages if places_of(passage.text, phrase, inside=inside))
    return list(dict.fromkeys(holding))


def _returned(rank: int, answer: Answer) -> ReturnedAnswer:
    by_kind = {part.kind: part.value for part in answer.parts}
    span, passage = answer.scored, facts(answer.passage)
    return ReturnedAnswer(
        rank=rank,
        text=span.text,
        passage_id=passage.id,
        title=passage.title or passage.document_id,
        start=span.start,
        end=span.end,
        score=answer.score,
        confidence=answer.confidence,
        read_score=answer.read_score,
        by_kind=by_kind,
        by_group=by_group(by_kind),
    )


def _cures(loser: ScoredPhrase, answers: Sequence[ReturnedAnswer]) -> tuple[Cure, ...]:
    """For each part alone, the factors that put a phrase before every answer."""
    mine, cures = by_group(loser.by_kind), []
    rivals = [answer for answer in answers if (answer.passage_id, answer.start, answer.end) != _where(loser)]
    for part in GROUPS:
        least, most = 0.0, float("inf")
        for rival in rivals:
            ahead = mine[part] - rival.by_group[part]  # times the factor
            behind = sum(rival.by_group[other] - mine[other] for other in GROUPS if other != part)
            if ahead > 0:
                least = max(least, behind / ahead)
            elif ahead < 0:
                most = min(most, behind / ahead)
            elif behind > 0:
                most = -1.0
        if least < most and not least <= 1 <= most:
            cures.append(Cure(part, least, None if most == float("inf") else most))
    return tuple(cures)


def _where(phrase: ScoredPhrase) -> tuple[str, int, int]:
    return phrase.passage.id, phrase.start, phrase.end
