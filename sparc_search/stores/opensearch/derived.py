"""Passage vectors of an index on a server, kept on this machine: derived from it, and caught up before every search.

A machine that starts with nothing reads all vectors once and keeps them in a folder; after that it reads what has
changed. When the alias has moved to another version, it begins with that version's vectors.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from ... import plugins
from ...interfaces import DenseStore, Hit, VectorSource
from .view import View


@runtime_checkable
class Following(Protocol):
    """A dense store that can take over what its source has gained since it was opened."""

    def catch_up(self, source: VectorSource) -> None:
        """Take it over."""

    def save_if_due(self) -> None:
        """Write to the disk what would take long to read again."""


class Derived:
    """The dense store of this machine. Safe to use from several threads."""

    def __init__(self, folder: Path, plugin: str) -> None:
        self._folder, self._plugin = folder, plugin
        self._lock = threading.Lock()
        self._dense: DenseStore | None = None
        self._held: FileLock | None = None
        self._identity, self._generation = "", 0

    def search(
        self, view: View, vectors: NDArray[np.float32], k: int, allowed: Iterable[str] | None
    ) -> list[list[Hit]]:
        """For each vector the k passages of the largest inner product, as of the view or later."""
        with self._lock:
            return self._caught_up(view).search(vectors, k, allowed)

    def _caught_up(self, view: View) -> DenseStore:
        dense = self._dense
        if dense is not None and self._identity == view.identity:
            if self._generation >= view.state.generation:
                return dense
            if isinstance(dense, Following):
                dense.catch_up(view)
                dense.save_if_due()
                self._generation = view.state.generation
                return dense
        self._close()
        return self._open(view)

    def _open(self, view: View) -> DenseStore:
        folder = self._folder / view.identity
        self._held = _lock(folder)
        opened = plugins.load("dense_stores", self._plugin)(folder, view, writable=self._held is not None)
        if isinstance(opened, Following):
            opened.save_if_due()
        if self._held is not None:
            self._remove_others(view.identity)
        self._dense, self._identity, self._generation = opened, view.identity, view.state.generation
        return opened

    def _remove_others(self, identity: str) -> None:
        """Vectors of versions that are not served any more."""
        for folder in self._folder.iterdir():
            if folder.is_dir() and folder.name != identity:
                held = _lock(folder)
                if held is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    held.release()
                    Path(held.lock_file).unlink(missing_ok=True)

    def _close(self) -> None:
        dense, self._dense = self._dense, None
        try:
            if dense is not None:
                dense.close()
        finally:
            if self._held is not None:
                self._held.release()
                self._held = None

    def close(self) -> None:
        """Write what is still to be written and let go of files."""
        with self._lock:
            self._close()


def _lock(folder: Path) -> FileLock | None:
    """The right to write to a folder; None if another process has it, or if nothing may be written there."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(folder.with_name(f"{folder.name}.lock"), thread_local=False)
        held.acquire(timeout=0)
    except (Timeout, OSError):
        return None
    return held
