"""Which state of the index is served: looked at twice a second, so that the next request finds it open.

Requests follow by themselves. But files that were replaced take room until somebody looks, a model takes a while to
open, and whoever asks `/healthz` shall not wait for an index.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
from anyio import to_thread

from sparc_search.errors import SparcSearchError
from sparc_search.index import Index

log = logging.getLogger("sparc_search.web")

SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class SeenState:
    """What the last look at the index saw."""

    identity: str = ""
    """Empty if it cannot be read."""
    generation: int = 0
    behind: bool = False
    """Whether the index has been made anew with a model that is not found here: the version before is served."""
    trouble: str = ""

    def as_json(self) -> dict[str, Any]:
        """For everybody to see: no path and no name."""
        if not self.identity:
            return {"index": None, "generation": None}
        behind = {"behind": True} if self.behind else {}
        return {"index": self.identity, "generation": self.generation, **behind}


class Watch:
    """Looks at an index, for as long as the application runs."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._seen: SeenState | None = None

    async def seen(self) -> SeenState:
        """What the last look saw."""
        if self._seen is None:
            await self._look()
        assert self._seen is not None
        return self._seen

    @asynccontextmanager
    async def running(self, _app: object) -> AsyncIterator[None]:
        """Look again and again."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run)
            yield
            tasks.cancel_scope.cancel()

    async def _run(self) -> None:
        while True:
            await self._look()
            await anyio.sleep(SECONDS)

    async def _look(self) -> None:
        seen = await to_thread.run_sync(self._now, abandon_on_cancel=True)
        before, self._seen = self._seen, seen
        if before is not None and seen.trouble != before.trouble:
            log.warning("%s", seen.trouble or "the index can be read again")
        elif before is not None and seen.identity != before.identity:
            log.warning("the index has been made anew, and is served from now on: %s", seen.identity)

    def _now(self) -> SeenState:
        try:
            self._index.follow()
            with self._index.engine.view() as view:
                seen = SeenState(view.identity, view.statistics([]).snapshot)
            behind = self._index.engine.behind
        except SparcSearchError as error:
            return SeenState(trouble=str(error))
        except Exception as error:  # whatever it is, the server goes on; the request that needs the index tells more
            return SeenState(trouble=f"the index cannot be read: {type(error).__name__}")
        return SeenState(seen.identity, seen.generation, behind is not None, str(behind or ""))
