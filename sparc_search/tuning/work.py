"""The folder of a tuning under way, beside the model to come: what is done already, and that nobody else is at it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import ModelError, UsageError
from ..evaluation.calibration import Observation
from ..evaluation.open_domain import OpenRow
from ..evaluation.provenance import write_report
from .judging import Answered


class Work:
    """What is known of a tuning: what it is about, and the folds that are done."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    @contextmanager
    def beside(cls, out: Path) -> Iterator[Work]:
        """The folder for `out`, for one tuning at a time."""
        from filelock import FileLock, Timeout

        folder = out.with_name(out.name + ".tuning")
        folder.mkdir(parents=True, exist_ok=True)
        held = FileLock(folder / "lock")
        try:
            held.acquire(timeout=0)
        except Timeout:
            raise ModelError(f"another tuning of {out} is under way", "wait for it, or name another --out") from None
        work = cls(folder)
        try:
            yield work
        finally:
            if not work._is_begun():
                work.done()
            held.release()

    def begin(self, about: Mapping[str, Any], *, resume: bool) -> None:
        """Begin, or go on with what was begun; `UsageError` if that was something else."""
        path = self.folder / "about.json"
        if not self._is_begun():
            write_report(path, about)
            return
        before = json.loads(path.read_text("utf-8"))
        if not resume:
            raise UsageError(
                f"{self.folder} holds a tuning that was stopped", "go on with --resume, or remove that folder"
            )
        changed = [name for name, value in json.loads(json.dumps(about)).items() if before.get(name) != value]
        if changed:
            raise UsageError(
                f"the tuning in {self.folder} was begun with another `{changed[0]}`",
                f"use what it was begun with, or remove {self.folder} and leave out --resume",
            )

    def checkpoint(self, name: str) -> Path:
        """Where a run (`fold …`, `all …`) keeps its state."""
        return self.folder / name.replace(" ", "-")

    def fold(self, number: int) -> list[Answered] | None:
        """The answers of a fold, if it is done."""
        path = self._fold(number)
        if not path.exists():
            return None
        return [
            Answered(
                OpenRow(**{**row, "gold": tuple(row["gold"])}),
                Observation(**seen) if seen else None,
            )
            for row, seen in json.loads(path.read_text("utf-8"))["rows"]
        ]

    def keep_fold(self, number: int, answered: Sequence[Answered]) -> None:
        """Write down that a fold is done."""
        rows = [(asdict(one.row), asdict(one.seen) if one.seen else None) for one in answered]
        write_report(self._fold(number), {"rows": rows})

    def done(self) -> None:
        """Nothing of it is needed any more."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_begun(self) -> bool:
        """Whether there is something to go on with."""
        return self.folder.exists() and any(path.name.startswith(("fold-", "all-")) for path in self.folder.iterdir())

    def _fold(self, number: int) -> Path:
        return self.folder / f"fold-{number}.json"
