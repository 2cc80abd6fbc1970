"""The local store: one SQLite file and what is derived from it."""

from __future__ import annotations

from .store import LocalStore, open_store

__all__ = ["LocalStore", "open_store"]
