"""Names on the server: of the aliases, of the indices behind them, of documents in them.

NAME                        alias of the passages that are served
NAME-documents              alias of the documents they belong to, of the state and of the statistics
NAME-control                index with the lease of the one writer, and which versions there are
NAME-2-20261116t101500-3f2a a version: its passages; format, time and identity are in its name
NAME-2-…-3f2a-documents     its documents
…-write-4c1e…               alias of each, which the one writer has given it: writing asks for an alias, so nothing is
                            made by a slip, and nobody else writes (see fencing.py)
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from ...errors import UsageError

FORMAT: Final = 2
"""Number of everything on the server: index bodies, phrase blocks, what stands in which document."""

OLDEST: Final = 1
"""Read and written to as well: only its blocks differ, and each says by its number how it is to be read."""

_NAME = re.compile("[a-z0-9][a-z0-9_-]{0,99}")
_TAKEN: Final = ("-documents", "-control", "-write")


@dataclass(frozen=True, slots=True)
class Version:
    """The two indices of one version: its passages and its documents."""

    passages: str

    @property
    def documents(self) -> str:
        """Name of the one with the documents."""
        return f"{self.passages}-documents"

    @property
    def indices(self) -> tuple[str, str]:
        """The names of passages and documents."""
        return self.passages, self.documents


class Names(Version):
    """Names that an index has for as long as it lives: two aliases, and the index of the lease."""

    __slots__ = ()

    @property
    def control(self) -> str:
        """Index of the lease."""
        return f"{self.passages}-control"

    def version(self, identity: str) -> Version:
        """Names for a new version."""
        made = time.strftime("%Y%m%dt%H%M%S", time.gmtime())
        return Version(f"{self.passages}-{FORMAT}-{made}-{identity[:8]}")


def names_of(name: str) -> Names:
    """The names of the index `name`; `UsageError` if a server would not take it."""
    if not _NAME.fullmatch(name) or name.endswith(_TAKEN):
        raise UsageError(
            f"index_name is {name!r}",
            "use small letters, digits, - and _, at most 100 of them, and no ending like " + " or ".join(_TAKEN),
        )
    return Names(name)


def writing(index: str, owner: str = "") -> str:
    """The alias through which an index is written to by the owner of the lease; without one, that of a new index."""
    return f"{index}-write-{owner}" if owner else f"{index}-write"


def key(*parts: str) -> str:
    """The id of something on the server: always the same for the same thing, short, and of harmless characters."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
