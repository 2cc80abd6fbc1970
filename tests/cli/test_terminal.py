"""Nothing from outside drives the terminal; results and the rest go their own ways."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparc_search.cli import terminal
from sparc_search.cli.terminal import sanitise

ANY_TEXT = st.text(st.characters())
DANGEROUS = "\x1b\x9b\x9d\x07\x08\x7f\x00\r\u202e\u2066\u200f\u2028\ufeff\U000e0041\ud800"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äöü 穹顶 😀", "plain äöü 穹顶 😀"),
        ("\x1b[31mred", "␛[31mred"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x9b2J", "<U+009B>2J"),
        ("del\x7f", "del␡"),
        ("abc\u202edef", "abc<U+202E>def"),
        ("a\nb\tc", "a␊b␉c"),
        ("\udcff", "<U+DCFF>"),
    ],
)
def test_what_drives_a_terminal_becomes_something_to_see(text: str, shown: str) -> None:
    assert sanitise(text) == shown


def test_lines_and_tabs_may_stay() -> None:
    assert sanitise("a\r\nb\tc\rd\x1b", lines=True) == "a\nb\tc␍d␛"


@given(ANY_TEXT)
@example(DANGEROUS)
def test_nothing_dangerous_is_left(text: str) -> None:
    shown = sanitise(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not any(unicodedata.bidirectional(c) in BIDI_CONTROLS for c in shown)
    assert sanitise(shown) == shown


BIDI_CONTROLS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert sanitise(text) == text


def test_square_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.stdout().print(terminal.styled("[bold]x[/bold] :smile: \x1b"))
    assert capsys.readouterr().out == "[bold]x[/bold] :smile: ␛\n"


def test_long_lines_stay_whole_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.stdout().print(terminal.styled("word " * 100))
    assert capsys.readouterr().out.count("\n") == 1


@given(st.recursive(ANY_TEXT | st.integers() | st.booleans() | st.none(), st.lists))
@example(DANGEROUS)
def test_json_is_lossless_and_safe(value: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        written: list[str] = []
        patch.setattr(sys, "stdout", type("Out", (), {"write": lambda self, text: written.append(text)})())
        terminal.result_json(value)
    text = "".join(written)
    assert json.loads(text) == value
    assert all(sanitise(line) == line for line in text.removesuffix("\n").split("\n"))


def test_json_of_records_and_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass(frozen=True, slots=True)
    class Record:
        path: Path
        score: np.float32
        rows: object

    record = Record(Path("a/b"), np.float32(0.5), (np.arange(2), frozenset({"y", "x"})))
    terminal.result_json([record], indent=None)
    assert capsys.readouterr().out == '[{"path": "a/b", "score": 0.5, "rows": [[0, 1], ["x", "y"]]}]\n'
    with pytest.raises(TypeError, match="no JSON for object"):
        terminal.result_json(object())
    with pytest.raises(ValueError, match="not JSON compliant"):
        terminal.result_json(float("nan"))


def test_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.note("read \x1b")
    terminal.result("an answer\nin two lines")
    assert capsys.readouterr() == ("an answer\nin two lines\n", "read ␛\n")


PROGRESS = """
from sparc_search.cli.terminal import progress, stderr, styled
with progress() as bar:
    task = bar.add_task("Reading", total=2)
    bar.advance(task, 2)
stderr().print(styled("done", "red"))
"""


def on_a_terminal(code: str, **variables: str) -> str:
    """What a program writes to stderr if that is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", **variables}
    child = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side has gone
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert child.wait() == 0
    return shown.decode()


def test_a_progress_bar_on_a_terminal() -> None:
    shown = on_a_terminal(PROGRESS)
    assert "Reading" in shown
    assert "\x1b[31mdone" in shown


def test_no_color_is_honoured() -> None:
    assert "\x1b[31m" not in on_a_terminal(PROGRESS, NO_COLOR="1")


def test_a_dumb_terminal_has_no_bar() -> None:
    assert "Reading" not in on_a_terminal(PROGRESS, TERM="dumb")


def test_no_progress_bar_in_a_pipe() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRESS], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "done\n")


def test_a_pipe_gets_no_padding(capsys: pytest.CaptureFixture[str]) -> None:
    table = terminal.bare_table("name", *terminal.numbers("count"))
    table.add_row("a longer name", "1")
    terminal.stdout().print(terminal.indented(table))
    terminal.stdout().print(terminal.indented(terminal.styled("word " * 40)))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert max(map(len, lines)) == 203


@pytest.mark.parametrize(("number", "said"), [(0, "0 passages"), (1, "1 passage"), (1357, "1,357 passages")])
def test_one_is_one(number: int, said: str) -> None:
    assert terminal.counted(number, "passage") == said
