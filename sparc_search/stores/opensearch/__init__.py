"""The store on OpenSearch or Elasticsearch."""

from __future__ import annotations

from .opener import Opener, open_store
from .store import OpenSearchStore

__all__ = ["OpenSearchStore", "Opener", "open_store"]
