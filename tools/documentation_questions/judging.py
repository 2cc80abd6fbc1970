"""Whether a text gives an accepted answer, and whether it stands at the named place.

An accepted form is one of

- a text: right is what contains it as whole words. The kind of quotation marks, dashes and spaces does not matter;
  letter case does in options and codes (`-d` is not `-D`, `%b` not `%B`) and in forms of one or two letters;
- `{"cased": …}`, a text whose letter case matters;
- `{"pattern": …}`, a regular expression that is searched for in the same way;
- `{"all": […]}`, of which everything must be there: lists;
- `{"of": […], "least": 3}`, of which so many must be there: long lists.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

MOST_WORDS: Final = 60
"""A text with more words than this is not an answer, whatever it contains."""
CONTEXT_WORDS: Final = 3
"""So many words before or after an answer tell at which place it stands."""

_ALIKE: Final = (
    str.maketrans(dict.fromkeys("\u2018\u2019\u201b", "'"))
    | str.maketrans(dict.fromkeys("\u201c\u201d\u201e", '"'))
    | str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
    | str.maketrans(dict.fromkeys("\u00ad\u200b\ufeff"))
)
"""Quotation marks, dashes, and what is not seen."""
_CASED_LETTERS: Final = 2
Span = tuple[int, int]


def plain(text: str) -> str:
    """One kind of space, quotation mark and dash; ligatures taken apart."""
    return " ".join(unicodedata.normalize("NFKC", text.translate(_ALIKE)).split())


def matches(text: str, forms: Iterable[Any]) -> Iterator[Span]:
    """Where in a plain text accepted forms stand; of a list, its first item."""
    for form in forms:
        yield from _spans(text, form)


def is_right(answer: str, forms: Iterable[Any]) -> bool:
    """Whether a shown answer is an accepted one."""
    text = plain(answer)
    return len(text.split()) <= MOST_WORDS and any(matches(text, forms))


def stands_in(text: str, span: Span, place: str) -> bool:
    """Whether what stands at `span` of the plain text, with the words before it or after it, stands in `place` too.

    A sentence of another section that holds the same number is not the right passage. One side is enough: a passage may
    be cut, and a table be laid out, in another way than the place.
    """
    before, match, after = words(text[: span[0]]), words(text[span[0] : span[1]]), words(text[span[1] :])
    place_words = f" {' '.join(words(place))} "
    left, right = [*before[-CONTEXT_WORDS:], *match], [*match, *after[:CONTEXT_WORDS]]
    return any(f" {' '.join(side)} " in place_words for side in (left, right) if side)


def words(text: str) -> list[str]:
    """Its words in lower case, without punctuation."""
    return re.findall(r"\w+", plain(text).lower())


def _spans(text: str, form: str | Mapping[str, Any]) -> Iterator[Span]:
    if isinstance(form, str):
        found = _whole_words(form, _is_cased(plain(form))).finditer(text)
    elif "cased" in form:
        found = _whole_words(form["cased"], True).finditer(text)
    elif "pattern" in form:
        found = re.finditer(form["pattern"], text, re.IGNORECASE)
    else:
        found = _items(text, form["all"] if "all" in form else form["of"], form.get("least"))
    return (match.span() for match in found)


def _items(text: str, items: Sequence[str], least: int | None) -> Iterator[re.Match[str]]:
    found = [match for item in items if (match := _whole_words(item, _is_cased(plain(item))).search(text))]
    return iter(found[:1] if len(found) >= (len(items) if least is None else least) else ())


def _is_cased(form: str) -> bool:
    return form[0] in "-%" or (len(form) <= _CASED_LETTERS and form.isalpha())


@lru_cache(maxsize=4096)
def _whole_words(form: str, cased: bool) -> re.Pattern[str]:
    form = plain(form)
    pattern = re.escape(form).replace(r"\ ", r"\s+")
    before, after = "", ""
    if form[0] == "-":
        before, after = r"(?<![\w-])", r"(?![\w-])"
    else:
        if form[0].isdigit():
            before = r"(?<![\w.,:/-])"  # 5 is neither in 2.4.5 nor in -5
        elif form[0].isalnum():
            before = r"(?<!\w)"
        if form[-1].isdigit():
            after = r"(?!\w|[.,:/-]\d)"
        elif form[-1].isalnum():
            after = r"(?!\w)"
    return re.compile(before + pattern + after, 0 if cased else re.IGNORECASE)
