from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from letters import Letters
from written_pdf import pdf

from sparc_search.loaders.limits import ChildLimits
from sparc_search.loaders.passages import cut
from sparc_search.loaders.pdf_places import Word, Words
from sparc_search.loaders.pdf_tables import tables
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document

One, Reject, ReadFiles = Callable[..., Document], Callable[..., str], Callable[..., list[Document | Passed]]


def test_pages_are_kept_and_broken_words_mended(one: One) -> None:
    document = one("pdf", pdf(["The Matter-", "horn is high."], ["Second page."], info="/Title(Alps)/Author(Me)"))
    assert document.title == "Alps"
    assert document.metadata == {"author": "Me"}
    assert document.text == "The Matterhorn is high.\n\nSecond page."
    assert [(section.start, section.page) for section in document.sections] == [(0, 1), (25, 2)]


def test_an_empty_page_has_its_number(one: One) -> None:
    document = one("pdf", pdf(["One."], [], ["Three."]), "folder/my_file.pdf")
    assert document.title == "my file"
    assert document.text[document.sections[2].start :] == "Three."
    assert document.sections[2].page == 3


def test_a_scan_is_rejected_with_advice(reject: Reject) -> None:
    assert "1 pages without text" in reject("pdf", pdf([]))


def test_a_damaged_file_is_rejected(reject: Reject) -> None:
    assert "PDF" in reject("pdf", pdf(["One."])[:100])
    assert reject("pdf", b"no pdf at all")
    assert reject("pdf", b"")


def test_hostile_files_are_one_reject_each_and_the_next_is_read(read_files: ReadFiles, tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(1 << 30), 1)
    stream = b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(bomb), bomb)
    loop = pdf(["One."]).replace(b"/Kids[4 0 R]", b"/Kids[2 0 R]")
    (tmp_path / "a-bomb.pdf").write_bytes(pdf([], more=[stream]).replace(b"/Contents 5 0 R", b"/Contents 7 0 R"))
    (tmp_path / "b-loop.pdf").write_bytes(loop)
    (tmp_path / "c-good.pdf").write_bytes(pdf(["Good."]))
    found = read_files(tmp_path, limits=ChildLimits(memory_bytes=1 << 30, seconds=30))
    assert [type(item) for item in found] == [Passed, Passed, Document]
    assert all(item.kind == "rejected" and item.reason for item in found if isinstance(item, Passed))


def page(number: int) -> bytes:
    """A page with a running head, a heading in large letters, two paragraphs and a list, as a stream of a PDF."""
    lines = [
        (10, 750, f"Manual of Huts                {number}"),
        (16, 700, f"Chapter {['one', 'two', 'three', 'four'][number - 1]}"),
        (10, 670, "The hut is open in sum-"),
        (10, 658, "mer and in winter."),
        (10, 646, "It has 12 beds."),
        (10, 620, "A second paragraph."),
        (10, 600, "- bread"),
        (10, 588, f"- cheese of {chr(96 + number)}"),
        (8, 40, "Alpine Club"),
    ]
    return " ".join(f"BT /F {size} Tf 50 {y} Td ({text}) Tj ET" for size, y, text in lines).encode()


def test_headings_by_size_paragraphs_by_gaps_and_running_heads(one: One) -> None:
    document = one("pdf", pdf(*map(page, range(1, 5))))
    headings = [section.heading for section in document.sections if section.heading]
    assert headings[:3] == ["Chapter one", "Chapter one", "Chapter two"]  # the second: page 2 begins under it
    first = cut(document, Letters(400))[0]
    assert first.text == (
        "The hut is open in summer and in winter.\nIt has 12 beds.\n\nA second paragraph.\n\n- bread\n- cheese of a"
    )
    assert first.page == 1
    assert not any("Alpine" in passage.text or "Manual" in passage.text for passage in cut(document, Letters(400)))


def placed(*texts: tuple[float, float, str]) -> bytes:
    """A page with each text at its own place."""
    shown = " ".join(f"1 0 0 1 {left} {bottom} Tm ({text}) Tj" for left, bottom, text in texts)
    return f"BT /F 12 Tf {shown} ET".encode()


def grid(*rows: Sequence[str], columns: Sequence[float], top: float = 600) -> list[tuple[float, float, str]]:
    cells = ((columns[at], top - 14 * number, cell) for number, row in enumerate(rows) for at, cell in enumerate(row))
    return [cell for cell in cells if cell[2]]


def kinds(document: Document) -> list[str]:
    return [section.kind for section in document.sections if section.kind not in ("", "cell")]


def test_words_that_begin_at_the_same_places_are_a_table(one: One) -> None:
    rows = [
        ("Hut", "Beds", "Open"),
        ("Old hut", "12", "June"),
        ("New", "3", "all the"),
        ("", "", "year"),
        ("Top", "7", "May"),
    ]
    before = [(50, 620, "These are the huts of the club:")]
    after = [(50, 500, "All of them are open to members, who have a key."), (50, 486, "Guests must ask the warden.")]
    document = one("pdf", pdf(placed(*before, *grid(*rows, columns=(50, 160, 250)), *after)))
    assert document.text == (
        "These are the huts of the club:\n\nHut | Beds | Open\nOld hut | 12 | June\nNew | 3 | all the year\n"
        "Top | 7 | May\n\n"
        "All of them are open to members, who have a key.\nGuests must ask the warden."
    )
    assert kinds(document) == ["head", "row", "row", "row", "paragraph"]


def test_columns_whose_lines_the_file_has_mixed_are_read_one_after_the_other(one: One) -> None:
    left = [f"the left column has its line number {number}" for number in range(10)]
    right = [f"and on the right it is line number {number}" for number in range(10)]
    mixed = pdf(placed(*grid(*zip(left, right, strict=True), columns=(50, 320))))
    assert one("pdf", mixed).text == "\n".join(left) + "\n\n" + "\n".join(right)
    kept = grid(*zip(left, strict=True), columns=(50,)) + grid(*zip(right, strict=True), columns=(320,))
    assert one("pdf", pdf(placed(*kept))).text == "\n".join(left) + "\n\n" + "\n".join(right)


def test_items_contents_and_prose_are_no_tables(one: One) -> None:
    items = grid(*(("1.", f"item of a list {number}") for number in range(4)), columns=(50, 80))
    contents = grid(*((f"Chapter {number} . . . . . . . .", str(number)) for number in range(4)), columns=(50, 250))
    prose = [(50, 600 - 14 * number, "wide  " * number + "and other words of a line") for number in range(6)]
    for page in (items, contents, prose):
        assert "row" not in kinds(one("pdf", pdf(placed(*page))))


def cells(*rows: Sequence[Sequence[str]], columns: Sequence[float], top: float = 600) -> list[tuple[float, float, str]]:
    """Rows of cells of several lines, one cell after the other, as most programs write them."""
    placed_lines = []
    for row in rows:
        for left, cell in zip(columns, row, strict=True):
            placed_lines += [(left, top - 14 * number, line) for number, line in enumerate(cell)]
        top -= 14 * max(map(len, row))
    return placed_lines


def test_the_lines_of_a_cell_are_one_cell_of_one_row(one: One) -> None:
    rows = [
        (["Hut"], ["Open"], ["Beds"]),
        (["The old hut", "in the valley"], ["June to", "the end of", "August"], ["12"]),
        (["New"], ["all the", "year"], ["3"]),
        (["Top of", "the Eiger"], ["May"], ["7 and", "a stove"]),
    ]
    before = [(50, 640, "These are the huts of the club:")]
    after = [(50, 420, "All of them are open to members, who have a key.")]
    document = one("pdf", pdf(placed(*before, *cells(*rows, columns=(50, 160, 250)), *after)))
    assert document.text == (
        "These are the huts of the club:\n\nHut | Open | Beds\n"
        "The old hut in the valley | June to the end of August | 12\nNew | all the year | 3\n"
        "Top of the Eiger | May | 7 and a stove\n\nAll of them are open to members, who have a key."
    )
    assert kinds(document) == ["head", "row", "row", "row", "paragraph"]


def test_cells_may_have_their_middle_at_one_height(one: One) -> None:
    texts = []
    for number, name in enumerate(("RAID0", "RAID1", "RAID5")):
        middle = 600 - 50 * number
        texts += [(50, middle, name), (120 - 2 * number, middle, str(number + 2))]
        texts += [(200, middle + 14 - 14 * line, f"line {line} of {name}") for line in range(3)]
    text = one("pdf", pdf(placed(*texts))).text
    assert text.splitlines()[0] == "RAID0 | 2 | line 0 of RAID0 line 1 of RAID0 line 2 of RAID0"
    assert len(text.splitlines()) == 3


def at_heights(lines: Sequence[Sequence[str]], tops: Sequence[float]) -> list[tuple[float, float, str]]:
    """Lines of two cells, each line at its own height."""
    return [
        (left, top, text)
        for top, line in zip(tops, lines, strict=True)
        for left, text in zip((50, 200), line, strict=True)
        if text
    ]


def test_lines_of_cells_that_the_file_has_mixed_go_by_their_distance(one: One) -> None:
    lines = [("Hut", "Open"), ("Old hut", "June and"), ("in the valley", ""), ("New hut", "May, and"), ("", "June")]
    tops = (600, 580, 568, 548, 536)
    document = one("pdf", pdf(placed(*at_heights(lines, tops))))
    assert document.text == "Hut | Open\nOld hut in the valley | June and\nNew hut | May, and June"


def test_rows_in_groups_stay_rows() -> None:
    lines = [("Hut", "Beds"), ("Old", "12"), ("New", "3"), ("Top", "7"), ("Low", "9")]
    tops = (600, 586, 572, 553, 539)
    page = [
        Words(tuple(Word(text, left, left + 30) for left, text in zip((50, 200), line, strict=True)), 12, top)
        for top, line in zip(tops, lines, strict=True)
    ]
    (found,) = tables(page, lambda number: True)
    assert found.rows == [list(line) for line in lines]


def test_short_columns_of_text_are_no_row_of_a_table(one: One) -> None:
    left, right = ["the left column", "has three lines", "and no more"], ["on the right", "there are two"]
    texts = [*cells((left, right), columns=(50, 200)), (50, 500, "Then the text goes on over the page.")]
    assert "row" not in kinds(one("pdf", pdf(placed(*texts))))
