"""What the files in examples/documentation-questions/ hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parent.parent.parent / "examples" / "documentation-questions"
SPLITS: Final = ("build", "sealed")
ABSENT: Final = "not in the corpus"
CATEGORIES: Final = (
    "who", "when", "how many", "which option", "default", "where", "how do I", "why", "list", "table", "yes/no", "typo",
    "keywords", ABSENT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Package:
    """A Debian package, and which of its files are the corpus."""

    name: str
    version: str
    folder: str
    files: tuple[str, ...]
    """Paths below `folder`."""

    def paths(self) -> list[str]:
        """The files as they stand in the package."""
        return [f"{self.folder}/{name}" for name in self.files]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer stands: a file of a package, and there a heading or a page."""

    package: str
    version: str
    file: str
    heading: str = ""
    page: int | None = None

    def path(self, corpus: Path) -> Path:
        """The file, in a folder that `fetch` has filled."""
        return corpus / self.package / self.file


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the forms of an answer that are accepted (see `judging`), and where it is answered."""

    id: str
    category: str
    question: str
    answers: tuple[Any, ...]
    places: tuple[Place, ...]
    """The first is where its writer found it; none if the corpus does not answer it."""


def packages() -> list[Package]:
    """The corpus."""
    rows = json.loads((FOLDER / "corpus.json").read_text(encoding="utf-8"))["packages"]
    return [Package(row["package"], row["version"], row["folder"], tuple(row["files"])) for row in rows]


def questions(split: str) -> list[Question]:
    """The questions of one half."""
    lines = (FOLDER / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [_question(json.loads(line)) for line in lines]


def _question(row: Mapping[str, Any]) -> Question:
    places = tuple(_place(found) for found in (row, *row.get("also", ()))) if "file" in row else ()
    return Question(row["id"], row["category"], row["question"], tuple(row["answers"]), places)


def _place(row: Mapping[str, Any]) -> Place:
    return Place(row["package"], row["version"], row["file"], row.get("heading", ""), row.get("page"))
