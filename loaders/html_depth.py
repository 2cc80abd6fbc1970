"""How deep the elements of a page stand within each other: bounded, because the parser's time is not.

For each block that begins, HTML's rules go through the elements that are open, so a page of nothing but `<div>` takes a
parser a time that grows with the square of its length. Elements deeper than in any page of text (browsers have a bound
as well) are written as others that do not nest: a block as a paragraph, anything else as nothing. Their text stays.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

DEEPEST: Final = 500

_TAGS: Final = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)\b.*?(?:</(?P=raw)|\Z)"
    r"|</?(?P<name>[a-z][^\s/>]*)",
    re.IGNORECASE | re.DOTALL,
)
"""Comments, elements whose content is no markup, and the beginnings of all other tags."""

_DO_NOT_NEST: Final = frozenset((
    "a", "area", "base", "body", "br", "button", "caption", "col", "colgroup", "dd", "dt", "embed", "form", "head",
    "hr", "html", "img", "input", "li", "link", "meta", "nobr", "optgroup", "option", "p", "param", "rp", "rt",
    "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
))  # fmt: skip
"""Elements that are empty, or end where the next of their kind begins."""

_BLOCKS: Final = frozenset((
    "address", "article", "aside", "blockquote", "center", "details", "dialog", "dir", "div", "dl", "fieldset",
    "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "main", "menu", "nav",
    "ol", "pre", "search", "section", "summary", "table", "ul",
))  # fmt: skip


def flattened(page: str, deepest: int = DEEPEST) -> str:
    """The page with nothing deeper than that; mostly the page itself."""
    if page.count("<") <= deepest:
        return page
    open_elements = _Open(deepest)
    return _TAGS.sub(open_elements.written, page)


class _Open:
    """The elements that are open, as far as a parser's rules about their nesting matter here."""

    def __init__(self, deepest: int) -> None:
        self._deepest = deepest
        self._names: list[str] = []
        self._counts: Counter[str] = Counter()
        self._too_deep: Counter[str] = Counter()  # elements that were not opened, so that their ends close nothing

    def written(self, tag: re.Match[str]) -> str:
        """The beginning of a tag as it is to be."""
        found, name = tag[0], (tag["name"] or "").lower()
        if not name or name in _DO_NOT_NEST:
            return found
        if not found.startswith("</"):
            return self._begin(name, found)
        if self._too_deep[name]:
            self._too_deep[name] -= 1
            return "</p" if name in _BLOCKS else "<wbr"
        self._close(name)
        return found

    def _begin(self, name: str, found: str) -> str:
        if len(self._names) < self._deepest:
            self._names.append(name)
            self._counts[name] += 1
            return found
        self._too_deep[name] += 1
        return "<p" if name in _BLOCKS else "<wbr"

    def _close(self, name: str) -> None:
        """With an element end all that were opened in it."""
        while self._counts[name]:
            last = self._names.pop()
            self._counts[last] -= 1
            if last == name:
                return
