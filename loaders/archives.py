"""Documents that are zip archives of XML: what is looked at before anything of them is parsed."""

from __future__ import annotations

import zipfile
from typing import IO, Final
from xml.parsers import expat

from sparc_search.errors import RejectedDocument

from .limits import EXPANSION, MEBIBYTE

_UNPACKED_BYTES: Final = 512 * MEBIBYTE
_MEMBERS: Final = 10_000
_PIECE: Final = 64 * 1024


def refuse_bombs(archive: zipfile.ZipFile) -> None:
    """Reject an archive that becomes far too much when it is unpacked."""
    members = archive.infolist()
    unpacked, packed = sum(member.file_size for member in members), sum(member.compress_size for member in members)
    bomb = unpacked > MEBIBYTE and unpacked > EXPANSION * packed
    if bomb or unpacked > _UNPACKED_BYTES or len(members) > _MEMBERS:
        raise RejectedDocument(
            f"suspicious archive: {len(members):,} members, {packed:,} bytes become {unpacked:,}",
            "open and save it again if you trust it",
        )


def refuse_doctypes(archive: zipfile.ZipFile) -> None:
    """No office program writes one. Entities that it declares are not resolved, so text would be missing silently."""
    for name in archive.namelist():
        if name.endswith((".xml", ".rels", ".opf")):
            with archive.open(name) as member:
                _refuse_doctype(member, name)


def _refuse_doctype(member: IO[bytes], name: str) -> None:
    """Look at what stands before the first element, where a document type has its only place."""
    seen: list[str] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: seen.append("type")
    parser.StartElementHandler = lambda *_: seen.append("element")
    try:
        while not seen and (piece := member.read(_PIECE)):
            parser.Parse(piece)
    except expat.ExpatError:
        pass  # damaged, which is found out later, or cut off within the type
    if seen and seen[0] == "type":
        raise RejectedDocument(f"{name} in it declares a document type", "open and save it again")
