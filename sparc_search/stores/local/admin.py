"""Looking after an index in a folder: what it holds, how much room that takes, checking and repairing it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...engine import Admin
from ...stored import CheckReport
from . import database
from .layout import SEGMENTS as FOLDER
from .layout import size_in_bytes
from .segment_files import listed_segments
from .verify import COUNTS, SEGMENTS, verify
from .view import LocalView

if TYPE_CHECKING:
    from .engine import LocalEngine


class LocalAdmin(Admin):
    """Looks after an index in a folder."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine

    def describe(self) -> dict[str, object]:
        """What it holds and how much room that takes."""
        with self._engine.view() as view:
            return _describe(view, self._engine.folder)

    def size_in_bytes(self) -> int:
        """Bytes of everything it keeps, derived files included."""
        return size_in_bytes(self._engine.folder)

    def compact(self) -> None:
        """Put everything into one segment and give back the room of what was deleted."""
        self._engine.writer().compact()

    def verify(self) -> CheckReport:
        """Look at everything: the database, every block, every posting and vector."""
        return verify(self._engine.folder)

    def backup(self, target: Path) -> dict[str, object]:
        """Copy what is committed now to a folder or a tar file, and verify the copy."""
        from .backup import back_up

        return back_up(self._engine.folder, target)

    def repair(self, report: CheckReport) -> list[str]:
        """Make the segments and counts that a report names again from the database; their names."""
        writer = self._engine.writer()
        if COUNTS in report.derived:
            writer.count_again()
        if SEGMENTS in report.derived:
            writer.build_all()
        else:
            writer.rebuild(report.derived)
        return report.derived


def _describe(view: LocalView, folder: Path) -> dict[str, object]:
    """Facts by name. Bytes of blocks and features are what they hold, the database file has overhead besides."""
    connection = view.connection
    meta = database.read_meta(connection)
    segments = listed_segments(connection)
    (deleted,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    blocks, features = connection.execute(
        "SELECT coalesce(sum(length(block)), 0), coalesce(sum(length(features)), 0) FROM encoded"
    ).fetchone()
    derived: dict[str, int] = {"postings": 0, "vectors": 0, "rows": 0}
    for segment in segments:
        for name, (size, _) in segment.files.items():
            derived[_kind(name)] += size
    in_files = sum(path.stat().st_size for path in folder.glob(f"{database.FILE}*"))
    words = int(meta["words"])
    return {
        "documents": meta["documents"],
        "passages": meta["passages"],
        "words": words,
        "format": database.FORMAT,
        "encoder": meta["encoder"],
        "arithmetic": [name for (name,) in connection.execute("SELECT DISTINCT arithmetic FROM batches ORDER BY 1")],
        "generation": meta["generation"],
        "segments": [segment.passages for segment in segments],
        "passages without a segment": sum(len(segment) for segment in view.state.loose),
        "deleted passages in segments": deleted,
        "bytes": {"database": in_files, "of that blocks": blocks, "of that features": features, **derived},
        "bytes per word": {
            "blocks and postings": round((blocks + derived["postings"]) / words, 1) if words else None,
            "everything": round((in_files + sum(derived.values())) / words, 1) if words else None,
        },
        "folder": str(folder / FOLDER),
    }


def _kind(file: str) -> str:
    if file.startswith("posting_"):
        return "postings"
    return "vectors" if file.startswith(("vectors", "scales", "dense")) else "rows"
