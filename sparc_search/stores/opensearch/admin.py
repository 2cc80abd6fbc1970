"""Looking after an index on a server: what it holds, how much room that takes, checking and repairing it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine import Admin
from ...stored import CheckReport
from . import lifecycle
from .names import FORMAT, Names
from .server import Server
from .state import ServerState
from .understood import understanding
from .verify import LEFTOVERS, STATISTICS, verify

if TYPE_CHECKING:
    from .engine import OpenSearchEngine


@understanding
class ServerAdmin(Admin):
    """Looks after an index on a server."""

    def __init__(self, engine: OpenSearchEngine) -> None:
        self._engine = engine

    def describe(self) -> dict[str, object]:
        """What it holds and how much room that takes."""
        engine = self._engine
        with engine.view() as view:
            return _describe(engine.server, engine.options.names, view.state, engine.encoder)

    def size_in_bytes(self) -> int:
        """Bytes of the two indices, without their copies."""
        with self._engine.view() as view:
            return sum(_size_in_bytes(self._engine.server, view.state).values())

    def compact(self) -> None:
        """Let the server merge what it has, so that nothing of what was deleted is left in its files."""
        self._engine.writer().compact()

    def verify(self) -> CheckReport:
        """Look at everything: every record, passage and block, the counts, and whether features are found."""
        with self._engine.view() as view:
            return verify(view)

    def backup(self, target: Path) -> Mapping[str, object]:
        """Make the snapshot REPOSITORY/NAME of what is committed, in a pause between two writes."""
        from .snapshots import back_up

        copied = back_up(self._engine.server, self._engine.options, self._engine.lease, target)
        return {"encoder": self._engine.encoder, **copied, "bytes": self.size_in_bytes()}

    def repair(self, report: CheckReport) -> list[str]:
        """Put right what a crash left, and count again, where a report says so; the names of these parts."""
        writer = self._engine.writer()
        if LEFTOVERS in report.derived:
            writer.put_right()
        if STATISTICS in report.derived:
            writer.recount()
        return report.derived

    def rollback(self) -> str:
        """Serve the version before again; its name."""
        self._engine.writer()  # whoever moves the alias must be the one who may write
        return lifecycle.roll_back(self._engine.server, self._engine.options.names).passages


def _describe(server: Server, names: Names, state: ServerState, encoder: str) -> dict[str, object]:
    """Counts, model, server, versions and bytes, by name."""
    sizes = _size_in_bytes(server, state)
    return {
        "documents": state.documents,
        "passages": state.passages,
        "words": state.words,
        "format": FORMAT,
        "encoder": encoder,
        "generation": state.generation,
        "server": f"{server.dialect.name} {server.version} at {server.shown}",
        "index": names.passages,
        "version": state.passages_index,
        "version before": lifecycle.previous(server, names),
        "bytes": sizes,
        "bytes per word": {"everything": round(sum(sizes.values()) / state.words, 1) if state.words else None},
    }


def _size_in_bytes(server: Server, state: ServerState) -> dict[str, int]:
    """Bytes of passages and of documents on the server, without copies."""
    version = state.version
    found = server.request("GET", f"/{','.join(version.indices)}/_stats/store")["indices"]
    named = (("passages", version.passages), ("documents", version.documents))
    return {name: int(found[index]["primaries"]["store"]["size_in_bytes"]) for name, index in named}
