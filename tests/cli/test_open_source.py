"""Which command opens the source of an answer, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparc_search.cli.open_source import command_for, text_fragment
from sparc_search.errors import SparcSearchError
from sparc_search.records import Answer, Passage

TEXT = "The lease was signed, at last, in May-June."


def answer(source: object, page: int | None = None) -> Answer:
    passage = Passage("p", "d", 0, TEXT, source=str(source), page=page)
    return Answer("signed, at last", 1.0, passage, 14, 29, (), ())


def program(folder: Path, name: str) -> None:
    (folder / name).touch(mode=0o755)


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        ("nano", ["nano", "+2", "{path}"]),
        ("emacsclient -nw", ["emacsclient", "-nw", "+2", "{path}"]),
        ("/usr/bin/code --wait", ["/usr/bin/code", "--wait", "--goto", "{path}:2"]),
    ],
)
def test_text_opens_in_the_editor_at_its_line(tmp_path: Path, editor: str, expected: list[str]) -> None:
    path = tmp_path / "lease.md"
    path.write_text(f"# Lease\n{TEXT}\n")
    assert command_for(answer(path), {"EDITOR": editor}) == [word.format(path=path) for word in expected]
    assert command_for(answer(path), {"EDITOR": "nano", "VISUAL": "vi"})[0] == "vi"


@pytest.mark.parametrize("encoding", ["utf-16", "windows-1252", "no such encoding"])
def test_text_in_another_encoding_opens_at_its_line(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "lease.txt"
    text = "The café of Zoë, on the ground floor, opens at nine."
    path.write_bytes(f"Lease\n{text}\n".encode(encoding.replace("no such encoding", "utf-8")))
    passage = Passage("p", "d", 0, text, source=str(path), metadata={"encoding": encoding})
    found = Answer(text, 1.0, passage, 0, len(text), (), ())
    assert command_for(found, {"EDITOR": "nano"}) == ["nano", "+2", str(path)]


def test_a_pdf_opens_at_its_page(tmp_path: Path, bin: Path) -> None:
    path = tmp_path / "lease.pdf"
    path.write_bytes(b"%PDF-1.4")
    environ = {"PATH": str(bin), "BROWSER": "firefox"}
    assert command_for(answer(path, 7), environ) == ["firefox", f"{path.as_uri()}#page=7"]
    program(bin, "okular")
    assert command_for(answer(path, 7), environ) == ["okular", "--page", "7", str(path)]


def test_html_opens_at_its_words(tmp_path: Path) -> None:
    path = tmp_path / "lease.html"
    path.write_text(f"<p>{TEXT}")
    command = command_for(answer(path), {"BROWSER": "firefox"})
    assert command == ["firefox", f"{path.as_uri()}#:~:text=signed%2C%20at%20last"]
    assert command_for(answer("https://example.org/a"), {"BROWSER": "firefox"})[1].startswith(
        "https://example.org/a#:~"
    )
    assert text_fragment("May-June\n 1") == "#:~:text=May%2DJune%201"


def test_what_cannot_be_opened_is_said(tmp_path: Path, bin: Path) -> None:
    with pytest.raises(SparcSearchError, match="no file to open"):
        command_for(answer(tmp_path / "gone.md"), {})
    with pytest.raises(SparcSearchError, match="no file to open"):
        command_for(answer("javascript:alert(1)"), {"BROWSER": "firefox"})
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "a.html").write_text(TEXT)
    with pytest.raises(SparcSearchError, match="no editor"):
        command_for(answer(tmp_path / "a.txt"), {"PATH": str(bin)})
    with pytest.raises(SparcSearchError, match="no browser"):
        command_for(answer(tmp_path / "a.html"), {"PATH": str(bin)})
