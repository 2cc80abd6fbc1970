"""A passage and its weights: of all its phrases at most, and of one token or phrase in particular."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..errors import NotThere, UsageError
from ..index import Index, cleaned
from ..records import SIDES, TITLE, Passage, PhraseBlock, Side
from ..stored import StoredPassage
from . import asking, tables, weights
from .summaries import PassageFacts, facts
from .tables import NgramRow, TermRow
from .tokens import Token, tokens_between, tokens_of, word_of


@dataclass(frozen=True, slots=True)
class Boundary:
    """The start or the end of a phrase: at which token, and whether the index knows it."""

    side: Side
    token: int
    indexed: bool
    """Whether it was kept; if not, its weights were encoded on the spot."""
    note: str
    """Why it has no weights, or where they come from."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One phrase of the passage (a token stands for its word), and the weights of its start and end vector."""

    text: str
    first: int
    last: int
    start: int
    """Characters of the passage: from here to `end`."""
    end: int
    indexed: bool
    """Whether both boundaries are in the index, so that the phrase can be an answer."""
    boundaries: tuple[Boundary, ...]
    weights: Mapping[str, tuple[float, ...]]
    """`start_1`, … -> for each token the weight of the n-gram that begins there."""
    ngrams: tuple[NgramRow, ...]


@dataclass(frozen=True, slots=True)
class PassageView:
    """What the index knows of a passage."""

    passage: PassageFacts
    tokens: tuple[Token, ...]
    kept_starts: int
    kept_ends: int
    sides: tuple[Side, ...]
    sizes: tuple[int, ...]
    threshold: float
    largest: Mapping[str, float]
    """`start_1`, … -> the largest weight of the passage: shades are shares of it."""
    ngrams: tuple[NgramRow, ...]
    """For each n-gram the most it weighs for any phrase that is indexed."""
    tfidf: tuple[TermRow, ...]
    selection: Selection | None
    snapshot: int


def passage_view(
    index: Index,
    passage_id: str,
    *,
    token: int | None = None,
    phrase: str = "",
    span: tuple[int, int] | None = None,
    sides: Collection[Side] = SIDES,
    sizes: Collection[int] | None = None,
    threshold: float = 0.0,
) -> PassageView:
    """Look at a passage; with a token, a phrase or a span of characters also at the weights of that phrase."""
    choice = {"token": token, "phrase": phrase, "span": span}
    return _view(index, asking.stored(index, passage_id), choice, sides, sizes, threshold)


def text_view(
    index: Index,
    text: str,
    *,
    token: int | None = None,
    phrase: str = "",
    span: tuple[int, int] | None = None,
    sides: Collection[Side] = SIDES,
    sizes: Collection[int] | None = None,
    threshold: float = 0.0,
) -> PassageView:
    """The same for any text, encoded just now as a passage without a title; nothing of it is stored."""
    try:
        words = cleaned(text)
    except UsageError:
        raise UsageError("nothing can be read in this text", "paste some words") from None
    encoded = index.encoder.encode_passages([Passage("", "", 0, words, 0)])[0]
    choice = {"token": token, "phrase": phrase, "span": span}
    return _view(index, StoredPassage(encoded.passage, encoded.block), choice, sides, sizes, threshold)


def _view(
    index: Index,
    stored: StoredPassage,
    choice: Mapping[str, Any],
    sides: Collection[Side],
    sizes: Collection[int] | None,
    threshold: float,
) -> PassageView:
    passage, block = stored.passage, stored.block
    name = asking.namer(index)
    with index.engine.view() as view:
        statistics = view.statistics([name((token_id,)) for token_id in block.lex_ids.tolist()])
    terms = tables.term_rows(block, statistics, name)
    impacts = {row.name: row.weight for row in terms}
    tfidf = {token_id: impacts[name((token_id,))] for token_id in block.lex_ids.tolist()}
    sizes = _known_sizes(index, sizes)
    chosen = chosen_tokens(passage, block, **choice)
    largest = {
        weights.key_of(side, columns.n): float(weights.largest(columns).max(initial=0.0))
        for side, columns in weights.matrices(block)
    }
    ngrams = tables.passage_ngrams(block, sides, sizes)
    return PassageView(
        passage=facts(passage),
        tokens=tokens_of(passage, block, index.encoder, tfidf),
        kept_starts=len(block.start.positions),
        kept_ends=len(block.end.positions),
        sides=tuple(side for side in SIDES if side in sides),
        sizes=tuple(sorted(sizes)),
        threshold=threshold,
        largest=largest,
        ngrams=tables.ngram_rows(block, ngrams, name, tfidf, threshold),
        tfidf=terms,
        selection=_selection(index, stored, chosen, sides, sizes, tfidf, threshold) if chosen else None,
        snapshot=statistics.snapshot,
    )


def _known_sizes(index: Index, sizes: Collection[int] | None) -> Collection[int]:
    """The sizes that are asked for, or all; `UsageError` if the model has none of one of them."""
    known = index.encoder.ngrams
    for n in sizes or ():
        if n not in known:
            raise UsageError(f"the model weighs no n-grams of size {n}", f"choose of: {', '.join(map(str, known))}")
    return known if sizes is None else sizes


def chosen_tokens(
    passage: Passage, block: PhraseBlock, token: int | None, phrase: str, span: tuple[int, int] | None
) -> tuple[int, int] | None:
    """First and last token of what is asked for."""
    if sum((token is not None, bool(phrase), span is not None)) > 1:
        raise UsageError("a token, a phrase and a span exclude each other", "give one of them")
    if token is not None:
        if not 0 <= token < len(block.token_ids):
            raise NotThere(f"the passage has no token {token}", f"they are 0 to {len(block.token_ids) - 1}")
        return word_of(block, token)
    if phrase:
        return _find(passage, block, phrase)
    if span is not None:
        tokens = tokens_between(block, *span)
        if tokens is None:
            raise NotThere(f"no token stands at the characters {span[0]} to {span[1]}", "take some of the text")
        return tokens
    return None


def _find(passage: Passage, block: PhraseBlock, phrase: str) -> tuple[int, int]:
    """Where a phrase stands: of several places the first at which it is indexed, or the first."""
    found = (tokens_between(block, at, at + len(phrase)) for at in places_of(passage.text, phrase))
    places = [tokens for tokens in found if tokens]
    if not places:
        raise NotThere(f"{phrase!r} does not stand in the passage", "write it as it stands there")
    starts, ends = set(block.start.positions.tolist()), set(block.end.positions.tolist())
    return next((place for place in places if place[0] in starts and place[1] in ends), places[0])


def places_of(text: str, phrase: str, *, inside: bool = True) -> list[int]:
    """Where a phrase begins in a text: as whole words, else in other letters, else (`inside`) within words."""
    for pattern in (rf"(?<!\w){re.escape(phrase)}(?!\w)", re.escape(phrase))[: 1 + inside]:
        for flags in (0, re.IGNORECASE):
            if found := [match.start() for match in re.finditer(pattern, text, flags)]:
                return found
    return []


def _selection(
    index: Index,
    stored: StoredPassage,
    chosen: tuple[int, int],
    sides: Collection[Side],
    sizes: Collection[int],
    tfidf: Mapping[int, float],
    threshold: float,
) -> Selection:
    passage, block = stored.passage, stored.block
    by_position: dict[str, tuple[float, ...]] = {}
    ngrams: dict[tuple[Side, int], dict[tuple[int, ...], float]] = {}
    boundaries = []
    whole = cache(lambda: index.encoder.encode_unfiltered([passage])[0].block)
    for side, token in zip(SIDES, chosen, strict=True):
        boundary, source = boundary_of(stored, side, token, whole)
        boundaries.append(boundary)
        if source is not None and side in sides:
            for n, row in weights.of_boundary(weights.phrases_of(source, side), token).items():
                by_position[weights.key_of(side, n)] = tuple(row.tolist())
                if n in sizes:
                    ngrams[side, n] = weights.by_ngram(block, n, row)
    first, last = chosen
    in_title = bool(block.flags[first] & TITLE)
    start, end = int(block.offsets[first, 0]), int(block.offsets[last, 1])
    name = asking.namer(index)
    return Selection(
        text=name(block.token_ids[first : last + 1].tolist()) if in_title else passage.text[start:end],
        first=first,
        last=last,
        start=start,
        end=end,
        indexed=all(boundary.indexed for boundary in boundaries),
        boundaries=tuple(boundaries),
        weights=by_position,
        ngrams=tables.ngram_rows(block, ngrams, name, tfidf, threshold),
    )


def boundary_of(
    stored: StoredPassage, side: Side, token: int, unfiltered: Callable[[], PhraseBlock]
) -> tuple[Boundary, PhraseBlock | None]:
    """A boundary, and the block its weights stand in: the stored one, or one that is made without the filter."""
    if token in weights.phrases_of(stored.block, side).positions:
        return Boundary(side, token, True, "stored in the index"), stored.block
    if stored.block.flags[token] & TITLE:
        return Boundary(side, token, False, "in the title, where no answer is"), None
    if not np.array_equal(unfiltered().token_ids, stored.block.token_ids):
        return Boundary(side, token, False, "the model reads this passage otherwise than the index"), None
    if token in weights.phrases_of(unfiltered(), side).positions:
        return Boundary(side, token, False, "filtered out; encoded just now"), unfiltered()
    return Boundary(side, token, False, f"no phrase can {side} here"), None
