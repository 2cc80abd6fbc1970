"""The tools, as a client sees them; the client itself checks every result against the schema it was given."""

from __future__ import annotations

import unicodedata
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from small_corpus import ALPS, SEAS

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.mcp.asking import Asking
from sparc_search.mcp.indexes import Indexes, named_folder
from sparc_search.mcp.quoting import NOTE
from sparc_search.mcp.server import create_server
from sparc_search.mcp.stdio import Turns
from sparc_search.mcp.tools import ToolLimits
from sparc_search.records import Document

from .conftest import MakeIndex, call, refused, server_of, talk

WHO = "Who climbed the Matterhorn?"
LETTER = "Dear Ada, the lease was signed in 1901."
LETTERS = (Document("letter", LETTER, "Letter", "", {"year": "1901", "open": "true"}),)


@pytest.fixture
def server(index: Index) -> Any:
    return server_of(notes=index)


@pytest.fixture
def two(index: Index, make_index: MakeIndex) -> Any:
    return server_of(notes=index, letters=make_index(LETTERS))


def test_an_answer_says_where_it_stands(server: Any) -> None:
    found = call(server, "ask", {"question": WHO, "k": 3})
    best = found["answers"][0]
    assert (found["found"], found["answer"], best["title"]) == (True, best["text"], "Alps")
    assert ALPS[best["start"] : best["end"]] == best["text"]
    assert best["sentence"] == "The Matterhorn was first climbed in 1865 by Edward Whymper."
    assert (best["source"], best["document_id"], "line" in best) == ("alps.md", "alps", False)
    assert found["note"] == NOTE
    assert len(found["answers"]) == 3
    assert "index" not in best


def test_an_answer_that_is_not_sure_is_not_found(make_index: MakeIndex, encoder: Encoder) -> None:
    calibrated = copy(encoder)
    calibrated.card = {"confidence": {"bias": -3.0, "score": 0.0, "lead": 0.0, "widest": 1.0}}
    index = make_index(by=calibrated, min_confidence=0.5)
    unsure = call(server_of(notes=index), "ask", {"question": WHO})
    assert unsure["found"] is False
    assert unsure["confidence"] == pytest.approx(0.047, abs=0.001)
    assert "answer" not in unsure
    assert unsure["answers"]
    assert unsure["message"].startswith("Not found")
    lenient = make_index(by=calibrated, min_confidence=0.01)
    assert call(server_of(notes=lenient), "ask", {"question": WHO})["found"] is True
    nothing = call(server_of(notes=index), "ask", {"question": WHO, "where": {"kind": "cheese"}})
    assert (nothing["found"], nothing["answers"]) == (False, [])


def test_the_line_is_that_of_the_file_and_other_documents_that_say_so_are_named(
    make_index: MakeIndex, tmp_path: Path
) -> None:
    file = tmp_path / "eiger.md"
    file.write_text("# Eiger\n\nIt is high.\n\nThe Eiger was climbed by *Charles Barrington*.\n", "utf-8")
    said = "The Eiger was climbed by Charles Barrington."
    documents = [Document("one", said, "Eiger", str(file)), Document("two", said, "Copy", "https://example.org/two")]
    best = call(server_of(notes=make_index(documents)), "ask", {"question": "Who climbed the Eiger?", "k": 1})[
        "answers"
    ][0]
    places = {"one": file.as_uri(), "two": "https://example.org/two"}
    assert best["url"] == places.pop(best["document_id"])
    assert best["also_in"] == list(places.values())
    assert best.get("line") == (5 if best["document_id"] == "one" else None)


def test_search_and_fetch_in_the_form_of_general_chat_clients(server: Any) -> None:
    found = call(server, "search", {"query": "climbed"})
    assert list(found) == ["results"]
    for result in found["results"]:
        assert {"id", "title", "url", "text"} <= set(result)
        assert all(isinstance(result[name], str) and result[name] for name in ("id", "title", "url", "text"))
        fetched = call(server, "fetch", {"id": result["id"]})
        assert set(fetched) == {"id", "title", "text", "url", "metadata"}
        assert (fetched["id"], fetched["text"], fetched["url"]) == (result["id"], result["text"], result["url"])
    ids = [result["id"] for result in found["results"]]
    assert len(set(ids)) == len(ids) == 3
    assert ids[0].startswith("alps/")


def test_units(server: Any) -> None:
    documents = call(server, "search", {"query": "climbed", "unit": "document"})["results"]
    assert [result["id"] for result in documents] == ["alps", "seas"]
    (sentence,) = call(server, "search", {"query": WHO, "unit": "sentence", "k": 1})["results"]
    assert sentence["text"] == "The Matterhorn was first climbed in 1865 by Edward Whymper."
    assert ALPS[sentence["metadata"]["start"] : sentence["metadata"]["end"]] == sentence["text"]


def test_a_document_is_read_page_by_page(server: Any) -> None:
    text, start = "", 0
    while start is not None:
        page = call(server, "fetch", {"id": "alps", "start": start, "length": 50})
        assert (page["metadata"]["start"], page["metadata"]["characters"]) == (start, len(ALPS))
        text, start = text + page["text"], page["metadata"].get("next_start")
    assert text == ALPS
    assert "smaller `start`" in refused(server, "fetch", {"id": "alps", "start": 10_000}).lower()
    assert "there is nothing of the id 'nothing'" in refused(server, "fetch", {"id": "nothing"})


def test_documents_are_listed_with_what_can_be_filtered_by(server: Any) -> None:
    first = call(server, "list_documents", {"limit": 1})
    second = call(server, "list_documents", {"limit": 1, "cursor": first["next_cursor"]})
    assert [page["documents"][0]["id"] for page in (first, second)] == ["alps", "seas"]
    assert "next_cursor" not in second
    assert first["total"] == 2
    assert set(first["filters"]["kind"]) == {"mountains", "water"}
    water = call(server, "list_documents", {"where": {"kind": "water"}})
    assert [document["id"] for document in water["documents"]] == ["seas"]
    assert call(server, "list_documents", {"text": "Whymper"})["documents"][0]["id"] == "alps"


def test_several_indexes_in_one_server(two: Any) -> None:
    everywhere = call(two, "search", {"query": "climbed signed", "k": 10})["results"]
    assert {result["metadata"]["index"] for result in everywhere} == {"notes", "letters"}
    assert call(two, "fetch", {"id": "letters:letter"})["text"] == LETTER
    answers = call(two, "ask", {"question": WHO, "index": "letters"})["answers"]
    assert {answer["document_id"] for answer in answers} == {"letters:letter"}
    scores = [answer["score"] for answer in call(two, "ask", {"question": WHO, "k": 20})["answers"]]
    assert scores == sorted(scores, reverse=True)
    listed, cursor = [], None
    while True:
        page = call(two, "list_documents", {"limit": 1} | ({"cursor": cursor} if cursor else {}))
        listed += [document["id"] for document in page["documents"]]
        if (cursor := page.get("next_cursor")) is None:
            break
    assert listed == ["notes:alps", "notes:seas", "letters:letter"]
    assert "'cheese' is not one of" in refused(two, "ask", {"question": WHO, "index": "cheese"})
    assert "there is no 'alps'" in refused(two, "fetch", {"id": "alps"})


def test_filters_may_be_numbers_and_truth_values(two: Any) -> None:
    answers = call(two, "ask", {"question": "When was it signed?", "where": {"year": 1901, "open": True}})["answers"]
    assert {answer["document_id"] for answer in answers} == {"letters:letter"}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {}, "'question' is a required property"),
        ("ask", {"question": 7}, "question: 7 is not of type 'string'"),
        ("ask", {"question": ""}, "question: '' should be non-empty"),
        ("ask", {"question": " \x00 "}, "the question is empty. Ask something"),
        ("ask", {"question": "x" * 1001}, "is too long"),
        ("ask", {"question": "x", "k": 0}, "k: 0 is less than the minimum of 1"),
        ("ask", {"question": "x", "k": 10**30}, "greater than the maximum of 50"),
        ("ask", {"question": "x", "k": "many"}, "k: 'many' is not of type 'integer'"),
        ("ask", {"question": "x", "where": {"a": []}}, "where.a: []"),
        ("ask", {"question": "x", "where": {str(n): "1" for n in range(21)}}, "too many properties"),
        ("ask", {"query": "x"}, "'question' is a required property"),
        ("search", {"query": "x", "unit": "chapter"}, "unit: 'chapter' is not one of"),
        ("fetch", {"id": "alps", "start": -1}, "start: -1 is less than the minimum of 0"),
        ("list_documents", {"cursor": "nonsense"}, "there is no such cursor"),
        ("list_documents", {"cursor": "other:3"}, "there is no such cursor"),
    ],
)
def test_wrong_arguments_are_a_result_that_says_what_is_wrong(
    server: Any, tool: str, arguments: dict[str, Any], said: str
) -> None:
    message = refused(server, tool, arguments)
    assert said in message
    assert len(message) < 400


def test_a_tool_or_resource_that_is_not_there_is_an_error_of_the_protocol(server: Any) -> None:
    with pytest.raises(MCPError, match="there is no tool 'delete'; known are: ask, search"):
        talk(server, lambda client: client.call_tool("delete", {}))
    for address in (
        "sparc-search://notes/documents/nothing",
        "sparc-search://other/documents/alps",
        "file:///etc/passwd",
    ):
        with pytest.raises(MCPError, match="there is no"):
            talk(server, lambda client, address=address: client.read_resource(address))
    with pytest.raises(MCPError, match="no such cursor"):
        talk(server, lambda client: client.list_resources(cursor="nonsense"))


def test_what_was_not_foreseen_is_told_to_the_log_alone(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Asking):
        def ask(self, *arguments: Any) -> Any:
            raise RuntimeError("a secret")

    server = create_server(Broken(Indexes({"notes": index})), Turns().run)
    message = refused(server, "ask", {"question": WHO})
    assert message == "something went wrong here; the server's log has the details"
    assert "a secret" in caplog.text


def test_documents_are_resources(two: Any) -> None:
    listed = talk(two, lambda client: client.list_resources())
    more = talk(two, lambda client: client.list_resources(cursor=listed.next_cursor))
    addresses = [resource.uri for resource in [*listed.resources, *more.resources]]
    assert addresses == [
        "sparc-search://notes/documents/alps",
        "sparc-search://notes/documents/seas",
        "sparc-search://letters/documents/letter",
    ]
    texts = [talk(two, lambda client, uri=uri: client.read_resource(uri)).contents[0].text for uri in addresses]
    assert texts == [ALPS, SEAS, LETTER]
    (template,) = talk(two, lambda client: client.list_resource_templates()).resource_templates
    assert template.uri_template == "sparc-search://{index}/documents/{id}"


def test_an_id_with_odd_characters_has_an_address(make_index: MakeIndex) -> None:
    odd = "a/b c?d#e%2F:ü"
    server = server_of(notes=make_index([Document(odd, "The Eiger is 3967 metres high.")]))
    (resource,) = talk(server, lambda client: client.list_resources()).resources
    assert talk(server, lambda client: client.read_resource(resource.uri)).contents[0].text.startswith("The Eiger")
    assert call(server, "fetch", {"id": odd})["url"] == resource.uri


HIDDEN = "\x1b]0;x\x07\u202e\u200b\U000e0041\U000e0042\ufeff\x85\ud7ff"


def test_nothing_is_hidden_in_what_a_model_reads_and_offsets_stay(make_index: MakeIndex) -> None:
    text = f"The {HIDDEN} Eiger was climbed\r\nin 1858 by {HIDDEN}Charles Barrington.\n\nAnd more."
    document = Document("odd", text, f"T{HIDDEN}itle", f"s{HIDDEN}.md", {f"k{HIDDEN}": f"v{HIDDEN}"})
    server = server_of(notes=make_index([document]))
    found = call(server, "ask", {"question": "Who climbed the Eiger?"})
    replies = [
        found,
        call(server, "search", {"query": "Eiger"}),
        call(server, "fetch", {"id": "odd"}),
        call(server, "list_documents", {}),
        talk(server, lambda client: client.list_resources()).model_dump(),
        talk(server, lambda client: client.read_resource("sparc-search://notes/documents/odd")).model_dump(),
    ]
    for reply in replies:
        kinds = {unicodedata.category(character) for character in str(reply) if character not in "\n\t"}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    whole = call(server, "fetch", {"id": "odd"})["text"]
    assert len(whole) == len(text)
    for answer in found["answers"]:
        assert whole[answer["start"] : answer["end"]] == answer["text"]


def test_a_long_text_is_cut(make_index: MakeIndex) -> None:
    long = Document("long", "Eiger " * 200, "t" * 5000)
    server = server_of(ToolLimits(text=300), notes=make_index([long]))
    (result,) = call(server, "search", {"query": "Eiger", "k": 1})["results"]
    assert len(result["title"]) == len(result["text"]) == 300
    assert result["text"].endswith("…")
    assert len(call(server, "fetch", {"id": "long"})["text"]) == 300
    assert "maximum of 300" in refused(server, "fetch", {"id": "long", "length": 301})


@pytest.mark.parametrize(
    ("given", "name", "folder"),
    [
        ("notes", "notes", "notes"),
        ("mine=notes", "mine", "notes"),
        ("/data/My Notes (2024)", "My-Notes-2024", "/data/My Notes (2024)"),
        ("./a=b", "a-b", "a=b"),
        ("mine=/data/a=b", "mine", "/data/a=b"),
    ],
)
def test_the_name_of_an_index(given: str, name: str, folder: str) -> None:
    assert named_folder(given) == (name, Path(folder))


def test_what_is_cited_is_a_url_or_a_file(index: Index) -> None:
    indexes = Indexes({"notes": index})
    assert indexes.url("notes", "id", "https://example.org/a") == "https://example.org/a"
    assert indexes.url("notes", "id", "/data/a b.pdf", 3) == "file:///data/a%20b.pdf#page=3"
    assert indexes.url("notes", "a/b", "-") == "sparc-search://notes/documents/a%2Fb"
