"""Versions of an index: made, found, taken into service in one call, gone back to, removed.

The alias says which version is served. Each version says of itself, in the `_meta` of its mapping, by which format and
model it was made and whether it is complete. A document beside the lease lists the versions there are.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final
from uuid import uuid4

from ...errors import IndexDamaged, IndexFailure, IndexMismatch, IndexNotFound
from ...mappings import index_bodies
from ...records import FIELDS
from .failures import Conflict, Refused
from .names import FORMAT, OLDEST, Names, Version, writing
from .server import LOADING, Server
from .state import ServerState, read_state, write_state
from .understood import understood

_META: Final = "sparc-search"
_VERSIONS: Final = "versions"


@dataclass(frozen=True, slots=True)
class Meta:
    """What a version says of itself."""

    format: int
    encoder: str
    identity: str
    complete: bool
    readable: bool = True
    """Whether features stand in `_source`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a new version is laid out."""

    shards: int = 1
    readable: bool = True


# --- finding ---------------------------------------------------------------------------------------------------------


@understood()
def served(server: Server, names: Names) -> tuple[Version, Meta]:
    """The version behind the alias; `IndexNotFound` if there is none, `IndexMismatch` if it is something else."""
    found = server.request("GET", f"/{names.passages}/_mapping")
    if not found:
        raise IndexNotFound(
            f"there is no index {names.passages!r} on {server.shown}", "make one with `sparc-search ingest PATH`"
        )
    if len(found) > 1:
        raise IndexDamaged(
            f"the alias {names.passages!r} on {server.shown} stands for several indices", "leave it with one of them"
        )
    ((index, mapping),) = found.items()
    meta = _meta(mapping)
    if meta is None or index == names.passages:
        raise IndexMismatch(
            f"{names.passages!r} on {server.shown} is no index of sparc-search", "name another with --index-name"
        )
    return Version(index), meta


def check(meta: Meta, encoder: str, shown: str) -> None:
    """`IndexMismatch` if the version cannot be used with this format and model."""
    if meta.format > FORMAT:
        raise IndexMismatch(f"{shown} has format {meta.format}, this version knows {FORMAT}", "upgrade sparc-search")
    if meta.format < OLDEST:
        raise IndexMismatch(
            f"{shown} has format {meta.format}, this version needs {FORMAT}",
            "make it anew with `sparc-search ingest --rebuild PATH`; the old one serves until then",
        )
    if encoder and meta.encoder != encoder:
        raise IndexMismatch(
            f"{shown} was made with the model {meta.encoder}, not with {encoder}",
            "ask with the model that made it (--model), or move it to this one with `sparc-search index upgrade`",
        )
    if not meta.complete:
        raise IndexMismatch(f"{shown} was never finished", "finish it with `sparc-search ingest --rebuild PATH`")


@understood()
def meta_of(server: Server, version: Version) -> Meta | None:
    """What a version says of itself; None if it is not there, or not whole."""
    mappings = [server.request("GET", f"/{index}/_mapping") for index in version.indices]
    return _meta(mappings[0][version.passages]) if all(mappings) else None


def _meta(mapping: Any) -> Meta | None:
    try:
        return Meta(**mapping["mappings"]["_meta"][_META])
    except (KeyError, TypeError):
        return None


# --- making ----------------------------------------------------------------------------------------------------------


def ensure_control(server: Server, names: Names) -> None:
    """The index of the lease, made if there is none."""
    if server.request("GET", f"/{names.control}/_mapping"):
        return
    _create(server, names.control, index_bodies(server.dialect.bodies)["control"])


def begin(server: Server, names: Names, encoder: str, shape: Shape) -> Version:
    """A version to fill, not served yet. One left unfinished for this model is continued."""
    known = _known(server, names)
    for name in known:
        meta = meta_of(server, Version(name))
        if meta and not meta.complete and (meta.format, meta.encoder) == (FORMAT, encoder):
            return Version(name)
    identity = uuid4().hex
    version = names.version(identity)
    _write_known(server, names, [*known, version.passages])
    meta = Meta(FORMAT, encoder, identity, complete=False, readable=shape.readable)
    bodies = index_bodies(server.dialect.bodies)
    passages, documents = bodies["passages"], bodies["documents"]
    passages["settings"]["index"]["number_of_shards"] = shape.shards
    if not shape.readable:
        passages["mappings"]["_source"]["excludes"] += FIELDS
    for index, body in ((version.documents, documents), (version.passages, passages)):
        body["mappings"]["_meta"] = {_META: asdict(meta)}
        body["aliases"] = {writing(index): {}}
        _create(server, index, body)
    with suppress(Conflict):  # of our own request, whose answer was lost: nobody else knows this name yet
        write_state(server, version.documents, ServerState(identity, version.passages), None)
    return version


def _create(server: Server, index: str, body: Any) -> None:
    try:
        server.request("PUT", f"/{index}", body, patience=LOADING)
    except Refused as error:
        # An answer may have been lost, and the second attempt finds the work of the first.
        if error.kind != "resource_already_exists_exception":
            raise


def publish(server: Server, names: Names, version: Version) -> None:
    """Serve a version from now on, in one call; the one before is kept, older ones go."""
    before = _served_now(server, names)
    meta = meta_of(server, version)
    if meta is None:
        raise IndexDamaged(f"{version.passages!r} on {server.shown} has vanished", "run the same command again")
    describe(server, version, replace(meta, complete=True))
    _point(server, names, before, version)
    kept = [version.passages] if before is None else [before.passages, version.passages]
    for name in _known(server, names):
        if name not in kept:
            for index in Version(name).indices:
                server.request("DELETE", f"/{index}", patience=LOADING)
    _write_known(server, names, kept)


def describe(server: Server, version: Version, meta: Meta) -> None:
    """Let a version say this of itself."""
    for index in version.indices:
        server.request("PUT", f"/{index}/_mapping", {"_meta": {_META: asdict(meta)}}, patience=LOADING)


def _point(server: Server, names: Names, before: Version | None, after: Version) -> None:
    """Move both aliases, in one call: nobody sees a half."""
    pairs = ((names.passages, "passages"), (names.documents, "documents"))
    actions: list[Any] = [{"add": {"index": getattr(after, which), "alias": alias}} for alias, which in pairs]
    for alias, which in pairs if before is not None and before != after else ():
        index = getattr(before, which)
        if server.request("GET", f"/{index}/_mapping"):  # somebody may have deleted a half of it
            actions.append({"remove": {"index": index, "alias": alias}})
    server.request("POST", "/_aliases", {"actions": actions}, patience=LOADING)


def roll_back(server: Server, names: Names) -> Version:
    """Serve the version before again."""
    now = _served_now(server, names)
    version = _before(server, names, now)
    if version is None:
        raise IndexFailure(
            f"there is no version before the one that {names.passages!r} serves", "one is kept by every --rebuild"
        )
    read_state(server, version.documents)  # it must be readable before it is served
    _point(server, names, now, version)
    return version


def previous(server: Server, names: Names) -> str | None:
    """The name of the version that a roll-back would serve."""
    version = _before(server, names, _served_now(server, names))
    return version.passages if version else None


def _before(server: Server, names: Names, now: Version | None) -> Version | None:
    """The newest complete version but the one that is served now."""
    for version in map(Version, reversed(_known(server, names))):
        meta = meta_of(server, version)
        if version != now and meta and meta.complete:
            return version
    return None


def _served_now(server: Server, names: Names) -> Version | None:
    # A request for an alias of any index is one for all indices, which a role for these alone does not allow.
    found = server.request("GET", f"/{names.passages}-*/_alias/{names.passages}")
    return Version(min(found)) if found else None


def _known(server: Server, names: Names) -> list[str]:
    found = server.document(f"/{names.control}/_doc/{_VERSIONS}")
    return list(found["_source"]["body"]["known"]) if found else []


def _write_known(server: Server, names: Names, known: list[str]) -> None:
    body = {"kind": "versions", "body": {"known": known}}
    server.request("PUT", f"/{names.control}/_doc/{_VERSIONS}", body, patience=LOADING)
