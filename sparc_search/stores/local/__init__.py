"""The local engine: one SQLite file and what is derived from it."""

from __future__ import annotations

from .engine import LocalEngine

__all__ = ["LocalEngine"]
