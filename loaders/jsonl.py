"""JSON Lines: one object a line is one document (our own form, BEIR, pyserini)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from . import fields
from .lines import Line, lines
from .resuming import Item, Resuming, located


class JsonlReader(Reader):
    """JSON Lines: one object a line (own, BEIR, pyserini); other fields become metadata."""

    suffixes = (".jsonl", ".ndjson", ".jsonlines")

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each line; a bad line is one reject, and the next one is read."""
        return Resuming(_items(stream, source, options))


reader = JsonlReader()


def _items(stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Item]:
    for line in lines(stream):
        if line.problem:
            yield line.problem
        elif line.text.strip():
            yield _item(line, source, options)


def _item(line: Line, source: str, options: Mapping[str, str]) -> Item:
    try:
        record = json.loads(line.text)
    except (ValueError, RecursionError) as error:
        return RejectedDocument(f"line {line.number}: not JSON: {error}", "correct the line")
    if not isinstance(record, dict):
        kind = type(record).__name__
        return RejectedDocument(f"line {line.number}: a JSON {kind}, not an object", 'write {"text": …} on each line')
    return located(f"line {line.number}", fields.document, record, source, line.number, options)
