"""Passages and documents of one state by page, as a listing asks for them, and what they have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ...stored import (
    METADATA,
    ORDERS,
    Condition,
    DocumentFacts,
    Facets,
    ListedDocuments,
    ListedPassages,
    Listing,
    folders_of,
    spread,
)
from ..standard_words import standard_words
from .catalogue import weighed
from .checksums import crc
from .rows import DOCUMENT, changed_text, columns, read_texts, rows_of

if TYPE_CHECKING:
    from .view import LocalView

_BINS: Final = 24
_REMEMBERED: Final = 16
"""Listings whose rows are remembered for as long as the state lasts."""
_LONGEST_TAG: Final = 1_000
"""Bytes of a piece of metadata that is searched by its parts; the same as on a server."""
_TABLES: Final = "passages p JOIN documents d ON d.row = p.document"
_SOURCE: Final = "coalesce(p.source, d.source)"
_TITLE: Final = "coalesce(p.title, d.title)"
_TAG: Final = "EXISTS (SELECT 1 FROM tags t WHERE t.passage = p.row AND "
_ORDERS: Final = {"": "p.row", "source": _SOURCE, "document": "d.id", "words": "p.words", "page": "p.page"}
_AMONG: Final = "p.row IN (SELECT value FROM json_each(?))"
_LIKE = re.compile(r"[\\%_]")

Rows = NDArray[np.int64]
Sql = tuple[str, list[Any]]


def list_passages(view: LocalView, listing: Listing) -> ListedPassages:
    """One page of the passages that fit."""
    rows = fitting(view, listing.conditions)
    page = _ordered(view, listing, rows)[listing.offset : listing.offset + listing.size].tolist()
    ids = dict(view.connection.execute(f"SELECT p.row, p.id FROM passages p WHERE {_AMONG}", (json.dumps(page),)))
    passages = tuple(read_texts(view.connection, [ids[row] for row in page]))
    by_feature = [_values(view, condition, np.array(page, np.int64)).tolist() for condition in listing.weighed]
    weights = tuple(zip(*by_feature, strict=True)) if by_feature else ()
    return ListedPassages(passages, len(rows), listing.offset + listing.size < len(rows), weights)


def list_documents(view: LocalView, listing: Listing) -> ListedDocuments:
    """One page of the documents with a passage that fits."""
    fits = (json.dumps(fitting(view, listing.conditions).tolist()),)
    documents = rows_of(view.connection, f"SELECT DISTINCT document FROM passages p WHERE {_AMONG} ORDER BY 1", fits)
    page = documents[listing.offset : listing.offset + listing.size].tolist()
    query = f"""
        SELECT {columns(DOCUMENT, "d.")}, d.checksum, (SELECT count(*) FROM passages o WHERE o.document = d.row)
        FROM documents d WHERE d.row IN (SELECT value FROM json_each(?)) ORDER BY d.row
    """
    found = tuple(_document_facts(*values) for values in view.connection.execute(query, (json.dumps(page),)))
    return ListedDocuments(found, len(documents), listing.offset + listing.size < len(documents))


def _document_facts(*values: Any) -> DocumentFacts:
    *facts, checksum, passages = values
    _, id, title, source, metadata, _ = facts
    if crc(*facts) != checksum:
        raise changed_text(id)
    return DocumentFacts(id, title, source, json.loads(metadata), passages)


def metadata_values(view: LocalView, k: int) -> dict[str, list[tuple[str, int]]]:
    """For each key of the metadata its k most frequent values."""
    keys = [key for (key,) in view.connection.execute("SELECT DISTINCT key FROM tag_counts ORDER BY key")]
    query = "SELECT value, passages FROM tag_counts WHERE key = ? ORDER BY passages DESC, value LIMIT ?"
    return {key: [(value, n) for value, n in view.connection.execute(query, (key, k))] for key in keys}


def facets(view: LocalView, listing: Listing, k: int) -> Facets:
    """What all passages that fit have in common."""
    found = json.dumps(fitting(view, listing.conditions).tolist())
    if listing.conditions:
        values: dict[str, list[tuple[str, int]]] = {}
        query = f"""
            SELECT key, value, count(*) FROM tags p WHERE {_AMONG.replace("p.row", "p.passage")}
            GROUP BY key, value ORDER BY key, count(*) DESC, value
        """
        for key, value, count in view.connection.execute(query, (found,)):
            own = values.setdefault(key, [])
            own += [(value, count)] if len(own) < k else []
    else:
        values = metadata_values(view, k)
    query = f"SELECT {_SOURCE}, count(*) FROM {_TABLES} WHERE {_AMONG} GROUP BY 1"
    folders = folders_of(dict(view.connection.execute(query, (found,)).fetchall()), k)
    return Facets({key: tuple(own) for key, own in values.items()}, folders, _spread(view, listing))


def count_features(view: LocalView, listing: Listing, features: Sequence[tuple[str, str]]) -> list[int]:
    """In how many of the passages that fit each of these features stands."""
    rows = fitting(view, listing.conditions)
    fits = np.zeros(int(rows[-1]) + 1 if len(rows) else 0, bool)
    fits[rows] = True
    found = (weighed(view, *one)[0] for one in features)
    return [int(fits[own[own < len(fits)]].sum()) for own in found]


def _spread(view: LocalView, listing: Listing) -> Any:
    """The weights of the first feature, whatever its own limits: these can then be chosen from what there is."""
    if not listing.weighed:
        return None
    first = listing.weighed[0]
    others = tuple(one for one in listing.conditions if (one.field, one.value) != (first.field, first.value))
    rows = fitting(view, (*others, first))
    return spread(_values(view, first, rows).astype(np.float64), _BINS)


def _ordered(view: LocalView, listing: Listing, rows: Rows) -> Rows:
    """The rows in the order that is asked for; equal ones as they came in."""
    name, down = listing.order.removeprefix("-"), listing.order.startswith("-")
    if name not in ORDERS:
        raise UsageError(f"a list cannot be ordered by {name!r}", f"choose one of: {', '.join(ORDERS[1:])}")
    if not name:
        return rows[::-1] if down else rows
    if name == "weight":
        if not listing.weighed:
            return rows
        values = _values(view, listing.weighed[0], rows)
        return rows[np.lexsort((rows, -values if down else values))]
    query = f"SELECT p.row FROM {_TABLES} WHERE {_AMONG} ORDER BY {_ORDERS[name]} {'DESC' if down else 'ASC'}, p.row"
    return rows_of(view.connection, query, (json.dumps(rows.tolist()),))


def _values(view: LocalView, condition: Condition, rows: Rows) -> NDArray[np.float32]:
    """What a feature weighs in each of these passages, which all have it."""
    own, values = weighed(view, condition.field, condition.value)
    order = np.argsort(own)
    return values[order[np.searchsorted(own, rows, sorter=order)]] if len(rows) else np.zeros(0, np.float32)


# --- which rows fit --------------------------------------------------------------------------------------------------


def fitting(view: LocalView, conditions: tuple[Condition, ...]) -> Rows:
    """The rows of all passages that fit, ascending; remembered, because a page asks for them more than once."""
    known = view.state.listings
    if conditions not in known:
        if len(known) >= _REMEMBERED:
            known.clear()
        known[conditions] = _fitting(view, conditions)
    return known[conditions]


def _fitting(view: LocalView, conditions: Sequence[Condition]) -> Rows:
    written = [_sql(condition) for condition in conditions if not condition.is_feature]
    having = [_having(view, condition) for condition in conditions if condition.is_feature and not condition.negated]
    rows = reduce(np.intersect1d, having) if having else None
    if written or rows is None:
        parts, parameters = [text for text, _ in written], [value for _, values in written for value in values]
        if rows is not None:
            parts, parameters = [_AMONG, *parts], [json.dumps(rows.tolist()), *parameters]
        query = f"SELECT p.row FROM {_TABLES} WHERE {' AND '.join(['1', *parts])} ORDER BY p.row"
        rows = rows_of(view.connection, query, parameters)
    for condition in conditions:
        if condition.is_feature and condition.negated:
            rows = np.setdiff1d(rows, _having(view, condition))
    return np.sort(rows)


def _having(view: LocalView, condition: Condition) -> Rows:
    rows, values = weighed(view, condition.field, condition.value)
    return rows[condition.lets(values)]


def _sql(condition: Condition) -> Sql:
    """A condition that the database can tell."""
    field, value = condition.field, condition.value
    if field.startswith(METADATA):
        text, parameters = f"{_TAG}t.key = ? AND t.value = ?)", [field.removeprefix(METADATA), value]
    elif field == "document":
        text, parameters = "d.id = ?", [value]
    elif field == "folder":
        text, parameters = f"substr({_SOURCE}, 1, length(?)) = ?", [value.rstrip("/") + "/"] * 2
    else:
        text, parameters = _words(condition)
    return (f"NOT {text}" if condition.negated else text), parameters


def _words(condition: Condition) -> Sql:
    columns_of = {"text": ["p.text"], "title": [_TITLE], "": ["p.text", _TITLE]}
    if condition.field not in columns_of:
        raise UsageError(f"there is no field {condition.field!r} to list passages by")
    words, parts, parameters = standard_words(condition.value), [], []
    for column in columns_of[condition.field] if words else ():
        longest = max((word for word in words if word.isascii()), key=len, default="")
        parts.append(f"({column} LIKE ? ESCAPE '\\' AND holds({column}, ?, ?))")
        parameters += [_inside(longest), " ".join(words), int(condition.whole)]
    if not condition.field:
        parts.append(f"{_TAG}t.value LIKE ? ESCAPE '\\' AND length(CAST(t.key || '=' || t.value AS BLOB)) <= ?)")
        parameters += [_inside(condition.value), _LONGEST_TAG]
    return f"({' OR '.join(parts or ['0'])})", parameters


def _inside(text: str) -> str:
    return "%" + _LIKE.sub(r"\\\g<0>", text) + "%"
