"""Where sentences end: by punctuation, wary of abbreviations, initials and numbers. No model, no language needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_END: Final = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s)|[。！？]+["”’」』）]*""")  # noqa: RUF001
_ABBREVIATIONS: Final = frozenset(
    (
        "al", "approx", "apr", "aug", "ave", "bros", "ca", "capt", "cf", "ch", "co", "col", "corp", "dec", "dept", "dr",
        "e.g", "ed", "eds", "est", "etc", "feb", "fig", "gen", "gov", "hon", "i.e", "inc", "jan", "jr", "jul", "jun",
        "lt", "ltd", "maj", "mar", "mr", "mrs", "ms", "mt", "no", "nov", "oct", "op", "p", "pp", "prof", "rep", "rev",
        "sen", "sep", "sept", "sgt", "sr", "st", "vol", "vols", "vs",
    )
)  # fmt: skip
_BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n|[\f\u2029]")
_CELL_ENDS: Final = " |"  # what stands between two cells of a row belongs to neither
_LAST_WORD: Final = re.compile(r"[\w.]{1,20}\Z")


def sentence_ends(text: str) -> Iterator[int]:
    """Offsets just behind each sentence of the text, its closing quotation marks included."""
    for match in _END.finditer(text):
        if match[0] != "." or _is_end(text, match.start(), match.end()):
            yield match.end()


def sentence_around(text: str, start: int, end: int, joints: Iterable[int] = ()) -> tuple[int, int]:
    """Where the sentence around a span begins and ends, without white space; none crosses a blank line or a joint."""
    cells = frozenset(joints)
    bounds = {*sentence_ends(text), *(match.end() for match in _BLANK_LINE.finditer(text)), *cells}
    first = max((bound for bound in bounds if bound <= start), default=0)
    last = min((bound for bound in bounds if bound >= end), default=len(text))
    first += len(text[first:start]) - len(text[first:start].lstrip())
    said = text[first:last].rstrip()
    if last in cells:
        said = said.removesuffix(_CELL_ENDS)
    return first, max(end, first + len(said))


def _is_end(text: str, dot: int, after: int) -> bool:
    """Whether a lone full stop ends a sentence."""
    following = text[after : after + 50].lstrip()[:1]
    if following.islower():
        return False
    last = _LAST_WORD.search(text, max(0, dot - 20), dot)
    word = last[0] if last else ""
    initial = len(word) == 1 and word.isupper()  # J. Smith; the U.S. Army comes with dots inside
    return not (initial or "." in word.strip(".") or word.lower() in _ABBREVIATIONS)
