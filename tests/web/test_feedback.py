from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sparc_search.errors import UsageError
from sparc_search.evaluation.questions import read_questions
from sparc_search.index import Index
from sparc_search.web.app import create_app
from sparc_search.web.feedback import Feedback

from .conftest import client_of

WHO = "Who climbed the Matterhorn?"
SAID = {"question": WHO, "passage": "alps/1", "start": "44", "end": "58", "verdict": "right"}
ASK = "/?q=Who+climbed+the+Matterhorn%3F"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "said.jsonl"


@pytest.fixture
def taking(index: Index, file: Path) -> TestClient:
    return client_of(create_app(index, feedback_file=file))


def test_it_is_asked_for_or_not_there(client: TestClient, taking: TestClient) -> None:
    assert "/feedback" not in client.get(ASK).text
    assert client.post("/feedback", data=SAID).status_code == 404
    assert 'value="up"' in taking.get(ASK).text
    page = taking.get("/passages/alps/1?span=44-58&q=Who+climbed+the+Matterhorn%3F").text
    assert "This answers “Who climbed the Matterhorn?”" in page


def test_a_right_answer_is_a_question_that_evaluate_reads(taking: TestClient, file: Path) -> None:
    assert taking.post("/feedback", data=SAID).status_code == 204
    assert taking.post("/feedback", data={**SAID, "verdict": "down"}).status_code == 204
    right, wrong = map(json.loads, file.read_text().splitlines())
    assert right.keys() == {"question", "answers", "source", "passage", "start", "end", "said", "verdict", "time"}
    assert (right["answers"], right["source"]) == (["Edward Whymper"], "alps.md")
    assert (wrong["answers"], wrong["said"], wrong["verdict"]) == ([], "Edward Whymper", "down")
    read = read_questions(file)
    assert [(one.text, one.answers) for one in read] == [(WHO, ("Edward Whymper",)), (WHO, ())]


def test_a_form_leads_back_and_never_elsewhere(taking: TestClient) -> None:
    for goal, led in ((ASK, ASK), ("https://evil.example/", "/"), ("//evil.example", "/")):
        answer = taking.post(
            "/feedback", data={**SAID, "next": goal}, headers={"accept": "text/html"}, follow_redirects=False
        )
        assert (answer.status_code, answer.headers["location"]) == (303, led)


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"question": ""}, 422), ({"question": "a" * 1001}, 422), ({"verdict": "x"}, 422), ({"passage": "no"}, 404),
     ({"end": "9999"}, 422), ({"start": "-1"}, 422), ({"start": "58", "end": "44"}, 422)],
)  # fmt: skip
def test_what_is_not_an_answer_is_not_kept(
    taking: TestClient, file: Path, changed: dict[str, str], status: int
) -> None:
    assert taking.post("/feedback", data={**SAID, **changed}).status_code == status
    assert file.read_text() == ""


def test_another_site_may_not_say_anything(taking: TestClient, file: Path) -> None:
    assert taking.post("/feedback", data=SAID, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert file.read_text() == ""


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        Feedback(tmp_path)
