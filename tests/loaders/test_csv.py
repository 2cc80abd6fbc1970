from __future__ import annotations

from collections.abc import Callable

import pytest

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.resuming import Item
from sparc_search.records import Document

Items, One, Reject = Callable[..., list[Item]], Callable[..., Document], Callable[..., str]


def test_dpr_rows(items: Items) -> None:
    data = 'id\ttext\ttitle\n1\t"Aaron ( or ; ""Ahärôn"")\n is a prophet"\tAaron\n2\tGod\tAaron\n'
    assert items("csv", data.encode(), "psgs.tsv") == [
        Document("1", 'Aaron ( or ; "Ahärôn")\n is a prophet', "Aaron", "psgs.tsv"),
        Document("2", "God", "Aaron", "psgs.tsv"),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_and_metadata(one: One, delimiter: str) -> None:
    data = delimiter.join(("lang", "text", "_id")) + "\r\n" + delimiter.join(("en", "x", "9")) + "\r\n"
    assert one("csv", data.encode(), "f.csv") == Document("9", "x", "", "f.csv", {"lang": "en"})


def test_a_table_without_header_is_id_text_title_and_does_not_quote(items: Items) -> None:
    data = b'0\t"An unclosed quotation\n1\tplain\tTitle\n'
    assert items("csv", data, "collection.tsv") == [
        Document("0", '"An unclosed quotation', "", "collection.tsv"),
        Document("1", "plain", "Title", "collection.tsv"),
    ]


def test_columns_can_be_named(one: One) -> None:
    assert one("csv", b"key,abstract\nk,x\n", "f.csv", text_field="abstract", id_field="key") == Document(
        "k", "x", "", "f.csv"
    )


def test_a_row_of_the_wrong_length_is_one_reject(items: Items) -> None:
    first, bad, last = items("csv", b"id,text\n1,a\n2\n3,c\n", "f.csv")
    assert isinstance(bad, RejectedDocument)
    assert "row 2: 1 columns instead of 2 (id, text)" in bad.message
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert last.id == "3"


def test_an_ordinary_header_makes_rows_of_column_and_value(items: Items) -> None:
    first, second = items("csv", b"name,born,role\nAda King,1815,countess\nCharles,,\n", "staff_list.csv")
    assert isinstance(first, Document)
    assert (first.id, first.title) == ("staff_list.csv#1", "staff list")
    assert first.text == "name: Ada King\nborn: 1815\nrole: countess"
    assert first.metadata == {"name": "Ada King", "born": "1815", "role": "countess"}
    assert isinstance(second, Document)
    assert second.text == "name: Charles"


def test_a_header_with_an_id_and_without_a_text(one: One) -> None:
    document = one("csv", b"id,name,born\n7,Ada,1815\n", "f.csv")
    assert (document.id, document.text) == ("7", "id: 7\nname: Ada\nborn: 1815")


@pytest.mark.parametrize("encoding", ["utf-16", "windows-1252", "utf-8-sig"])
def test_other_encodings_are_read(one: One, encoding: str) -> None:
    document = one("csv", "name,town\nJürg,Zürich\n".encode(encoding), "f.csv")
    assert document.text == "name: Jürg\ntown: Zürich"
    assert document.metadata.get("encoding", "utf-8-sig") == encoding


def test_numbers_without_a_header_are_rejected_row_by_row_with_the_remedy(items: Items) -> None:
    found = items("csv", b"5,6,7,8\n1,2,3,4\n", "f.csv")
    assert len(found) == 2
    assert all(isinstance(item, RejectedDocument) and "id, text, title" in item.remedy for item in found)


def test_a_quotation_without_end_is_bounded_and_one_reject(items: Items) -> None:
    data = b'id,text\n1,a\n2,"' + b"never closed, " * 1_000_000 + b"\n" + b"nor here, " * 2_500_000
    first, bad = items("csv", data, "f.csv")
    assert isinstance(first, Document)
    assert isinstance(bad, RejectedDocument)
    assert "the rest is not read" in bad.message


def test_what_is_no_text_is_rejected_with_the_line(items: Items) -> None:
    first, bad = items("csv", b"id,text\n1,a\n2,\xff\x01\n", "f.csv")
    assert isinstance(first, Document)
    assert isinstance(bad, RejectedDocument)
    assert "line 3: not UTF-8: byte 0xff at position 14" in bad.message
