"""The line of an answer: found among the same words, whatever stands between them in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparc_search import source_lines
from sparc_search.records import Passage
from sparc_search.source_lines import line_of

TEXT = "The Eiger was first climbed in 1858 by Charles Barrington, who came from Bray, in Ireland."


def line(tmp_path: Path, content: str, *, text: str = TEXT, phrase: str = "1858", name: str = "a.md") -> int | None:
    """The line of a phrase of a passage in a file of this content."""
    (tmp_path / name).write_text(content)
    passage = Passage(id="p", document_id="d", number=0, text=text, source=str(tmp_path / name))
    at = text.index(phrase)
    return line_of(passage, at, at + len(phrase))


def test_words_as_they_stand_need_no_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(source_lines, "_find")
    assert line(tmp_path, f"# Alps\n\n{TEXT}\n") == 3
    assert line(tmp_path, f"# Alps\n\nOther words. {TEXT}\n", phrase="Bray") == 3
    assert line(tmp_path, f"a\n\n{TEXT}", phrase="Eiger") == 3
    assert line(tmp_path, f"a\n\n{TEXT}", phrase="Ireland.") == 3


def test_the_line_is_that_of_the_phrase_and_not_of_the_words_before(tmp_path: Path) -> None:
    broken = TEXT.replace("in 1858", "in\n1858")
    assert line(tmp_path, f"# Alps\n\n{broken}\n") == 4
    assert line(tmp_path, f"# Alps\n\n{broken}\n", text=broken) == 4


@pytest.mark.parametrize("written", ["**1858**", "<b>1858</b>", "[1858]"])
def test_marks_between_the_words(tmp_path: Path, written: str) -> None:
    assert line(tmp_path, f"# Alps\n\n{TEXT.replace('1858', written)}\n") == 3


def test_parts_of_other_words_are_not_meant(tmp_path: Path) -> None:
    assert line(tmp_path, "# x1858\n\n1858y\n\nin 1858\n", text="1858") == 5
    assert line(tmp_path, "# x1858\n", text="1858") is None


LATEX = r"""\newcommand{\summit}{Eiger}
\newcommand{\by}[1]{by #1, who came from}

Nobody had been up there before.
The \summit{} was first climbed in \emph{1858}
\by{Charles Barrington} Bray,
in Ireland.
"""


@pytest.mark.parametrize(("phrase", "number"), [("Eiger", 5), ("1858", 5), ("Charles Barrington", 6), ("Bray", 6)])
def test_words_that_a_macro_writes_stand_beside_those_that_are_there(tmp_path: Path, phrase: str, number: int) -> None:
    assert line(tmp_path, LATEX, phrase=phrase, name="a.tex") == number


def test_the_same_words_elsewhere_are_not_taken_for_what_a_macro_wrote(tmp_path: Path) -> None:
    others = "Other words, and nothing of it. " * 8
    assert line(tmp_path, f"1858 was a year. {others}\n\n{TEXT.replace('in 1858 by', '<y> by')}\n") == 3
    twice = f"Some words.\n\n{TEXT.replace('Eiger', '<e>')}\n\n{TEXT.replace('Eiger', '<e>')}\n"
    assert line(tmp_path, twice, phrase="Eiger") is None


def test_letters_may_be_written_by_their_names(tmp_path: Path) -> None:
    text = TEXT.replace("Charles Barrington", "Émile Rëy")
    assert line(tmp_path, f"x\n\n{text.replace('Émile Rëy', '&Eacute;mile R&euml;y')}", text=text, phrase="Rëy") == 3
