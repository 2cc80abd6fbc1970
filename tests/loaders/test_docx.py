from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import pytest

from sparc_search.loaders.builder import ARROW
from sparc_search.loaders.walk import Passed
from sparc_search.records import Document

One, Reject, ReadFiles = Callable[..., Document], Callable[..., str], Callable[..., list[Document | Passed]]


@pytest.fixture
def word() -> bytes:
    file = docx.Document()
    file.core_properties.author = "Me"
    file.add_heading("Alpine huts", 0)
    file.add_paragraph("A first paragraph.")
    file.add_heading("Opening", 1)
    file.add_paragraph("in summer", style="List Bullet")
    file.add_heading("Beds", 2)
    table = file.add_table(rows=2, cols=2)
    for row, texts in zip(table.rows, (("hut", "beds"), ("Old", "12")), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    table.rows[0].cells[0].merge(table.rows[0].cells[1])
    return saved(file)


def saved(file: object) -> bytes:
    stream = io.BytesIO()
    file.save(stream)  # type: ignore[attr-defined]
    return stream.getvalue()


def repacked(data: bytes, name: str, content: bytes) -> bytes:
    """The archive with one member changed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            new.writestr(member, content if member == name else old.read(member))
    return stream.getvalue()


def test_headings_become_sections_and_tables_lines(one: One, word: bytes) -> None:
    document = one("docx", word, "huts.docx")
    assert document.title == "Alpine huts"
    assert document.metadata == {"author": "Me"}
    assert document.text == ("Alpine huts\n\nA first paragraph.\n\nOpening\n\nin summer\n\nBeds\n\nhut beds\nOld | 12")
    headings = [section.heading for section in document.sections if not section.kind]
    assert headings == ["", "Opening", f"Opening{ARROW}Beds"]


def test_damaged_files_are_rejected(reject: Reject, word: bytes) -> None:
    assert "damaged" in reject("docx", word[:1000])
    assert reject("docx", repacked(word, "[Content_Types].xml", b"<Types/>"))
    assert reject("docx", repacked(word, "word/document.xml", b"<w:document"))


def test_a_bomb_is_rejected_before_it_is_unpacked(reject: Reject, word: bytes) -> None:
    assert "suspicious" in reject("docx", repacked(word, "word/styles.xml", b" " * (60 << 20)))


@pytest.mark.parametrize("name", ["word/document.xml", "word/styles.xml", "word/_rels/document.xml.rels"])
@pytest.mark.parametrize("before", ["", f"<!-- {'x' * 100_000} -->"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_rejected(reject: Reject, word: bytes, name: str, before: str, encoding: str) -> None:
    body = f'<?xml version="1.0" encoding="{encoding}"?>{before}<!DOCTYPE d [<!ENTITY e "BOOM">]><d>a &e; b</d>'
    assert f"{name} in it declares a document type" in reject("docx", repacked(word, name, body.encode(encoding)))


def test_entities_are_not_expanded(reject: Reject, word: bytes) -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    body = f'<!DOCTYPE d [<!ENTITY e0 "BOOM">{levels}<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    body += '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>'
    body += "<w:t>before &e9; &f; after</w:t></w:r></w:p></w:body></w:document>"
    assert "document type" in reject("docx", repacked(word, "word/document.xml", body.encode()))


def test_a_damaged_file_does_not_keep_the_next_from_being_read(
    read_files: ReadFiles, tmp_path: Path, word: bytes
) -> None:
    (tmp_path / "a.docx").write_bytes(b"PK\x03\x04 nonsense")
    (tmp_path / "b.docx").write_bytes(word)
    bad, good = read_files(tmp_path)
    assert isinstance(bad, Passed)
    assert isinstance(good, Document)
    assert good.id == f"{tmp_path.name}/b.docx"
