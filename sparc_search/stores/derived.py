"""Dense search for an engine without one of its own: its passage vectors, kept on this machine and searched here.

Derived from the index and caught up before every search. A machine that starts with nothing reads all vectors once and
keeps them in a folder; after that it reads what has changed. When the index was made anew, it begins from nothing.

What is derived is complete, or it is not kept: after every change the number of vectors is held against the committed
number of passages. If some are missing, everything is read again from the start; if that does not help either, replies
say so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import plugins
from ..dense_store import DenseStore
from ..engine import Engine, View, Where, supports
from ..errors import EngineError, Incomplete
from ..stored import Hits, Missing, Problem

if TYPE_CHECKING:
    from filelock import FileLock

VECTORS: Final = "vectors"
"""Name of the derived part in a report."""

_USUAL: Final = "faiss"
_PAUSES: Final = (0.0, 0.1, 0.4)
"""Seconds before the index is looked at again: a writer may be just about to commit."""

_BEGIN_ANEW_AFTER: Final = 60.0
"""Seconds before vectors that stay incomplete are all read again."""


class DerivedVectors:
    """The vectors of an engine on this machine. Safe to use from several threads."""

    def __init__(
        self, engine: Engine, location: Path, plugin: str = _USUAL, values: Mapping[str, object] | None = None
    ) -> None:
        self._engine, self._plugin = engine, plugin
        self._more: dict[str, Any] = {"values": values} if values else {}
        """The settings of the plugin, if it declares some."""
        self.instead = plugin != _USUAL
        """Whether they are searched even if the engine can search vectors itself: somebody chose another plugin."""
        self._folder = location.with_name(f"{location.name}.vectors") / (engine.name or "index")
        self._lock = threading.Lock()
        self._dense: DenseStore | None = None
        self._held: FileLock | None = None
        self._identity = ""
        self._reached = -1
        """State of the index up to which nothing is missing."""
        self._begun_anew = -_BEGIN_ANEW_AFTER

    def search(self, view: View, vectors: NDArray[np.float32], k: int, where: Where) -> list[Hits]:
        """For each vector the k passages of the largest inner product, as of the view or later."""
        allowed = view.matching(where) if where else None
        with self._lock:
            dense, missing = self._caught_up(view)
            found = dense.search(vectors, k, None if allowed is None else allowed.passage_ids)
        missing += () if allowed is None else allowed.missing
        return [Hits(hits, missing) for hits in found]

    # --- catching up -----------------------------------------------------------------------------------------------

    def _caught_up(self, view: View) -> tuple[DenseStore, Missing]:
        """The dense store, and what is missing from it."""
        dense = self._opened(view)
        try:
            missing = "" if self._reached >= view.statistics([]).snapshot else self._follow(dense, view)
        except Incomplete as error:
            missing = f"not all vectors could be read: {error.message}"
        return dense, (missing,) if missing else ()

    def _follow(self, dense: DenseStore, view: View) -> str:
        """Take over what the index has gained; what is missing then, in words."""
        if self._take_over(dense, view) or self._look_again(dense):
            return ""
        if time.monotonic() - self._begun_anew >= _BEGIN_ANEW_AFTER:
            self._begun_anew = time.monotonic()
            dense.clear()
            if self._take_over(dense, view) or self._look_again(dense):
                return ""
        return f"only {len(dense):,} of {view.statistics([]).passages:,} passages have a vector on this machine"

    def _look_again(self, dense: DenseStore) -> bool:
        """Vectors of passages that are being replaced are between two states: the next state has them."""
        for pause in _PAUSES:
            time.sleep(pause)
            with self._engine.view() as now:
                if now.identity == self._identity and self._take_over(dense, now):
                    return True
        return False

    def _take_over(self, dense: DenseStore, view: View) -> bool:
        """Whether there is a vector for every passage then. Only what is whole is written down."""
        for change in view.vector_changes(dense.generation):
            dense.apply(change)
        statistics = view.statistics([])
        if len(dense) < statistics.passages:
            return False
        self._reached = statistics.snapshot
        if self._held is not None:
            dense.save()
        return True

    def _opened(self, view: View) -> DenseStore:
        if self._dense is None or self._identity != view.identity:
            self._close()
            folder = self._place(view.identity)
            self._held = _lock(folder)
            self._dense = self._open(folder, view.identity, writable=self._held is not None)
            self._identity, self._reached = view.identity, -1
            if self._held is not None:
                self._remove_others(view.identity)
        return self._dense

    def _place(self, identity: str) -> Path:
        """Where the vectors of a version are. Its identity comes from a server, which must not choose another place."""
        if not identity or Path(identity).name != identity or identity == "..":
            raise EngineError(f"the index calls itself {identity[:40]!r}, which is no name", "see who answers at `url`")
        return self._folder / identity

    def _open(self, folder: Path, identity: str, *, writable: bool) -> DenseStore:
        return plugins.load("dense_stores", self._plugin).open(folder, identity, writable=writable, **self._more)

    def _remove_others(self, identity: str) -> None:
        """Vectors of versions that are not served any more."""
        from shutil import rmtree  # who only asks removes nothing

        for folder in self._folder.iterdir():
            if folder.is_dir() and not folder.is_symlink() and folder.name != identity:
                held = _lock(folder)
                if held is not None:
                    rmtree(folder, ignore_errors=True)
                    held.release()
                    Path(held.lock_file).unlink(missing_ok=True)

    # --- verifying -------------------------------------------------------------------------------------------------

    def verify(self) -> list[Problem]:
        """What is kept on this machine, held against the index vector by vector; nothing, if nothing is kept."""
        with self._engine.view() as view:
            folder = self._place(view.identity)
            if not folder.is_dir() or not supports(view, View.vector_changes):
                return []
            dense = self._open(folder, view.identity, writable=False)
            if not dense.generation:
                return []  # never written down, or not whole: it is made again when it is needed
            for change in view.vector_changes(dense.generation):
                dense.apply(change)
            wrong = [id for change in view.vector_changes(0) for id in dense.differing(change)]
            dense.close()
        shown = f"{len(wrong):,} passages have none or another, such as {min(wrong)!r}" if wrong else ""
        return [Problem(f"vectors in {folder}", shown, VECTORS)] if wrong else []

    def repair(self) -> None:
        """Read all vectors again."""
        with self._engine.view() as view, self._lock:
            dense = self._opened(view)
            dense.clear()
            self._take_over(dense, view)

    # --- closing ---------------------------------------------------------------------------------------------------

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
        """Let go of files."""
        with self._lock:
            self._close()


def _lock(folder: Path) -> FileLock | None:
    """The right to write to a folder; None if another process has it, or if nothing may be written there.

    A link is none of ours: it may lead to the folders of somebody else, and what is stale is removed.
    """
    from filelock import FileLock, Timeout  # here: most questions are asked of engines that search vectors themselves

    if any(path.is_symlink() for path in (folder, *folder.parents[:2])):
        return None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(folder.with_name(f"{folder.name}.lock"), thread_local=False)
        held.acquire(timeout=0)
    except (Timeout, OSError):
        return None
    return held
