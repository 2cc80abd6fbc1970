"""Words of a text as the `standard` analyzer of OpenSearch and Elasticsearch cuts them (Unicode, annex 29).

So that a listing finds the same passages here and on a server. `can't`, `3.14` and `snake_case` are one word each,
`well-known` two; every Chinese character, and every Hiragana, is one of its own.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

_ALONE = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_IN_WORDS = re.escape(":\u00b7\u0387\u05f4\u2027.\u2018\u2019\u2024'")
_IN_NUMBERS = re.escape(",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044.\u2018\u2019\u2024'")


@cache
def _pattern() -> re.Pattern[str]:
    marks = "".join(
        re.escape(chr(code)) for code in range(0x300, sys.maxunicode) if unicodedata.category(chr(code))[0] == "M"
    )
    piece = rf"(?:(?![{_ALONE}{_KATAKANA}])[\w{marks}])+"
    letter, joined = rf"(?![\d_{_ALONE}{_KATAKANA}])\w", rf"(?<=[^\W\d_])[{_IN_WORDS}]"
    return re.compile(
        rf"[{_ALONE}]|[{_KATAKANA}]+|{piece}(?:{joined}(?={letter}){piece}|(?<=\d)[{_IN_NUMBERS}](?=\d){piece})*"
    )


def standard_words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return [word.lower() for word in _pattern().findall(text) if word.strip("_")]


def holds(text: str | None, sought: str, whole: int) -> bool:
    """Whether a text has some words, given in small letters with spaces between.

    `whole`: all of them as they stand, one after the other; else each somewhere, and the last may go on.
    """
    words, wanted = standard_words(text or ""), sought.split(" ")
    if whole:
        return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))
    there = set(words)
    return there.issuperset(wanted[:-1]) and any(word.startswith(wanted[-1]) for word in there)
