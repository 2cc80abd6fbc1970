"""Blue and green: a new version is filled beside the one that serves, checked, and takes its place in one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

from ...errors import IndexFailure, IndexMismatch, IndexNotFound
from . import lifecycle
from .engine import OpenSearchEngine, take_lease
from .options import Options
from .server import Server
from .view import ServerView

_AT_ONCE: Final = 50


@contextmanager
def rebuilding(options: Options, encoder: str) -> Iterator[NextVersion]:
    """A version to fill; served when the context ends without an error. What was left unfinished is continued."""
    with closing(Server(options.access)) as server:
        lease = take_lease(server, options)
        try:
            version = lifecycle.begin(server, options.names, encoder, options.shape)
            new = NextVersion(server, options, encoder, lease, building=version)
            new.old = _served(server, options, encoder)
            yield new
            problems = new.admin().verify().problems
            if problems:
                raise IndexFailure(
                    f"the new version is not as it should be: {problems[0].where}: {problems[0].what}",
                    "run the same command again; the old version is still served",
                )
            lease.check()
            lifecycle.publish(server, options.names, version)
        finally:
            lease.release()


def _served(server: Server, options: Options, encoder: str) -> OpenSearchEngine | None:
    """What is served now, if it is of this format and model."""
    try:
        return OpenSearchEngine(server, options, encoder)
    except (IndexMismatch, IndexNotFound):
        return None


class NextVersion(OpenSearchEngine):
    """A version that is being filled. What has not changed is taken over from the old one instead of encoded again."""

    old: OpenSearchEngine | None = None

    @contextmanager
    def view(self) -> Iterator[ServerView]:
        """What is in the new version."""
        with super().view() as view:
            yield NextView(self, view)


class NextView(ServerView):
    """Takes documents over from the old version when it is asked for their content hashes.

    Whoever fills a version asks for them first. If a document has changed, what is sent next replaces it.
    """

    def __init__(self, engine: NextVersion, view: ServerView) -> None:
        super().__init__(view.server, view.state, view.frequencies_of, {})
        self._engine = engine

    def content_hashes(self, document_ids: Sequence[str]) -> dict[str, str]:
        """The content hash of each document that is there, or was."""
        there = super().content_hashes(document_ids)
        if self._engine.old is None:
            return there
        lacking = [id for id in dict.fromkeys(document_ids) if id not in there]
        with self._engine.old.view() as old:
            known = old.content_hashes(lacking)
            ids = [id for id in lacking if id in known]
            for begin in range(0, len(ids), _AT_ONCE):
                some = list(old.documents(ids[begin : begin + _AT_ONCE]))
                refused = {refusal.document_id for refusal in self._engine.writer().add(some)}
                there |= {one.document.id: one.content_hash for one in some if one.document.id not in refused}
        return there
