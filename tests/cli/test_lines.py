"""Lines of results: wrapped and in colour on a terminal, as they are in a pipe."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from sparc_search.cli.lines import Part, part, print_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(*parts: Part, indent: int = 0) -> str:
    with redirect_stdout(Terminal()) as terminal:
        print_line(*parts, indent=indent)
    return terminal.getvalue()


@pytest.fixture(autouse=True)
def forty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")


LONG = "one two three four five six seven eight nine ten eleven"


def test_a_pipe_gets_the_line_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(part(LONG, "bold green"), part("\x1b[2J"), indent=4)
    print_line()
    assert capsys.readouterr().out == f"    {LONG}␛[2J\n\n"


def test_colours_can_be_forced(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_line(part("x", "bold green"))
    assert capsys.readouterr().out == "\x1b[1;32mx\x1b[0m\n"


def test_a_terminal_gets_words_and_styles() -> None:
    parts = (part("one two three four five six seven "), part("eight", "bold reverse"), part(" nine"))
    assert on_a_terminal(*parts, indent=4) == "    one two three four five six seven \n    \x1b[1;7meight\x1b[0m nine\n"


def test_without_colour_bold_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert on_a_terminal(part("x", "bold green"), part("y", "cyan")) == "\x1b[1mx\x1b[0my\n"


def test_a_dumb_terminal_gets_no_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert on_a_terminal(part("x", "bold")) == "x\n"


def test_wide_characters_take_two_columns() -> None:
    assert [len(line) for line in on_a_terminal(part(" ".join(["漢字"] * 9))).splitlines()] == [23, 2]


def test_a_word_longer_than_the_line_is_left_to_the_terminal() -> None:
    assert on_a_terminal(part("a " + "b" * 60 + " c")) == "a\n" + "b" * 60 + "\nc\n"
