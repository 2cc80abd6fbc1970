"""What an ingest tells while it runs, and the account it gives in the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Literal

from sparc_search.records import Passage

from .plan import Plan

Kind = Literal["indexed", "unchanged", "rejected", "skipped", "renamed", "deleted"]
REMOVED: Final[tuple[Kind, ...]] = ("renamed", "deleted")
"""What becomes of documents that are not read: their files are gone."""
Stopped = Literal["", "interrupted", "too many rejects"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one document ended. `indexed` is said only once it is durable."""

    kind: Kind
    document_id: str
    source: str
    reason: str = ""
    remedy: str = ""
    root: str = ""
    root_kind: str = ""
    passages: int = 0


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far it is."""

    read: int
    rejected: int
    passages: int
    tokens: int
    """Word pieces that are encoded."""
    bytes_read: int
    seconds: float
    work: int = 0
    """Word pieces of all that was read and is new: counted where it is cut, estimated where it is not yet."""
    reading: bool = True
    """Whether there is more to read."""
    stage: str = "reading"
    """What is being done, in words."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The account: read = indexed + unchanged + rejected + skipped (+ unfinished, if it was stopped)."""

    read: int = 0
    indexed: int = 0
    unchanged: int = 0
    rejected: int = 0
    skipped: int = 0
    renamed: int = 0
    """Deleted, because their files are gone and the same text stands in a file that is new."""
    deleted: int = 0
    gone: int = 0
    """Files that the index knows from these paths and that are no longer there; `--sync` deletes their documents."""
    unfinished: int = 0
    passages: int = 0
    tokens: int = 0
    words: int = 0
    tokens_per_second: float = 0.0
    bytes_per_word: float | None = None
    """Growth of the index for each word of the text indexed; nothing if the store cannot tell its size."""
    seconds: float = 0.0
    seconds_by_stage: Mapping[str, float] = field(default_factory=dict)
    """Busy time of each stage. They overlap, so the sum may be more than `seconds`."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why documents were rejected or skipped, and how many for each reason (the first hundred reasons)."""
    first_passages: tuple[Passage, ...] = ()
    """Of a dry run: how the first documents would be cut."""
    encodings: Mapping[str, int] = field(default_factory=dict)
    """Indexed documents that are not UTF-8, by the encoding they were read as."""
    languages: Mapping[str, int] = field(default_factory=dict)
    """Indexed documents in languages that the model was not trained for, as far as that can be told."""
    left_out: int = 0
    """Menus, footers and other blocks of the indexed documents that are not indexed."""
    left_out_words: int = 0
    left_out_growth: Mapping[str, int] = field(default_factory=dict)
    """By how many blocks and words what the index leaves out has grown: less that of replaced and deleted documents."""
    first_left_out: tuple[str, ...] = ()
    """Of a dry run: the commonest of them."""
    dry_run: bool = False
    stopped: Stopped = ""
    rejects_file: Path | None = None
    """Where the rejects are, if there are any and they were written down."""

    @property
    def found_nothing(self) -> bool:
        """Whether everything that was met was passed over."""
        return self.read == self.skipped and not (self.deleted or self.renamed)


@dataclass(frozen=True, slots=True)
class Report:
    """What became of documents that were handed over."""

    indexed: int = 0
    unchanged: int = 0
    """Already there, so nothing was done."""
    rejected: int = 0
    skipped: int = 0
    """Without any text."""
    passages: int = 0
    """Of those that were indexed."""
    rejects: tuple[Outcome, ...] = ()
    """Which documents were rejected, and why."""

    def __add__(self, other: Report) -> Report:
        """Both together."""
        return Report(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Report)))


Event = Plan | Outcome | IngestProgress | Summary
"""What a run tells: its plan first, then outcomes and progress, and its summary last."""
