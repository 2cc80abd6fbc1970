from __future__ import annotations

from pathlib import Path

import pytest
from letters import Letters

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.loaders.furniture import Furniture, is_furniture
from sparc_search.loaders.passages import cut
from sparc_search.records import Document, Section
from sparc_search.settings import Settings


def page(number: int) -> Document:
    own = f"Text of page {chr(97 + number)} that stands nowhere else. " * 10
    text = (
        f"Our Club\n\nHome of climbers\n\n{own}\n\nRead at most 5 pages.\n\n{own}\n\nCopyright 200{number} by the club"
    )
    return Document(f"d{number}", text)


def test_what_pages_share_at_their_edges_is_left_out_and_stays_in_the_text() -> None:
    pages = [page(number) for number in range(6)]
    marked, left_out = Furniture.of_sample(pages).marked(pages[0])
    assert left_out == ["Our Club", "Home of climbers", "Copyright 2000 by the club"]
    assert marked.text == pages[0].text
    passages = "\n".join(passage.text for passage in cut(marked, Letters(200)))
    assert "Club" not in passages
    assert "Copyright" not in passages
    assert "Read at most 5 pages." in passages


def test_few_pages_share_nothing() -> None:
    pages = [page(number) for number in range(3)]
    assert Furniture.of_sample(pages).marked(pages[0]) == (pages[0], [])


def test_a_document_that_is_furniture_alone_is_kept() -> None:
    same = [Document(f"d{number}", "The same note.") for number in range(9)]
    assert Furniture.of_sample(same).marked(same[0]) == (same[0], [])


@pytest.mark.parametrize(
    "text",
    ["Prev Next", "« Previous | Home | Next »", "Skip to main content", "This site uses cookies. Accept?",
     "1 Introduction ........ 3\n2 Method . . . . . . . 17", "Table of Contents"],
)  # fmt: skip
def test_furniture_by_its_words(text: str) -> None:
    assert is_furniture(text)


@pytest.mark.parametrize(
    "text", ["The next page is empty.", "Next to the hut.", "He ate the cookies.", "And then … 5", "Up to 12 people"]
)
def test_text_is_no_furniture(text: str) -> None:
    assert not is_furniture(text)


def test_an_ingest_tells_what_was_left_out_and_stats_too(tmp_path: Path, toy_encoder: Encoder) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for number in range(5):
        body = f"<nav>Home</nav><div>Our Club</div><p>{page(number).text.split(chr(10))[4]}</p><p>Next</p>"
        (pages / f"{number}.html").write_text(body)
    with Index.create(tmp_path / "index", settings=Settings(), encoder=toy_encoder) as index:
        dry = index.ingest(pages, dry_run=True)
        assert (dry.left_out, dry.left_out_words) == (15, 20)
        assert set(dry.first_left_out) == {"Our Club", "Next", "Home"}
        index.ingest(pages)
        assert index.stats()["left_out"] == {"blocks": 15, "words": 20}
        assert index.ingest(pages).unchanged == 5
        assert [answer.text for answer in index.ask("Home", unit="passage").answers if "Home" in answer.text] == []


def test_what_is_left_out_is_counted_once(tmp_path: Path, toy_encoder: Encoder) -> None:
    """However often a folder is read, and with what has been deleted since taken off."""
    pages = tmp_path / "pages"
    pages.mkdir()
    for number in range(3):
        (pages / f"{number}.txt").write_text(f"{page(number).text.split(chr(10))[4]}\n\nNext page")
    with Index.create(tmp_path / "index", settings=Settings(), encoder=toy_encoder) as index:
        index.ingest(pages)
        assert index.stats()["left_out"] == {"blocks": 3, "words": 6}
        (pages / "0.txt").write_text("It has changed.\n\nPrevious page\n\nNext page")
        assert index.ingest(pages).left_out_growth == {"blocks": 1, "words": 2}
        (pages / "1.txt").unlink()
        index.ingest(pages, sync=True)
        assert index.stats()["left_out"] == {"blocks": 3, "words": 6}
        index.ingest(pages, rebuild=True)
        assert index.stats()["left_out"] == {"blocks": 3, "words": 6}


def test_no_passage_reaches_across_furniture() -> None:
    sections = (Section(7, kind="furniture"), Section(13, kind="paragraph"))
    passages = cut(Document("d", "One.\n\n Menu\n\nTwo.", sections=sections), Letters(200))
    assert [passage.text for passage in passages] == ["One.", "Two."]
