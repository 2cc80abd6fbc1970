"""What goes wrong is told on the page where it went wrong, beside its field, in the page's own words."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

PAGE = {"accept": "text/html"}
# A field that cannot be read is told beside it and the page answered without it, so its status is 200: a browser writes
# an error into its console for any other. The API refuses the same.


def test_a_filter_without_an_equals_sign_keeps_the_question(client: TestClient) -> None:
    answer = client.get("/?q=Who+climbed+the+Eiger%3F&where=abc", headers=PAGE)
    assert answer.status_code == 200
    assert client.get("/api/ask?q=Who&where=abc").status_code == 422
    assert 'value="Who climbed the Eiger?"' in answer.text
    assert 'value="abc" aria-invalid="true" aria-describedby="where-error"' in answer.text
    assert "A filter is a key of the metadata" in answer.text
    assert "<mark>" in answer.text  # answered all the same, without it


def test_a_phrase_that_is_not_there_keeps_the_passage(client: TestClient) -> None:
    answer = client.get("/passages/alps/1?phrase=zebra", headers=PAGE)
    assert answer.status_code == 200
    assert client.get("/api/passages/alps/1?phrase=zebra").status_code == 404
    assert "Matterhorn" in answer.text
    assert 'value="zebra" aria-invalid="true"' in answer.text
    assert "That does not stand in the passage" in answer.text


def test_a_phrase_after_a_word_was_chosen_without_a_script(client: TestClient) -> None:
    answer = client.get("/passages/alps/1?token=1&span=&phrase=Edward+Whymper", headers=PAGE)
    assert answer.status_code == 200
    assert "Edward Whymper</h2>" in answer.text
    assert client.get("/api/passages/alps/1?token=1&phrase=Edward").status_code == 409


@pytest.mark.parametrize(
    "path", ["/passages/nosuch", "/passages/alps/1?phrase=zebra", "/passages/alps/1?token=999", "/?q=Who%3F&rank=40",
             "/nosuch", "/features/%20", "/?q=Who%3F&k=999", "/passages/alps/1?n=7", "/discover?size=0",
             "/why?q=Who%3F&against_passage=no"],
)  # fmt: skip
def test_no_page_names_an_option_of_the_command_line(client: TestClient, path: str) -> None:
    text = client.get(path, headers=PAGE).text
    main = text[text.index("<main") :]
    assert "--" not in main.replace("<!--", "")
    assert "sparc-search inspect" not in main


def test_a_number_out_of_range_is_told_and_the_question_answered(client: TestClient) -> None:
    answer = client.get("/?q=Who+climbed+the+Eiger%3F&k=999", headers=PAGE)
    assert answer.status_code == 200
    assert "<mark>" in answer.text
    assert "1 to 50" in answer.text


def test_an_empty_question_is_told_once(client: TestClient) -> None:
    assert ">The question is empty: ask something.</p>" in client.get("/?q=%01", headers=PAGE).text


def test_what_says_nothing_is_told_beside_its_box(client: TestClient) -> None:
    tried = client.post("/try", data={"text": "\x7f"}, headers=PAGE)
    assert (tried.status_code, tried.text.count("Nothing can be read in this text")) == (200, 1)
    looked_up = client.get("/features?name=%7F", headers=PAGE, follow_redirects=False)
    assert (looked_up.status_code, looked_up.text.count("Write a word")) == (200, 1)
    assert client.post("/api/v1/try", json={"text": "\x7f"}).status_code == 422
