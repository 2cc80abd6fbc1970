"""An n-gram across the index: in how many passages it stands, how its weights are spread, where they are largest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..engine import View, supports
from ..errors import UsageError
from ..index import Index
from ..ngrams import feature_name, parse_feature
from ..records import FIELDS, Span
from ..search.lexical import idf
from ..stored import FeatureStatistics
from . import asking
from .paying_phrase import paying_phrase
from .summaries import PassageFacts, facts, snippet


@dataclass(frozen=True, slots=True)
class TopPassage:
    """A passage in which a feature weighs much."""

    value: float
    passage: PassageFacts
    snippet: str
    phrase: Span | None
    """The phrase for which it weighs so much; of a lexical weight none, which is the whole passage's."""


@dataclass(frozen=True, slots=True)
class FieldView:
    """A feature in one field: `start`, `end` (the most it weighs for a phrase) or `lex` (saturated frequency)."""

    field: str
    statistics: FeatureStatistics
    share: float
    """Of all passages."""
    idf: float
    top: tuple[TopPassage, ...]


@dataclass(frozen=True, slots=True)
class FeatureView:
    """An n-gram across the index."""

    name: str
    pieces: tuple[str, ...]
    asked: str
    passages: int
    """In the index."""
    fields: tuple[FieldView, ...]
    made_of: tuple[str, ...]
    """N-grams of a phrase that is longer than any that the model weighs; empty for one that it could weigh."""
    related: tuple[str, ...]
    """Other features to look at: parts of a longer phrase, names that begin alike."""

    @property
    def known(self) -> bool:
        """Whether any passage has it."""
        return any(field.statistics.passages for field in self.fields)


def feature_view(
    index: Index, name: str, *, k: int = 20, bins: int = 20, where: Mapping[str, str] | None = None
) -> FeatureView:
    """Look at a feature; `name` is its own (`climb ##ing`) or a word or two (`climbing`, `Gold dome`)."""
    name = asking.whole(name)
    with index.engine.view() as view:
        meant, statistics = _resolved(index, view, name, bins)
        passages = view.statistics([]).passages
        fields = tuple(
            FieldView(
                field,
                counted,
                counted.passages / passages if passages else 0.0,
                idf(passages, counted.passages),
                _top(index, view, field, meant, k, where or {}) if counted.passages else (),
            )
            for field, counted in statistics.items()
        )
        made_of, related = _made_of(index, meant), _related(index, view, name, meant)
        return FeatureView(meant, parse_feature(meant), name, passages, fields, made_of, related)


def as_text(name: str) -> str:
    """A feature as it stands in a text: `climb ##ing` is `climbing`."""
    return " ".join(parse_feature(name)).replace(" ##", "")


def _resolved(index: Index, view: View, name: str, bins: int) -> tuple[str, dict[str, FeatureStatistics]]:
    """The feature that is meant, and its statistics: the first spelling that is in the index, or the likeliest."""
    first: tuple[str, dict[str, FeatureStatistics]] | None = None
    for spelling in _spellings(index, name):
        candidate = spelling, {field: view.feature_statistics(field, spelling, bins) for field in FIELDS}
        if any(statistics.passages for statistics in candidate[1].values()):
            return candidate
        first = first or candidate
    if first is None:
        raise UsageError(f"{name!r} is not the name of an n-gram", "name a word or two that stand in a text")
    return first


def _spellings(index: Index, name: str) -> list[str]:
    pieces = index.encoder.word_pieces(name)
    spellings = [feature_name(pieces)] if pieces else []
    try:
        parse_feature(name)
    except ValueError:
        return spellings
    return list(dict.fromkeys([*([name] if "##" in name or "%" in name else []), *spellings, name]))


def _top(index: Index, view: View, field: str, name: str, k: int, where: Mapping[str, str]) -> tuple[TopPassage, ...]:
    """Where the feature weighs most. The score of a query with this feature alone, of weight 1, is its value."""
    (heaviest,) = view.sparse_search([{field: {name: 1.0}}], k, where)
    values, readable = {hit.passage_id: hit.score for hit in heaviest.hits}, as_text(name)
    longest = index.encoded("?").longest_answer
    return tuple(
        TopPassage(
            values[stored.passage.id],
            facts(stored.passage),
            snippet(stored.passage.text, readable),
            paying_phrase(stored, field, asking.ids_of(index, stored.block, name), longest),
        )
        for stored in view.fetch(list(values)).passages
    )


def _made_of(index: Index, name: str) -> tuple[str, ...]:
    pieces, longest = parse_feature(name), max(index.encoder.ngrams, default=1)
    if len(pieces) <= longest:
        return ()
    return tuple(dict.fromkeys(feature_name(pieces[at : at + longest]) for at in range(len(pieces) - longest + 1)))


def _related(index: Index, view: View, asked: str, name: str) -> tuple[str, ...]:
    pieces = parse_feature(name)
    names = list(_made_of(index, name))
    if len(pieces) > 1:
        names += [feature_name([piece]) for piece in pieces]
    if supports(view, View.features_like):
        for beginning in dict.fromkeys((f"{name} ", name, asked.lower())):
            names += [feature.name for feature in view.features_like(beginning, 6)]
    return tuple(other for other in dict.fromkeys(names) if other != name)[:12]
