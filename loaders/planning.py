"""From what a caller asks for to a plan; what cannot be done is said before a model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from sparc_search import plugins
from sparc_search.errors import UsageError

from .parts import Part
from .patterns import Filters
from .plan import BATCH_TOKENS, Plan, usual_readers
from .rejects import rejected_before
from .walk import roots


class FileOptions(TypedDict, total=False):
    """How files are read."""

    format: str
    """Read every file with this reader (a plugin)."""
    include: Sequence[str]
    """Read only files like these globs."""
    exclude: Sequence[str]
    """Leave out files or folders like these globs."""
    no_ignore: bool
    """Read what .gitignore names, too, and packages, virtual environments and build results."""
    corpus: str
    """Put this and a slash before every id, and it in the metadata."""
    id_field: str
    """Field or column that holds the id; so for the next two."""
    text_field: str
    title_field: str
    max_rejects: int | None
    """Stop when more are rejected."""
    batch_tokens: int
    """Word pieces that are encoded at once; more of them for a GPU."""
    readers: int | None
    """Files read at the same time."""
    part: str
    """Take only this part of the documents, such as `3/16`."""


def plan_files(
    paths: Sequence[str | Path],
    *,
    sync: bool = False,
    rebuild: bool = False,
    dry_run: bool = False,
    retry: Path | None = None,
    **options: Unpack[FileOptions],
) -> Plan:
    """The plan to read these paths, or, with `retry`, what that reject file names."""
    for unknown in options.keys() - FileOptions.__annotations__.keys():
        raise UsageError(f"an ingest has no option {unknown!r}", f"known are: {', '.join(FileOptions.__annotations__)}")
    if retry and (paths or sync or rebuild):
        raise UsageError(
            "--retry-rejects reads what was rejected, and nothing else", "leave out PATH, --sync and --rebuild"
        )
    if rebuild and dry_run:
        raise UsageError("--rebuild and --dry-run exclude each other", "leave out one of them")
    part = Part.parsed(options.get("part", "1/1"))
    if sync and part.of > 1:
        raise UsageError("`sync` would delete the documents of all other parts", "leave out one of the two")
    format = options.get("format", "")
    if format:
        plugins.load("readers", format)  # an unknown name is said now
    fields = {"id-field": options.get("id_field"), "text-field": options.get("text_field")}
    fields["title-field"] = options.get("title_field")
    return Plan(
        roots=[] if retry else roots([str(path) for path in paths]),
        filters=Filters(
            tuple(options.get("include", ())), tuple(options.get("exclude", ())), not options.get("no_ignore", False)
        ),
        format=format,
        options={name: value for name, value in fields.items() if value},
        corpus=options.get("corpus", ""),
        sync=sync,
        dry_run=dry_run,
        batch_tokens=options.get("batch_tokens", BATCH_TOKENS),
        readers=options.get("readers") or usual_readers(),
        max_rejects=options.get("max_rejects"),
        only=rejected_before(retry) if retry else None,
        part=part,
    )
