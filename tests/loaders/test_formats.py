from __future__ import annotations

import json
from pathlib import Path

import pytest

from sparc_search.errors import PluginError
from sparc_search.loaders.formats import Formats, by_content


def head() -> bytes:
    raise AssertionError("not needed for this name")


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("a.txt", "text"),
        ("A.MD", "markdown"),
        ("a.htm", "html"),
        ("a.pdf", "pdf"),
        ("a.docx", "docx"),
        ("a.jsonl", "jsonl"),
        ("a.jsonl.gz", "jsonl"),
        ("a.tsv.gz", "csv"),
        ("a.parquet", "parquet"),
        ("a.rst", "rst"),
        ("a.TEX", "tex"),
        ("a.rtf", "rtf"),
        ("a.py", "code"),
        ("a.tsx", "code"),
        ("dump.xml.bz2", "wikipedia"),
    ],
)
def test_the_ending_decides(name: str, reader: str) -> None:
    assert Formats().choose(name, head) == reader
    assert Formats().knows(name)


@pytest.mark.parametrize(
    ("content", "reader"),
    [
        (b'{"version": "1.1", "data": []}', "json"),
        (b'{"data": [', "json"),
        (b'[{"text": "x"}]', "json"),
        (b'{"name": "x"}', "json"),
        (b'{"id": 1, "contents": "x"}\n{"id": 2}', "jsonl"),
        (b'\xef\xbb\xbf\n {"text": "x"}\n', "jsonl"),
        (json.dumps({"data": []}, indent=1).encode(), "json"),
    ],
)
def test_json_is_looked_into(content: bytes, reader: str) -> None:
    assert Formats().choose("a.json", lambda: content) == reader
    assert by_content(content) == reader


@pytest.mark.parametrize(
    ("content", "reader"),
    [
        (b"%PDF-1.4", "pdf"),
        (b"PK\x03\x04", "docx"),
        (b"PAR1", "parquet"),
        (b"{\\rtf1 x}", "rtf"),
        (b"\n<!DOCTYPE html><p>", "html"),
        (b"<mediawiki xmlns", "wikipedia"),
        (b"id\ttext\ttitle\n", "csv"),
        (b"Just words.", "text"),
        (b"", "text"),
    ],
)
def test_standard_input_is_told_by_its_beginning(content: bytes, reader: str) -> None:
    assert by_content(content) == reader


def test_unknown_endings_and_formats() -> None:
    assert not Formats().knows("a.exe")
    assert Formats("text").knows("a.exe")
    assert Formats("text").choose("a.pdf", head) == "text"
    with pytest.raises(PluginError, match="markdwon"):
        Formats("markdwon")


def test_a_broken_plugin_does_not_keep_the_others_from_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    info = tmp_path / "broken_reader-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-reader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sparc_search.readers]\nbroken = no_such_module:reader\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert Formats().knows("a.txt")
    assert "no_such_module" in caplog.text
