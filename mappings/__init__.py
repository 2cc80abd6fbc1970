"""OpenSearch and Elasticsearch index bodies, one file for each server dialect."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def index_bodies(dialect: str) -> dict[str, Any]:
    """The bodies of the three indices (`passages`, `documents`, `control`) as a server of this dialect takes them."""
    text = files(__name__).joinpath(f"{dialect}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
