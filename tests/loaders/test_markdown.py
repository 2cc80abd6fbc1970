from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.markdown import reader
from sparc_search.records import Document

One, Reject = Callable[..., Document], Callable[..., str]

PAGE = """---
title: "Alpine huts"
lang: en
tags:
  - nested
---
Before any heading.

# Huts

A *first* paragraph with [a link](https://example.org/very/long) and `code`,
on two lines.

## Opening

- in **summer**
- in winter

### Keys

> Ask the warden.

| hut | beds |
|-----|------|
| Old | 12   |

```
# not a heading
```

Setext
------

The end. ![a picture of a hut](hut.png)
"""


def test_headings_become_sections_and_markup_goes(one: One) -> None:
    document = one("markdown", PAGE.encode(), "huts.md")
    assert document.title == "Alpine huts"
    assert document.metadata == {"lang": "en", "tags": '["nested"]'}
    assert document.text == (
        "Before any heading.\n\nHuts\n\nA first paragraph with a link and code,\non two lines.\n\n"
        "Opening\n\nin summer\nin winter\n\nKeys\n\nAsk the warden.\n\nhut | beds\nOld | 12\n\n# not a heading\n\n"
        "Setext\n\nThe end. a picture of a hut"
    )
    found = [(document.text[s.start : s.start + s.skip], s.heading) for s in document.sections if not s.kind]
    assert found == [
        ("Huts", "Huts"),
        ("Opening", f"Huts{ARROW}Opening"),
        ("Keys", f"Huts{ARROW}Opening{ARROW}Keys"),
        ("Setext", f"Huts{ARROW}Setext"),
    ]


def test_the_only_top_heading_is_the_title(one: One) -> None:
    document = one("markdown", b"# Lakes\n\nDeep.\n\n## Fish\n\nMany.", "x.md")
    assert document.title == "Lakes"
    assert [section.heading for section in document.sections] == ["", "Fish"]


def test_two_top_headings_are_both_in_the_path_and_the_name_is_the_title(one: One) -> None:
    document = one("markdown", b"# A\n\na\n\n# B\n\nb", "folder/my_notes.md")
    assert document.title == "my notes"
    assert [section.heading for section in document.sections] == ["A", "B"]


def test_a_rule_at_the_top_is_no_front_matter(one: One) -> None:
    assert one("markdown", b"---\n\nText: here.\n").text == "Text: here."


def test_what_is_no_text_is_rejected(reject: Reject) -> None:
    assert "position 2" in reject("markdown", b"# \xff\x01")


def test_absurd_nesting_is_survived(one: One) -> None:
    assert one("markdown", b"> " * 40 + b"deep").text == "deep"
    assert one("markdown", b"> " * 5_000 + b"so deep").text == "so deep"
    assert one("markdown", b"- " * 5_000 + b"so deep").text == "so deep"
    assert one("markdown", b"[" * 1_000 + b"deep").text.endswith("deep")
    assert one("markdown", b"*a **b " * 500).text


@pytest.mark.parametrize("text", ["[", "![", "[x\n", "x<![CDATA["])
def test_what_only_looks_like_a_link_is_not_looked_at_again_for_each_bracket(one: One, text: str) -> None:
    """Counted, not timed: without the bound a character of these costs hundreds of calls."""
    long = text * (20_000 // len(text))
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        document = one("markdown", long.encode())
    finally:
        sys.setprofile(None)
    assert document.text == long.strip()
    assert calls < 80 * len(long)


def test_links_within_some_brackets_are_links(one: One) -> None:
    assert one("markdown", b"[[[a](b)]] and [![c](d)](e)").text == "[[a]] and c"


def test_no_level_of_a_list_is_lost_nor_what_follows_it(one: One) -> None:
    levels = "".join(f"{'  ' * level}- word{level}\n" for level in range(300))
    document = one("markdown", f"# Top\n\n{levels}- again\n\n## After\n\nThe end.\n".encode())
    assert document.text.split() == ["Top", *(f"word{level}" for level in range(300)), "again", "After", "The", "end."]
    assert [section.heading for section in document.sections if not section.kind] == ["", "After"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 130), st.sampled_from(["> ", "- ", "1. ", "  "])), max_size=30))
def test_every_word_stays_however_it_is_nested(shape: list[tuple[int, str]]) -> None:
    lines = [marker * depth + f"word{number}" for number, (depth, marker) in enumerate(shape)]
    (document,) = reader.read(io.BytesIO("\n".join(lines).encode()), "x.md", {})
    assert sorted(re.findall(r"word\d+", document.text)) == sorted(f"word{n}" for n in range(len(shape)))


def test_lists_in_front_matter_are_lists(one: One) -> None:
    page = (
        '---\nTags: [alps, \'two words\', "a, b"]  \nauthors:\n- Ada King\n- "Bob"\nempty:\nyear: 2024 # when\n'
        'quoted: "a # b"\nnested:\n  key: value\n---\nText.'
    )
    document = one("markdown", page.encode())
    assert document.text == "Year: 2024\n\nText."
    assert document.metadata == {
        "tags": '["alps", "two words", "a, b"]',
        "authors": '["Ada King", "Bob"]',
        "year": "2024",
        "quoted": "a # b",
    }


def test_toml_is_front_matter_too(one: One) -> None:
    front = 'title = "Huts"\ndate = 2024-03-12\ntags = ["alps", "huts"]\ndraft = false\n[params]\nbeds = 12\n'
    page = f"+++\n{front}+++\nText."
    document = one("markdown", page.encode())
    assert (document.title, document.text) == ("Huts", "Date: 2024-03-12\n\nText.")
    assert document.metadata == {
        "date": "2024-03-12",
        "tags": '["alps", "huts"]',
        "draft": "false",
        "params.beds": "12",
    }


def test_what_is_no_front_matter_is_text(one: One) -> None:
    for page in (
        "+++\nno toml\n+++\nText.",
        "+++\na = 1\nText.",
        "---\na: 1\nText.",
        "+++\na = " + "[" * 5000 + "\n+++\nText.",
    ):
        assert one("markdown", page.encode()).text.endswith("Text.")
        assert not one("markdown", page.encode()).metadata


def test_a_gap_in_front_matter_is_looked_at_once(one: One) -> None:
    page = b"---\na: b" + b" " * 1_000_000 + b"x\nc: d  # why\n---\nText."
    assert one("markdown", page).metadata == {"c": "d"}
