"""What an index holds and how much room that takes."""

from __future__ import annotations

from pathlib import Path

from . import database
from .layout import SEGMENTS
from .view import LocalView
from .writer import listed_segments


def describe(view: LocalView, folder: Path) -> dict[str, object]:
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
        "generation": meta["generation"],
        "segments": [segment.passages for segment in segments],
        "passages without a segment": sum(len(segment) for segment in view.state.loose),
        "deleted passages in segments": deleted,
        "bytes": {"database": in_files, "of that blocks": blocks, "of that features": features, **derived},
        "bytes per word": {
            "blocks and postings": round((blocks + derived["postings"]) / words, 1) if words else None,
            "everything": round((in_files + sum(derived.values())) / words, 1) if words else None,
        },
        "folder": str(folder / SEGMENTS),
    }


def _kind(file: str) -> str:
    if file.startswith("posting_"):
        return "postings"
    return "vectors" if file.startswith(("vectors", "scales", "dense")) else "rows"
