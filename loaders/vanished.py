"""Documents that the index has from a source and the source has no more: what `--sync` deletes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .patterns import Filters
from .seen import Seen
from .target import Target
from .walk import Root


def vanished(
    target: Target, roots: Sequence[Root], filters: Filters, seen: Seen, corpus: str = ""
) -> Iterator[tuple[str, str]]:
    """Id and source of each. What could not be read this time, or is left out by a filter, has not vanished.

    With a corpus only its own documents count: the same files may stand in the index under another name too.
    """
    prefix = f"{corpus}/" if corpus else ""
    for root in roots:
        if root.kind == "stdin":
            continue  # two runs from a pipe need not be of the same source
        for document_id, source in target.documents_from(root.prefix):
            ours = document_id.startswith(prefix) and root.covers(source)
            if ours and document_id not in seen and not seen.in_doubt(source):
                below = source[len(root.path) :].lstrip("/") if root.kind == "folder" else source
                if not _left_out(below, filters):
                    yield document_id, source


def _left_out(path: str, filters: Filters) -> bool:
    """Whether a filter keeps this file, or a folder it is in, from being read."""
    folders = path.split("/")[:-1]
    parents = ("/".join(folders[: depth + 1]) for depth in range(len(folders)))
    return bool(filters.why_not(path)) or any(filters.why_not(parent, folder=True) for parent in parents)
