from __future__ import annotations

import pytest

from sparc_search.errors import UsageError
from sparc_search.loaders.patterns import Filters, fits


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("*.md", "a.md", True),
        ("*.md", "deep/er/a.md", True),
        ("*.md", "a.mdx", False),
        ("notes/*.md", "notes/a.md", True),
        ("notes/*.md", "notes/deep/a.md", False),
        ("notes/**/*.md", "notes/a.md", True),
        ("notes/**/*.md", "notes/very/deep/a.md", True),
        ("notes/**", "notes/very/deep/a.md", True),
        ("node_modules/", "node_modules", True),
        ("/top.md", "top.md", True),
        ("?.txt", "a.txt", True),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("a+b(c).txt", "a+b(c).txt", True),
        ("[x", "[x", True),
        ("a\nb", "a\nb", True),
    ],
)
def test_fits(pattern: str, path: str, wanted: bool) -> None:
    assert fits(pattern, path) is wanted


def test_filters_say_why() -> None:
    filters = Filters(include=["*.md", "*.txt"], exclude=["draft*"])
    assert filters.why_not("a.md") == ""
    assert filters.why_not("deep/draft.md") == "left out by --exclude draft*"
    assert filters.why_not("a.pdf") == "not named by --include *.md *.txt"
    assert filters.why_not("deep", folder=True) == ""
    assert filters.why_not("drafts", folder=True) == "left out by --exclude draft*"


def test_a_bad_pattern_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="bad pattern"):
        fits("[z-a]", "x")
