"""Checksums of rows: CRC-32 of columns that are read together. In SQL it is the function `crc`.

A flipped bit never shows: not in a text, nor in what is found by a number that was one of another row.
"""

from __future__ import annotations

import zlib
from typing import Final

from ...errors import IndexDamaged

_KINDS: Final = {str: "s", bytes: "b", int: "i", type(None): "n"}


def crc(*columns: str | bytes | int | None) -> int:
    """CRC-32 of the kind and the length of each column, and of all of them end to end."""
    parts = [
        column if isinstance(column, bytes) else b"" if column is None else str(column).encode("utf-8", "surrogatepass")
        for column in columns
    ]
    kinds = "".join(
        [f"{_KINDS.get(type(column), '?')}{len(part)}" for column, part in zip(columns, parts, strict=True)]
    )
    return zlib.crc32(b"".join([kinds.encode(), *parts]))


FROM_INSIDE: Final = "`sparc-search index verify --repair` makes again what it can and names the rest"
FROM_OUTSIDE: Final = (
    "restore it from a backup (`sparc-search index restore`), or make it anew (`sparc-search ingest --rebuild PATH`)"
)


def changed(what: str, remedy: str = FROM_INSIDE) -> IndexDamaged:
    """The error for a row that is not what was written."""
    return IndexDamaged(f"{what} has changed bytes in the database", remedy)
