"""Passages and documents of one state by page, as a listing asks for them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...stored import DocumentFacts, ListedDocuments, ListedPassages, Listing
from .catalogue import rows_with
from .checksums import crc
from .rows import DOCUMENT, changed_text, columns, read_texts, rows_of

if TYPE_CHECKING:
    from .view import LocalView

_TABLES = "passages p JOIN documents d ON d.row = p.document"
_TAGGED = "EXISTS (SELECT 1 FROM tags t WHERE t.passage = p.row AND t.key = ? AND t.value = ?)"
_HOLDS = r"""(p.text LIKE ? ESCAPE '\' OR p.title LIKE ? ESCAPE '\' OR d.title LIKE ? ESCAPE '\'
    OR coalesce(p.metadata, d.metadata) LIKE ? ESCAPE '\')"""
_LIKE = re.compile(r"[\\%_]")


def list_passages(view: LocalView, listing: Listing) -> ListedPassages:
    """One page of the passages that fit."""
    condition, parameters = _condition(view, listing)
    query = f"SELECT p.id FROM {_TABLES} WHERE {condition} ORDER BY p.row LIMIT ? OFFSET ?"
    found = [id for (id,) in view.connection.execute(query, (*parameters, listing.size + 1, listing.offset))]
    passages = tuple(read_texts(view.connection, found[: listing.size]))
    return ListedPassages(passages, _total(view, listing, condition, parameters), len(found) > listing.size)


def list_documents(view: LocalView, listing: Listing) -> ListedDocuments:
    """One page of the documents with a passage that fits."""
    condition, parameters = _condition(view, listing)
    fitting = f"SELECT DISTINCT p.document FROM {_TABLES} WHERE {condition}"
    query = f"""
        SELECT {columns(DOCUMENT, "d.")}, d.checksum, (SELECT count(*) FROM passages o WHERE o.document = d.row)
        FROM documents d WHERE d.row IN ({fitting}) ORDER BY d.row LIMIT ? OFFSET ?
    """
    found = view.connection.execute(query, (*parameters, listing.size + 1, listing.offset)).fetchall()
    count = f"SELECT count(*) FROM ({fitting})"
    total = None if listing.text else view.connection.execute(count, parameters).fetchone()[0]
    documents = [_document_facts(*values) for values in found]
    return ListedDocuments(tuple(documents[: listing.size]), total, len(found) > listing.size)


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


def _condition(view: LocalView, listing: Listing) -> tuple[str, list[Any]]:
    """What a passage must fulfil, as SQL. Whatever comes from outside is a parameter."""
    parts, parameters = ["1"], []
    for word in listing.text.split():
        parts.append(_HOLDS)
        parameters += ["%" + _LIKE.sub(r"\\\g<0>", word) + "%"] * 4
    for pairs, text in ((listing.where, _TAGGED), (listing.without, f"NOT {_TAGGED}")):
        for key, value in pairs:
            parts.append(text)
            parameters += [key, value]
    if listing.document_id:
        parts.append("d.id = ?")
        parameters.append(listing.document_id)
    allowed = _allowed(view, listing)
    if allowed is not None:
        parts.append("p.row IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(allowed.tolist()))
    return " AND ".join(parts), parameters


def _allowed(view: LocalView, listing: Listing) -> NDArray[np.int64] | None:
    """The rows that have the wanted features and none of the unwanted; None if no feature is asked for."""
    if not listing.features and not listing.without_features:
        return None
    required = [rows_with(view, *feature) for feature in listing.features]
    if required:
        allowed = reduce(np.intersect1d, required)
    else:
        allowed = rows_of(view.connection, "SELECT row FROM passages ORDER BY row")
    for feature in listing.without_features:
        allowed = np.setdiff1d(allowed, rows_with(view, *feature))
    return np.sort(allowed)


def _total(view: LocalView, listing: Listing, condition: str, parameters: Sequence[Any]) -> int | None:
    """How many fit. Nobody counts by reading every text."""
    if listing.text:
        return None
    if condition == "1":
        return view.state.passages
    return int(view.connection.execute(f"SELECT count(*) FROM {_TABLES} WHERE {condition}", parameters).fetchone()[0])
