"""Subtitles: what is said, without numbers, times and marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO, Final

from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import guessed, whole
from .limits import TEXT_BYTES

_CUE: Final = re.compile(r"(?m)^(?:\d+[ \t]*\n)?[^\n]*\d\d:\d\d[.,]\d{3} *--> *[^\n]*\n")
_MARK: Final = re.compile(r"<[^>\n]{0,80}>")
_CUES: Final = 12  # of which a paragraph is made


class SubtitleReader(Reader):
    """Subtitles (.srt, .vtt): one document; a dozen of them are a paragraph."""

    suffixes = (".srt", ".vtt")

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        found = guessed(whole(stream, TEXT_BYTES))
        _, *cues = _CUE.split(found.text.replace("\r\n", "\n"))
        said = [" ".join(_MARK.sub("", cue).split()) for cue in cues]
        builder = TextBuilder()
        for start in range(0, len(said), _CUES):
            builder.block(" ".join(line for line in said[start : start + _CUES] if line))
        yield builder.build(source, source, "", found.metadata)


reader = SubtitleReader()
