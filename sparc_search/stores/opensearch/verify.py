"""Is everything in an index on a server as it should be? Reads all of it, and looks whether features are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ...errors import IndexDamaged
from ...records import FIELDS, LEX
from ...stored import CheckReport, Problem
from ..block_checks import block_problems
from .bodies import read_features, read_passage, read_record, read_vector
from .names import key
from .queries import every, sparse_search
from .scan import pages
from .state import read_statistics
from .view import ServerView

STATISTICS: Final = "statistics"
LEFTOVERS: Final = "leftovers"
_LOOKED_UP: Final = 20
"""Passages whose features are searched for."""


@dataclass(slots=True)
class _SeenOnServer:
    """What was read so far."""

    owners: dict[str, str] = field(default_factory=dict)  # passage id -> document id, as the records say
    documents: int = 0
    words: int = 0
    terms: Counter[str] = field(default_factory=Counter)
    found: set[str] = field(default_factory=set)


def verify(view: ServerView) -> CheckReport:
    """Check one version."""
    seen = _SeenOnServer()
    problems = [*_records(view, seen), *_passages(view, seen)]
    for id in sorted(seen.owners.keys() - seen.found):
        owner = seen.owners[id]
        problems.append(Problem(f"passage {id}", f"is missing from document {owner}", document=owner))
    problems += _counts(view, seen)
    problems += _found_again(view, sorted(seen.found))
    counts = {"documents": seen.documents, "passages": len(seen.found), "terms": len(seen.terms)}
    return CheckReport(counts, tuple(problems))


def _records(view: ServerView, seen: _SeenOnServer) -> Iterator[Problem]:
    query, index = every({"term": {"kind": "document"}}), view.state.version.documents
    for page in pages(view.server, index, query, size=100, source=True):
        for hit in page:
            record = read_record(hit["_source"])
            id = record.document.id
            if record.marked:
                # Records of what was deleted go after the commit, and a search may still show them for a while.
                if record.generation > view.state.generation:
                    yield Problem(f"document {id}", "is half replaced or deleted", LEFTOVERS)
                continue
            if hit["_id"] != key(id):
                yield Problem(f"document {id}", "stands under a wrong id")
            seen.documents += 1
            seen.words += record.counts.words
            seen.terms.update(record.counts.terms)
            for passage_id in record.passage_ids:
                if seen.owners.setdefault(passage_id, id) != id:
                    yield Problem(f"passage {passage_id}", f"belongs to {id} and to {seen.owners[passage_id]}")


def _passages(view: ServerView, seen: _SeenOnServer) -> Iterator[Problem]:
    stored = ("block", "facts", "vector", "features")
    source = ["id", "document", "generation", *FIELDS]
    for page in pages(view.server, view.state.passages_index, every(), size=100, source=source, stored=stored):
        for hit in page:
            id = hit["_source"]["id"]
            for what, part in _passage(hit, view, seen):
                yield Problem(f"passage {id}", what, part, "" if part else seen.owners.get(id, ""))


def _passage(hit: Any, view: ServerView, seen: _SeenOnServer) -> Iterator[tuple[str, str]]:
    source, id = hit["_source"], hit["_source"]["id"]
    seen.found.add(id)
    if source["generation"] > view.state.generation:
        yield "was written and never committed", LEFTOVERS
        return
    if hit["_id"] != key(id):
        yield "stands under a wrong id", ""
    if seen.owners.get(id) != source["document"]:
        yield "belongs to no document", ""
    try:
        fields = hit.get("fields", {})
        stored = read_passage(fields, check=True)
        vector, _ = read_vector(fields)
        features = read_features(fields, source)
    except IndexDamaged as error:
        yield error.message, ""
        return
    if stored.passage.id != id:
        yield f"calls itself {stored.passage.id!r} where it is kept whole", ""
    if vector.tobytes() != stored.block.passage_vector.tobytes():
        yield "has another vector than its block", ""
    if len(features[LEX]) != len(stored.block.lex_ids):
        yield "has other terms than its block", ""
    yield from ((what, "") for what in block_problems(stored.block, len(stored.passage.text)))


def _counts(view: ServerView, seen: _SeenOnServer) -> Iterator[Problem]:
    state = view.state
    try:
        stored = read_statistics(view.server, state)
    except IndexDamaged as error:
        yield Problem("statistics", error.message, STATISTICS)
        return
    wrong = [name for name in stored.keys() | seen.terms.keys() if stored[name] != seen.terms[name]]
    if wrong:
        yield Problem("statistics", f"count {len(wrong)} terms wrongly, such as {min(wrong)!r}", STATISTICS)
    told = (state.documents, state.passages, state.words)
    counted = (seen.documents, len(seen.owners), seen.words)
    for name, says, holds in zip(("documents", "passages", "words"), told, counted, strict=True):
        if says != holds:
            yield Problem("statistics", f"say {says} {name}, there are {holds}", STATISTICS)


def _found_again(view: ServerView, ids: Sequence[str]) -> Iterator[Problem]:
    """Features of some passages are searched for, each by its name: the server must find them, with their value."""
    some = sorted({ids[n * len(ids) // _LOOKED_UP] for n in range(_LOOKED_UP)}) if ids else []
    for id, fields in view.features(some).items():
        features = [(name, *next(iter(sorted(values.items())))) for name, values in fields.items() if values]
        for field_name, feature, value in features:
            body = sparse_search({field_name: {feature: 1.0}}, 1, {})
            body["query"]["bool"]["filter"] = [{"term": {"id": {"value": id}}}]
            hits = view.search(body)["hits"]["hits"]
            if not hits or abs(hits[0]["sort"][0] - value) > 1e-6 * value:
                yield Problem(f"passage {id}", f"is not found by its feature {field_name} {feature!r}")
