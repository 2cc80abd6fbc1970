"""Words of code: option names, paths, addresses, names with underscores. No answer begins or ends inside one.

The tokenizer cuts `--include-untracked` into `-`, `-`, `include`, `-`, `un`, …, each of which could be a word. Prose is
not touched: "1998 to 2000" with a dash, "and/or" and "well-known" are several words, and each of them may be an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..records import CONTINUES, PUNCTUATION, Side

_CANDIDATE: Final = re.compile(r"""[^\s|,;"'`<>\[\]{}()\u2018\u2019\u201c\u201d…]{2,}(?:\(\))?""")
_TELLING: Final = re.compile(r"[-_=/\\@$#%+.:(]")
_CODE: Final = re.compile(
    r"""
      --?[A-Za-z][\w-]*(?:=\S*)?                # --force, -f, --depth=5
    | (?:~|\.{1,2})?/\S*\w\S*                   # /etc/fstab, ./run
    | [A-Za-z]:\\\S*                            # C:\Users
    | [A-Za-z][\w+.-]*://\S+                    # https://example.org/a
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+              # ada@example.org
    | [\w-][\w./-]*/[\w-]+(?:\.[a-z]{1,5})      # docs/ingest.md
    | [A-Za-z_][\w.-]*=\S+                      # journal_mode=WAL
    | (?=\S*\w_\w)\w[\w.:/-]*                   # SQLITE_MAX_EXPR_DEPTH
    | _+[A-Za-z]\w*                             # __init__
    | [@\#%][A-Za-z_]\w* | \$(?:[a-z_]\w*|[A-Z_]{3,}\w*)   # $HOME
    | [A-Za-z_]\w+(?:\.[a-z_]\w+)+              # os.path, example.org
    | [\w.:]+\(\)                               # main()
    | \w+(?:::\w+)+                             # std::vector
    | v?\d+(?:\.\d+){2,}(?:-\w+)?               # 3.11.2
    | \*\.\w+                                   # *.html
    | [A-Z](?:\+\+|\#)                          # C++
    """,
    re.VERBOSE,
)


def code_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Where each word of code stands in a text."""
    for found in _CANDIDATE.finditer(text):
        word = found[0].rstrip(".:!?")
        if _TELLING.search(word) and _CODE.fullmatch(word):
            yield found.start(), found.start() + len(word)


def with_code_tokens(text: str, offsets: NDArray[np.int32], flags: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The flags of the pieces of a text: those of a word of code go on with its first one."""
    tokens = list(code_tokens(text))
    if not tokens:
        return flags
    flags = flags.copy()
    starts = offsets[:, 0]
    for start, end in tokens:
        first, behind = np.searchsorted(starts, [start + 1, end])
        flags[first:behind] |= CONTINUES
    return flags


def boundary_rows(side: Side, flags: NDArray[np.uint8]) -> NDArray[np.intp]:
    """For each piece, the one whose numbers count if a phrase starts (ends) there: itself, except in a word of code.

    The network has learned to tell where a phrase starts by words, not by the `--` in front of one: what it says of the
    first word of `--force` is said of `--force`. So it is with marks at the end of `main()`.
    """
    rows = np.arange(len(flags))
    goes_on = (flags & CONTINUES) != 0
    word = np.cumsum(~goes_on)  # the number of each piece's word
    said = np.flatnonzero((flags & PUNCTUATION) == 0)
    if side == "end":
        said = said[::-1]
    words, at = np.unique(word[said], return_index=True)  # the first (last) piece of each word that is no mark
    edges = ~goes_on if side == "start" else ~np.append(goes_on[1:], False)
    marks = np.flatnonzero(edges & np.isin(word, words) & ((flags & PUNCTUATION) != 0))
    rows[marks] = said[at[np.searchsorted(words, word[marks])]]
    return rows
