"""An index as a whole: how much it holds, how its weights are spread, which model made it, how it came to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Admin, View, supports
from ..index import Index
from ..loaders import history
from ..records import FIELDS, LEX, SIDES, TITLE, PhraseBlock
from ..stored import FeatureCount, FeatureFigures, disagreements, learned, rarity
from . import weights
from .histogram import Histogram, histogram


@dataclass(frozen=True, slots=True)
class SampleView:
    """What a sample of passages says of all of them."""

    passages: int
    """So many were looked at, evenly spread."""
    tokens: Histogram
    """Word pieces of a passage, the title's not counted."""
    kept: Mapping[str, float]
    """`start`, `end` -> share of the word pieces at which a phrase may start (end) in this index."""
    weights: Mapping[str, Histogram]
    """`start`, `end`, `lex` -> values of the features."""
    features: Mapping[str, Histogram]
    """`start`, `end`, `lex` -> features of a passage."""
    ngrams: Mapping[str, Histogram]
    """`start`, `end` -> n-grams that weigh something in the sparse vector of one boundary."""


@dataclass(frozen=True, slots=True)
class RankedFeature:
    """An n-gram, what the model gives it on average (start and end), and what tf-idf does."""

    name: str
    passages: int
    weight: float
    idf: float
    tfidf: float | None
    """Mean saturated frequency times idf; None for what is no single word piece."""
    score: float
    """What it is ranked by: weight times idf, or learned weight minus tf-idf, each as a share of its largest."""


@dataclass(frozen=True, slots=True)
class RankedFeatures:
    """What was learned: which features weigh much, and where learned weight and tf-idf disagree."""

    heaviest: tuple[RankedFeature, ...] = ()
    more: tuple[RankedFeature, ...] = ()
    """The model makes more of them than tf-idf does; `less`: less."""
    less: tuple[RankedFeature, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexView:
    """An index as a whole."""

    passages: int
    documents: int | None
    bytes: int | None
    snapshot: int
    engine: str
    facts: Mapping[str, Any]
    """What the store says of itself, by name."""
    sample: SampleView
    frequent: Mapping[str, tuple[FeatureCount, ...]]
    """`start`, `end`, `lex` -> the features that stand in most passages."""
    ranked: RankedFeatures
    model: str
    """Fingerprint of the model."""
    card: Mapping[str, Any]
    ingests: tuple[Mapping[str, Any], ...]
    """Summaries of the runs that changed it, newest first."""
    rejects: tuple[Mapping[str, str], ...]
    """Documents that the last run could not index."""


def index_view(index: Index, *, sample: int = 200, frequent: int = 20, bins: int = 20) -> IndexView:
    """Look at an index; histograms are of a sample of so many passages."""
    admin, location = index.engine.admin(), index.settings.index
    with index.engine.view() as view:
        statistics = view.statistics([])
        listed = supports(view, View.frequent_features)
        features = {field: tuple(view.frequent_features(field, frequent)) if listed else () for field in FIELDS}
        figures = view.feature_figures() if supports(view, View.feature_figures) else ()
    facts = dict(admin.describe()) if supports(admin, Admin.describe) else {}
    documents = facts.get("documents")
    return IndexView(
        passages=statistics.passages,
        documents=documents if isinstance(documents, int) else None,
        bytes=admin.size_in_bytes() if supports(admin, Admin.size_in_bytes) else None,
        snapshot=statistics.snapshot,
        engine=index.settings.engine,
        facts=facts,
        sample=sample_view(index, sample, bins),
        frequent=features,
        ranked=ranked_features(figures, statistics.passages, frequent),
        model=index.encoder.fingerprint,
        card=dict(index.encoder.card),
        ingests=tuple(history.ingests(location)),
        rejects=tuple(history.rejects(location)),
    )


def ranked_features(figures: Sequence[FeatureFigures], passages: int, k: int) -> RankedFeatures:
    """The first k of each ranking."""
    if not figures:
        return RankedFeatures()
    table = np.array([own.by_field for own in figures], np.float64)  # (features, fields, 2)
    counts, sums = table[:, :, 0].T.astype(np.int64), table[:, :, 1].T
    means, rare = sums / np.maximum(counts, 1), rarity(counts, passages)

    def first(ranking: NDArray[np.float64]) -> tuple[RankedFeature, ...]:
        return tuple(
            RankedFeature(
                figures[at].name,
                figures[at].passages,
                float(means[0, at] + means[1, at]) / 2,
                float(rare[at]),
                float(means[2, at] * rare[at]) if counts[2, at] else None,
                float(ranking[at]),
            )
            for at in np.argsort(-ranking, kind="stable")[:k].tolist()
            if ranking[at] > 0
        )

    # The tf-idf of a piece within words says nothing of a word, so it is nothing to disagree with.
    within = np.array([own.name.startswith("##") for own in figures])
    apart = np.where(within, 0.0, disagreements(counts, means, passages))
    return RankedFeatures(first(learned(counts, means, passages)), first(apart), first(-apart))


def sample_view(index: Index, count: int, bins: int = 20) -> SampleView:
    """Histograms over a sample of passages."""
    with index.engine.view() as view:
        can = supports(view, View.sample) or supports(view, View.matching)
        ids = view.sample(count) if can and count else []
        blocks = [stored.block for stored in view.fetch(ids).passages]
        features = view.features(ids) if supports(view, View.features) else {}
    tokens = np.array([int(((block.flags & TITLE) == 0).sum()) for block in blocks], np.int64)
    if features:
        values = {field: [np.array(list(own[field].values())) for own in features.values()] for field in FIELDS}
    else:
        values = {field: [_values(block, field) for block in blocks] for field in FIELDS}
    kept = {side: sum(len(weights.phrases_of(block, side).positions) for block in blocks) for side in SIDES}
    return SampleView(
        passages=len(blocks),
        tokens=histogram(tokens, bins),
        kept={side: kept[side] / int(tokens.sum()) if tokens.sum() else 0.0 for side in SIDES},
        weights={field: histogram(_joined(values[field]), bins) for field in FIELDS},
        features={field: histogram(np.array(list(map(len, values[field])), np.int64), bins) for field in FIELDS},
        ngrams={
            side: histogram(np.concatenate([np.zeros(0, np.int64), *(_nonzero(block, side) for block in blocks)]), bins)
            for side in SIDES
        },
    )


def _values(block: PhraseBlock, field: str) -> weights.Floats:
    """The values of a passage's features, as they are before they are rounded up."""
    if field == LEX:
        return block.lex_impacts.astype(np.float64)
    return np.array(
        [
            value
            for side, columns in weights.matrices(block)
            if side == field
            for value in weights.bounds(block, len(weights.phrases_of(block, side).positions), columns).values()
        ]
    )


def _nonzero(block: PhraseBlock, side: Any) -> Any:
    """For each kept boundary the positions at which an n-gram weighs something for it."""
    phrases = weights.phrases_of(block, side)
    counts = [np.bincount(columns.rows, minlength=len(phrases.positions)) for columns in phrases.sparse]
    return np.sum(counts, axis=0, dtype=np.int64) if counts else np.zeros(len(phrases.positions), np.int64)


def _joined(arrays: list[weights.Floats]) -> weights.Floats:
    return np.concatenate([np.zeros(0), *arrays])
