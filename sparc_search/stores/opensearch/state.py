"""The committed state of an index: one small document, changed last in every write, and the statistics it names.

A reader asks for it by id, which servers answer from the newest write, refreshed or not. Statistics are documents of
their own, numbered like the generation and never changed, so a reader that knows its number may keep them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from ...errors import IndexDamaged, IndexNotFound
from .names import Version, writing
from .server import LOADING, READING, Patience, Server
from .understood import understood

_ID: Final = "state"


@dataclass(frozen=True, slots=True)
class ServerState:
    """What is served: which version, and how much is in it. The generation is the number of the last write."""

    identity: str
    passages_index: str
    generation: int = 0
    documents: int = 0
    passages: int = 0
    words: int = 0

    @property
    def version(self) -> Version:
        """Names of the indices."""
        return Version(self.passages_index)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where a document stands in the order of writes; a write that names it happens only if nobody wrote since."""

    seq_no: int
    primary_term: int

    @property
    def condition(self) -> dict[str, object]:
        """As parameters of a write."""
        return {"if_seq_no": self.seq_no, "if_primary_term": self.primary_term}


def stamp_of(answer: Mapping[str, Any]) -> Stamp:
    """The stamp of a document that was read or written."""
    return Stamp(int(answer["_seq_no"]), int(answer["_primary_term"]))


@understood()
def read_state(server: Server, index: str, patience: Patience = READING) -> tuple[ServerState, Stamp]:
    """The state, from an index or from the alias of what is served."""
    found = server.document(f"/{index}/_doc/{_ID}", patience=patience)
    if found is None:
        raise IndexNotFound(
            f"there is no index {index!r} on {server.shown}", "make one with `sparc-search ingest PATH`"
        )
    try:
        state = ServerState(**found["_source"]["body"])
        if not all(
            isinstance(count, int) for count in (state.generation, state.documents, state.passages, state.words)
        ):
            raise TypeError("a count is no number")
        return state, stamp_of(found)
    except (LookupError, TypeError, ValueError) as error:
        raise IndexDamaged(
            f"the state of {index!r} on {server.shown} cannot be read",
            "make it anew with `sparc-search ingest --rebuild PATH`",
        ) from error


def write_state(server: Server, index: str, state: ServerState, stamp: Stamp | None) -> Stamp:
    """Commit: this is what is served from now on. `Conflict` if another writer was there since the stamp.

    With a stamp the index is named by the alias of its writer.
    """
    body = {"kind": "state", "id": _ID, "generation": state.generation, "body": asdict(state)}
    params: dict[str, object] = {**stamp.condition, "require_alias": "true"} if stamp else {"op_type": "create"}
    return stamp_of(server.request("PUT", f"/{index}/_doc/{_ID}", body, params, patience=LOADING))


@understood()
def read_statistics(server: Server, state: ServerState, patience: Patience = READING) -> Counter[str]:
    """In how many passages each term stands, as of the state."""
    if not state.generation:
        return Counter()
    index = state.version.documents
    found = server.document(f"/{index}/_doc/{_statistics_id(state.generation)}", patience=patience)
    if found is None:
        raise IndexDamaged(
            f"statistics {state.generation} of {index!r} are missing",
            "`sparc-search index verify --repair` counts again",
        )
    return Counter(json.loads(found["_source"]["body"]["terms"]))


def write_statistics(server: Server, state: ServerState, terms: Mapping[str, int], owner: str) -> None:
    """Put down the statistics of a state that the owner of the lease is about to commit."""
    # As one text: it is read whole or not at all, and servers need not look into it.
    text = json.dumps({name: count for name, count in sorted(terms.items()) if count > 0}, ensure_ascii=False)
    body = {"kind": "statistics", "generation": state.generation, "body": {"terms": text}}
    path = f"/{writing(state.version.documents, owner)}/_doc/{_statistics_id(state.generation)}"
    server.request("PUT", path, body, {"require_alias": "true"}, patience=LOADING)


def drop_statistics(server: Server, state: ServerState, generation: int) -> None:
    """Remove statistics that no reader asks for any more."""
    if generation > 0:
        server.request("DELETE", f"/{state.version.documents}/_doc/{_statistics_id(generation)}")


def _statistics_id(generation: int) -> str:
    return f"statistics-{generation}"
