"""Structure stays structure: from the reader of a format to passages and the borders in them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from letters import Letters

from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.passages import cut
from sparc_search.records import Document, Passage

One = Callable[..., Document]

OPTIONS = """<h1>tool</h1><h2>Options</h2><dl>
<dt>-f</dt><dt>--force</dt><dd><p>Overwrite files that exist, even those that somebody else has written.</p></dd>
<dt>--depth</dt><dd><p>How far to go down into the folders below.</p><p>The default is 5.</p>
<ul><li>0 is no limit at all<li>1 is this folder</ul></dd>
</dl><p>See also the other tool.</p>"""


def parts(passage: Passage) -> list[str]:
    """What no answer leaves."""
    edges = [0, *passage.joints, len(passage.text)]
    return [passage.text[start:end].strip() for start, end in pairwise(edges)]


def test_a_term_stays_with_its_definition_and_no_answer_crosses_from_one_to_the_other(one: One) -> None:
    first, *others = cut(one("html", OPTIONS.encode(), "tool.html"), Letters(60))
    assert parts(first)[:2] == ["-f", "--force"]
    assert parts(first)[2].startswith("Overwrite")
    assert len(parts(first)) == 3
    assert first.title == f"tool{ARROW}Options"
    assert parts(others[0])[:2] == ["--depth", "How far to go down into the folders below."]


def test_what_is_cut_off_from_its_term_has_it_in_its_title(one: One) -> None:
    long = (
        "<dl><dt>--depth</dt><dd>" + "<p>How far to go down into the folders that are below it.</p>" * 4 + "</dd></dl>"
    )
    passages = cut(one("html", long.encode(), "tool.html"), Letters(30))
    assert parts(passages[0])[0] == "--depth"
    assert [passage.title for passage in passages] == ["tool", *[f"tool{ARROW}--depth"] * (len(passages) - 1)]


def test_the_list_behind_a_definition_is_no_part_of_it(one: One) -> None:
    last = cut(one("html", OPTIONS.encode(), "tool.html"), Letters(60))[-1]
    assert parts(last)[-1] == "See also the other tool."


MARKDOWN = """# Plants

The colours are:

- red
- green
  - light green
  - dark green

```
sow --deep

water
```

| plant | height | price |
|-------|--------|-------|
| rose  | 2 m    | 12 €  |
| ivy   |        | 7 €   |

Term
: its definition

The end of it.
"""


def test_items_cells_and_code_of_markdown(one: One) -> None:
    (passage,) = cut(one("markdown", MARKDOWN.encode(), "plants.md"), Letters(400))
    assert parts(passage) == [
        "The colours are:", "red", "green", "light green", "dark green", "sow --deep\n\nwater",
        "plant |", "height |", "price", "rose |", "2 m |", "12 €", "ivy |  |", "7 €", "Term", "its definition",
        "The end of it.",
    ]  # fmt: skip


def test_a_long_list_is_cut_between_items_and_stands_under_the_line_before_it(one: One) -> None:
    items = "\n".join(f"- number {word} of the list of things to see" for word in ("one", "two", "three", "four") * 3)
    passages = cut(one("markdown", f"# Town\n\nThings to see:\n\n{items}".encode(), "town.md"), Letters(60))
    assert len(passages) > 3
    assert parts(passages[0])[:2] == ["Things to see:", "number one of the list of things to see"]
    assert all(passage.text.endswith("things to see") for passage in passages)
    assert [passage.title for passage in passages[1:]] == [f"Town{ARROW}Things to see"] * (len(passages) - 1)


def test_spans_of_cells_are_laid_out(one: One) -> None:
    table = """<table><caption>Rents</caption><thead><tr><th rowspan=2>what<th colspan=2>2025<tr><th>monthly<th>yearly
    </thead><tr><td rowspan=2>Flat<td>900<td>10,800<tr><td colspan=2>on request</table>"""
    assert one("html", table.encode(), "rents.html").text == (
        "Rents\nwhat | 2025 | 2025\nwhat | monthly | yearly\nFlat | 900 | 10,800\nFlat | on request"
    )


def test_a_table_that_arranges_the_page_is_no_table(one: One) -> None:
    page = "<table><tr><td><h1>Menu</h1><td><p>First text.</p><p>Second text.</p></table>"
    document = one("html", page.encode(), "x.html")
    assert document.text == "Menu\n\nFirst text.\n\nSecond text."
    assert not any(section.kind in ("row", "cell") for section in document.sections)


def test_absurd_spans_are_survived(one: One) -> None:
    page = "<table><tr>" + "<td colspan=9999 rowspan=9999>x" * 50 + "<tr><td>y</table>"
    assert "x" in one("html", page.encode(), "x.html").text


def test_code_keeps_its_lines(one: One) -> None:
    document = one("html", b"<p>Do:</p><pre>\n  if x:\n\n    go()\n</pre><p>Done.</p>", "x.html")
    assert document.text == "Do:\n\n  if x:\n\n    go()\n\nDone."
    (passage,) = cut(document, Letters(100))
    assert parts(passage) == ["Do:", "if x:\n\n    go()", "Done."]


@pytest.mark.parametrize(
    ("name", "source", "line"),
    [
        ("markdown", "# Notes\n\n## Meeting of 12 March 2024\n\nAda was there.", "Meeting of 12 March 2024"),
        ("markdown", "---\ndate: 2024-03-12\nlang: en\n---\nAda was there.", "Date: 2024-03-12"),
        ("html", '<meta name="date" content="2024-03-12"><p>Ada was there.', "Date: 2024-03-12"),
    ],
)
def test_a_date_that_stands_in_a_heading_alone_is_text_too(one: One, name: str, source: str, line: str) -> None:
    (passage,) = cut(one(name, source.encode(), "x"), Letters(100))
    assert parts(passage) == [line, "Ada was there."]


def test_a_date_that_the_text_names_is_not_said_twice(one: One) -> None:
    source = "# Notes\n\n## Meeting of 12 March 2024\n\nAda was there on 12 March 2024."
    (passage,) = cut(one("markdown", source.encode(), "x"), Letters(100))
    assert passage.text == "Ada was there on 12 March 2024."


RENTS = """| | monthly | yearly |
|---|---|---|
| Rent 2025 | 2,100 € | 25,200 € |
| Rent 2026 | | 26,400 € |
"""


def test_the_model_reads_rows_in_words_and_the_cell_is_shown(one: One) -> None:
    first, second = cut(one("markdown", RENTS.encode(), "rents.md"), Letters(400))
    assert first.encoded_text == "monthly, yearly\nRent 2025, monthly: 2,100 €; Rent 2025, yearly: 25,200 €"
    assert first.text == "monthly | yearly\nRent 2025 | 2,100 € | 25,200 €"
    assert (second.encoded_text, second.text) == ("Rent 2026, yearly: 26,400 €", "Rent 2026 |  | 26,400 €")
    assert {border.kind for border in (*first.borders, *second.borders)} == {"cell"}


def test_names_and_values_without_a_head(one: One) -> None:
    page = "<table><tr><th>Syntax:<td>Listen [address:]port<tr><th>Status<td>core</table>"
    (passage,) = cut(one("html", page.encode(), "x.html"), Letters(400))
    assert passage.encoded_text == "Syntax: Listen [address:]port\nStatus: core"


def test_a_table_that_is_cut_has_the_names_of_its_columns_in_every_row(one: One) -> None:
    rows = "".join(f"| hut {number} | {number * 3} |\n" for number in range(20))
    passages = cut(one("markdown", f"| name | beds |\n|--|--|\n{rows}".encode(), "huts.md"), Letters(40))
    assert len(passages) > 3
    for passage in passages:
        assert passage.encoded_text
        assert passage.encoded_text.count("beds: ") == passage.encoded_text.count("name: hut") > 0


def test_a_row_wider_than_the_window_is_cut_between_cells_and_named_again(one: One) -> None:
    columns = [f"column {number}" for number in range(30)]
    table = f"| |{'|'.join(columns)}|\n|{'--|' * 31}\n|Oslo|{'|'.join('value' for _ in columns)}|\n"
    passages = cut(one("markdown", table.encode(), "x.md"), Letters(40))
    rows = [passage for passage in passages if "value" in passage.text]
    assert len(rows) > 2
    assert all((passage.encoded_text or "").startswith("Oslo, column") for passage in rows)


def test_two_tables_do_not_share_a_head(one: One) -> None:
    page = "<table><tr><th>a<th>b<tr><td>1<td>2</table><table><tr><td>x<td>y</table>"
    (passage,) = cut(one("html", page.encode(), "x.html"), Letters(400))
    assert (passage.encoded_text or "").endswith("\nx: y")
