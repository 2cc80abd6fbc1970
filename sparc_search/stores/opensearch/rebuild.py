"""Blue and green: a new version is filled beside the one that serves, checked, and takes its place in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ...errors import IndexFailure, IndexMismatch, IndexNotFound
from . import lifecycle
from .lease import Lease
from .server import Server
from .store import OpenSearchStore, Options

_AT_ONCE: Final = 50


@contextmanager
def rebuilding(
    server: Server, options: Options, location: Path, encoder: str, lease: Lease
) -> Iterator[OpenSearchStore]:
    """A version to fill; served when the context ends without an error. What was left unfinished is gone on with."""
    version = lifecycle.begin(server, options.names, encoder, options.shape)
    new = NextVersion(server, options, location, encoder, lease, building=version.documents)
    new.old = _served(server, options, location, encoder)
    yield new
    problems = new.verify().problems
    if problems:
        raise IndexFailure(
            f"the new version is not as it should be: {problems[0].where}: {problems[0].what}",
            "run the same command again; the old version is still served",
        )
    lease.check()
    lifecycle.publish(server, options.names, version)


def _served(server: Server, options: Options, location: Path, encoder: str) -> OpenSearchStore | None:
    """What is served now, if it is of this format and model."""
    try:
        return OpenSearchStore(server, options, location, encoder)
    except (IndexMismatch, IndexNotFound):
        return None


class NextVersion(OpenSearchStore):
    """A version that is being filled. What has not changed is taken over from the old one instead of encoded again.

    Whoever fills it asks for content hashes first: a document that only the old version has is taken over then. If it
    has changed, what is sent next replaces it.
    """

    old: OpenSearchStore | None = None

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there, or was."""
        there = super().content_hashes(document_ids)
        if self.old is None:
            return there
        lacking = [id for id in dict.fromkeys(document_ids) if id not in there]
        known = self.old.content_hashes(lacking)
        ids = [id for id in lacking if id in known]
        for begin in range(0, len(ids), _AT_ONCE):
            with self.old.view() as view:
                some = view.encoded_documents(ids[begin : begin + _AT_ONCE])
            self.add(some)
            there.update({one.document.id: one.content_hash for one in some})
        return there
