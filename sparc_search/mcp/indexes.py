"""Several indexes under their names: which one is meant, and the ids and addresses of what is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from ..errors import NotThere, UsageError
from ..index import Index

SCHEME: Final = "sparc-search"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_ADDRESS: Final = re.compile(rf"{SCHEME}://([^/]+)/documents/(.+)", re.DOTALL)


def named_folder(given: str) -> tuple[str, Path]:
    """`NAME=FOLDER`, or a folder alone, which is named after itself."""
    name, equals, folder = given.partition("=")
    if equals and _NAME.fullmatch(name):
        return name, Path(folder).expanduser()
    path = Path(given).expanduser()
    return _NO_NAME.sub("-", path.resolve().name).strip("-")[:40] or "index", path


@dataclass(frozen=True, slots=True)
class Indexes:
    """Open indexes by name. If there are several, the ids of what is in them begin with the name."""

    by_name: Mapping[str, Index]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order they were given."""
        return tuple(self.by_name)

    @property
    def several(self) -> bool:
        """Whether one must be told from another."""
        return len(self.by_name) > 1

    def chosen(self, name: str = "") -> Iterator[tuple[str, Index]]:
        """The index of a name; without one, all."""
        if name and name not in self.by_name:
            raise UsageError(f"there is no index {name!r}", f"known are: {', '.join(self.names)}")
        return ((known, index) for known, index in self.by_name.items() if name in ("", known))

    def label(self, name: str) -> str | None:
        """The name of an index, where there are several."""
        return name if self.several else None

    def id_of(self, name: str, id: str) -> str:
        """The id of a passage or document, as clients see it."""
        return f"{name}:{id}" if self.several else id

    def located(self, id: str) -> tuple[str, Index, str]:
        """Which index an id belongs to, and what it is called there."""
        if not self.several:
            ((name, index),) = self.by_name.items()
            return name, index, id
        name, _, inner = id.partition(":")
        if name not in self.by_name or not inner:
            raise NotThere(f"there is no {id!r}", "take ids from `search`, `ask` or `list_documents`")
        return name, self.by_name[name], inner

    def address(self, name: str, document_id: str) -> str:
        """The address of a document as a resource."""
        return f"{SCHEME}://{name}/documents/{quote(document_id, safe='')}"

    def at(self, address: str) -> tuple[str, Index, str]:
        """Which document an address means."""
        match = _ADDRESS.fullmatch(address)
        if match is None or match[1] not in self.by_name:
            raise NotThere(f"there is no resource {address!r}", "`resources/list` names them all")
        return match[1], self.by_name[match[1]], unquote(match[2])

    def url(self, name: str, document_id: str, source: str, page: int | None = None) -> str:
        """What to cite a document by: its own address, its file, or its address here."""
        if re.match("https?://", source):
            return source
        if Path(source).is_absolute():
            return Path(source).as_uri() + (f"#page={page}" if page else "")
        return self.address(name, document_id)
