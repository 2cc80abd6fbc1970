"""What an index on a server holds and how much room that takes."""

from __future__ import annotations

from .lifecycle import previous
from .names import FORMAT, Names
from .server import Server
from .state import State


def describe(server: Server, names: Names, state: State, encoder: str) -> dict[str, object]:
    """Facts by name."""
    sizes = size_in_bytes(server, state)
    return {
        "documents": state.documents,
        "passages": state.passages,
        "words": state.words,
        "format": FORMAT,
        "encoder": encoder,
        "generation": state.generation,
        "server": f"{server.dialect.name} {server.version} at {server.shown}",
        "index": names.passages,
        "version": state.passages_index,
        "version before": previous(server, names),
        "bytes": sizes,
        "bytes per word": {"everything": round(sum(sizes.values()) / state.words, 1) if state.words else None},
    }


def size_in_bytes(server: Server, state: State) -> dict[str, int]:
    """Bytes of passages and of documents on the server, without copies."""
    version = state.version
    found = server.request("GET", f"/{','.join(version.indices)}/_stats/store")["indices"]
    named = (("passages", version.passages), ("documents", version.documents))
    return {name: int(found[index]["primaries"]["store"]["size_in_bytes"]) for name, index in named}
