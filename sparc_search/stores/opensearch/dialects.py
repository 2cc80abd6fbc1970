"""What differs between servers: this table, and the index bodies in `mappings/`. Nothing else asks who it talks to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ...errors import EngineError


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of server."""

    name: str
    bodies: str
    """Name of its file in `mappings/`."""
    oldest: tuple[int, int]
    """First version with all that is needed (`rank_features`, and the type that metadata have)."""
    count_hits: bool
    """`track_total_hits` of a sparse search: whichever is fast. Elasticsearch 7.17 is three times slower without."""


OPENSEARCH: Final = Dialect("OpenSearch", "opensearch", oldest=(2, 7), count_hits=False)
ELASTICSEARCH: Final = Dialect("Elasticsearch", "elasticsearch", oldest=(7, 12), count_hits=True)


def recognise(answer: Any, where: str) -> tuple[Dialect, str]:
    """The dialect and version of a server, from what it says of itself (`GET /`)."""
    version = answer.get("version") if isinstance(answer, Mapping) else None
    if not isinstance(version, Mapping) or "number" not in version:
        raise EngineError(f"{where} is neither OpenSearch nor Elasticsearch", "set `url` to the server's address")
    number = str(version["number"])
    dialect = OPENSEARCH if version.get("distribution") == "opensearch" else ELASTICSEARCH
    if _numbers(number) < dialect.oldest:
        wanted = ".".join(map(str, dialect.oldest))
        raise EngineError(f"{where} is {dialect.name} {number}", f"version {wanted} or later is needed")
    return dialect, number


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("-")[0].split(".")[:2]
    return tuple(int(part) if part.isdigit() else 0 for part in parts)
