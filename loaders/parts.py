"""A part of a corpus, for one machine of many: by the ids of its documents, so that it is the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

from sparc_search.errors import UsageError


@dataclass(frozen=True, slots=True)
class Part:
    """One of so many parts, which are about as large as each other; the first is 1."""

    number: int = 1
    of: int = 1

    @classmethod
    def parsed(cls, text: str) -> Self:
        """What `3/16` means."""
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise UsageError(f"{text!r} is no part", "write 3/16 for the third of sixteen")
        return cls(int(number), int(of))

    def holds(self, name: str) -> bool:
        """Whether the document of this id is in it."""
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest) % self.of == self.number - 1
