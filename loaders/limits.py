"""How much one source may ask for. What asks for more is one reject, and memory stays bounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MEBIBYTE: Final = 1 << 20

LINE_BYTES: Final = 32 * MEBIBYTE
"""Longest line of a line-based file (JSONL, CSV)."""

TEXT_BYTES: Final = 40 * MEBIBYTE
"""Largest file that is read whole as one text (plain text, Markdown, HTML)."""

JSON_BYTES: Final = 256 * MEBIBYTE
"""Largest file that must be parsed as one JSON value (SQuAD)."""

DOCUMENT_CHARACTERS: Final = 10_000_000
"""Longest document. A document is indexed as a whole, so this bounds what is held in memory at once."""

METADATA_CHARACTERS: Final = 1_000
"""Longest metadata value that is kept; filters compare whole values, so a longer one is of no use to them."""

EXPANSION: Final = 200
"""Most bytes that one compressed byte may become, looked at once `EXPANSION_FLOOR` bytes have come out."""

EXPANSION_FLOOR: Final = 32 * MEBIBYTE


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What a child process that parses a risky format may use."""

    memory_bytes: int = 2048 * MEBIBYTE
    """Address space of the whole process."""

    seconds: float = 60.0
    """Longest time without a document, for a small file."""

    seconds_per_mebibyte: float = 10.0
    """Added to it for each mebibyte of the file."""

    document_bytes: int = 4 * DOCUMENT_CHARACTERS
    """Largest document it may send back."""

    most_seconds: float = 900.0
    """And this is the most it can come to."""

    def patience(self, file_bytes: int) -> float:
        """Seconds to wait for the next document of a file."""
        return min(self.most_seconds, self.seconds + self.seconds_per_mebibyte * file_bytes / MEBIBYTE)
