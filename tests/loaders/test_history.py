from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from sparc_search.loaders.history import ingests, note_ingest, rejects
from sparc_search.loaders.outcomes import Summary


def test_ingests_and_rejects_are_remembered(tmp_path: Path) -> None:
    location = tmp_path / "index"
    for day in (1, 2):
        note_ingest(location, Summary(indexed=day), ["a", "b"], datetime(2026, 1, day, tzinfo=UTC))
    with (tmp_path / "index.ingests.jsonl").open("a") as file:
        file.write('{"cut off by a cra')
    newest, oldest = ingests(location)
    assert (newest["when"], newest["indexed"]) == ("2026-01-02T00:00:00+00:00", 2)
    assert (oldest["when"], oldest["indexed"], oldest["paths"]) == ("2026-01-01T00:00:00+00:00", 1, ["a", "b"])
    assert rejects(location) == []
    (tmp_path / "index.rejects.jsonl").write_text('{"id": "x", "reason": "empty"}\n[]\n')
    assert rejects(location) == [{"id": "x", "reason": "empty"}]
    note_ingest(tmp_path / "no" / "folder", Summary(), [])  # nobody can write there: nothing happens


def test_what_somebody_else_has_put_there_holds_nobody_up(tmp_path: Path) -> None:
    for what in ("ingests", "rejects"):
        os.mkfifo(tmp_path / f"index.{what}.jsonl")
    note_ingest(tmp_path / "index", Summary(), [])
    assert list(ingests(tmp_path / "index")) == rejects(tmp_path / "index") == []
    (tmp_path / "other.rejects.jsonl").write_text("[" * 100_000 + '\n{"id": "x"}\n')
    assert rejects(tmp_path / "other") == [{"id": "x"}]
