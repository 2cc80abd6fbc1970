"""The engine on OpenSearch or Elasticsearch."""

from __future__ import annotations

from .engine import OpenSearchEngine

__all__ = ["OpenSearchEngine"]
