from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.cli.main import run
from sparc_search.encoder import Encoder
from sparc_search.records import Document

QUESTION = "When was the Eiger climbed?"

Inspect = Callable[..., str]


@pytest.fixture
def inspect(
    tmp_path: Path, toy_encoder: Encoder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Inspect:
    """`inspect("question", "…")` runs the command and gives what it printed; it must end with `code`."""
    monkeypatch.setenv("SPARC_SEARCH_INDEX", str(tmp_path / "index"))
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    nasty = Document("nasty", "The [red]Kremlin[/red] \x1b[31m\u202e and 1547.", "\x1b]0;title\x07", "x.md")
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all([*DOCUMENTS, nasty, plain("ing", "People like climbing mountains.")], toy_encoder))

    def call(*arguments: str, code: int = 0) -> str:
        assert run(["inspect", *arguments]) == code
        captured = capsys.readouterr()
        text = captured.out + (captured.err if code else "")
        assert not {"\x1b", "\u202e", "\x07"} & set(text)
        return text

    return call


def test_a_passage(inspect: Inspect) -> None:
    text = inspect("passage", "alps/0")
    assert "The Eiger was first climbed in 1858 by Charles Barrington." in text
    assert "phrases start at 10 of them and end at 10" in text
    lines = text.splitlines()
    assert any(line.startswith("eiger") and "0.75" in line for line in lines)


def test_a_phrase_of_it(inspect: Inspect) -> None:
    text = inspect("passage", "alps/0", "--phrase", "1858")
    assert "climbed in [1858] by" in text  # marked, where there is no colour
    assert "stored in the index" in text
    assert " indexed" in text
    twin = json.loads(inspect("passage", "alps/0", "--token", "6", "--json"))
    assert twin["selection"]["text"] == "1858"
    assert twin == json.loads(inspect("passage", "alps/0", "--phrase", "1858", "--json"))


def test_what_is_not_indexed_is_called_so(inspect: Inspect) -> None:
    assert "not indexed" in inspect("passage", "alps/0", "--token", "10")


def test_its_rows_as_csv(inspect: Inspect) -> None:
    rows = list(csv.DictReader(inspect("passage", "alps/0", "--phrase", "1858", "--csv", "--ngram", "1").splitlines()))
    assert rows[0]["name"] in ("in", "by")
    assert {row["n"] for row in rows} == {"1"}
    assert all(float(row["start"]) >= 0 for row in rows)
    tokens = list(csv.DictReader(inspect("passage", "alps/0", "--tokens", "--csv").splitlines()))
    assert [token["piece"] for token in tokens][:2] == ["the", "eiger"]


def test_one_side_one_size_and_a_threshold(inspect: Inspect) -> None:
    twin = json.loads(inspect("passage", "alps/0", "--side", "start", "--ngram", "2", "--threshold", "0.3", "--json"))
    assert twin["ngrams"]
    assert all(row["n"] == 2 and row["end"] == 0 and row["start"] >= 0.3 for row in twin["ngrams"])


def test_tokens_are_numbered(inspect: Inspect) -> None:
    lines = inspect("passage", "ing/0", "--tokens").splitlines()
    row = next(line.split() for line in lines if "##ing" in line)
    assert row[:3] == ["3", "##ing", "end"]  # no phrase starts inside a word


def test_what_does_not_exist(inspect: Inspect) -> None:
    assert "no passage 'nosuch'" in inspect("passage", "nosuch", code=1)
    assert "no token 99" in inspect("passage", "alps/0", "--token", "99", code=1)
    assert "exclude each other" in inspect("passage", "alps/0", "--token", "1", "--phrase", "in", code=2)
    assert "exclude each other" in inspect("question", QUESTION, "--json", "--csv", code=2)


def test_a_question(inspect: Inspect) -> None:
    text = inspect("question", *QUESTION.split())
    assert text.startswith(QUESTION)
    assert "eiger climbed" in text
    assert "idf over 5 passages" in text
    rows = {row["name"]: row for row in csv.DictReader(inspect("question", QUESTION, "--csv").splitlines())}
    assert float(rows["eiger climbed"]["start"]) == 0.5


def test_an_answer_and_its_runner_up(inspect: Inspect) -> None:
    text = inspect("answer", QUESTION)
    assert " 1. 1858" in text
    assert "What makes the difference" in text
    view = json.loads(inspect("answer", QUESTION, "--json"))
    shown = f"{view['comparison']['difference']:+.2f}"
    assert next(line for line in text.splitlines() if line.startswith("sum")).endswith(shown)
    rows = list(csv.DictReader(inspect("answer", QUESTION, "--csv").splitlines()))
    total = sum(float(row["value"]) for row in rows if row["rank"] == "1")
    assert total == pytest.approx(view["answers"][0]["score"])


def test_another_pair_of_answers(inspect: Inspect) -> None:
    view = json.loads(inspect("answer", QUESTION, "--rank", "2", "--against", "1", "--json"))
    assert view["comparison"]["difference"] <= 0
    assert "answers" in inspect("answer", QUESTION, "--rank", "99999", code=1)


def test_a_feature(inspect: Inspect) -> None:
    text = inspect("feature", "first", "climbed")
    assert "Where it weighs most (start)" in text
    assert "alps/0" in text
    assert "climb ##ing" in inspect("feature", "Climbing")
    assert "No passage of the index has it" in inspect("feature", "everest")
    rows = list(csv.DictReader(inspect("feature", "climbed", "--csv").splitlines()))
    assert {row["field"] for row in rows} == {"start", "end", "lex"}


def test_finding_passages(inspect: Inspect) -> None:
    text = inspect("find", "eiger")
    assert text.startswith("alps/0")
    assert "No passage fits" in inspect("find", "nothing", "like", "this")
    twin = json.loads(inspect("find", "--feature", "climbed", "--json"))
    assert [passage["id"] for passage in twin["passages"]] == ["alps/0", "alps/1"]
    assert "--page 2 goes on" in inspect("find", "--top", "2")


def test_an_index(inspect: Inspect) -> None:
    text = inspect("index")
    assert "4 documents · 5 passages" in text
    assert "start features of a passage" in text
    assert json.loads(inspect("index", "--json"))["passages"] == 5


def test_nothing_of_a_stranger_drives_the_terminal(inspect: Inspect) -> None:
    """The fixture looks at every byte of each of these."""
    shown = inspect("passage", "nasty/0", "--phrase", "1547")
    assert "[red]" in shown
    assert "␛" in shown
    for arguments in (("feature", "kremlin"), ("find", "kremlin"), ("answer", "When Kremlin?"), ("index",)):
        for form in ("", "--json", "--csv"):
            if (arguments[0], form) != ("index", "--csv"):
                inspect(*arguments, *([form] if form else []))


@pytest.mark.parametrize("width", [20, 80, 120])
def test_lines_fit_the_terminal(inspect: Inspect, width: int, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """What is drawn for a terminal of some width is not wider."""
    from rich.cells import cell_len

    from sparc_search.cli import terminal

    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(terminal, "_is_terminal", lambda *, stderr: True)
    for arguments in (
        ("passage", "alps/0", "--phrase", "1858"),
        ("question", QUESTION),
        ("answer", QUESTION),
        ("feature", "climbed"),
        ("index",),
    ):
        for line in inspect(*arguments).splitlines():
            assert cell_len(line.rstrip()) <= width


def test_why_this_and_not_that(inspect: Inspect) -> None:
    text = inspect("why", QUESTION)
    assert "A  1858" in text
    assert "The Eiger was first _climbed_ in [1858] by" in text
    assert "climbed +" in text
    twin = json.loads(inspect("why", QUESTION, "--json"))
    assert (twin["a"]["rank"], twin["b"]["rank"]) == (1, 2)
    differences = [row["difference"] for row in twin["contrast"]["by_name"]]
    assert sum(differences) == pytest.approx(twin["a"]["score"] - twin["b"]["score"])
    rows = list(csv.DictReader(inspect("why", QUESTION, "--csv").splitlines()))
    assert [float(row["difference"]) for row in rows] == differences


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--phrase", "Charles Barrington"), "A  Charles Barrington"),
        (("--answer", "2", "--against", "1"), "B  1858"),
        (("--against", "tfidf"), "by tf-idf"),
        (("--against", "passage:seas/0"), "seas/0"),
        (("--passage", "alps/1", "--phrase", "summit"), "A  summit"),
        (("--against", "371000"), "No n-gram of the question weighs anything for “371000”"),
    ],
)
def test_any_phrase_can_be_asked_for(inspect: Inspect, options: tuple[str, ...], said: str) -> None:
    assert said in inspect("why", QUESTION, *options)


def test_why_beside_a_second_index(inspect: Inspect, tmp_path: Path, toy_encoder: Encoder) -> None:
    with open_local(tmp_path / "second", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all([plain("new", "The Eiger was climbed in 1921.")], toy_encoder))
    text = inspect("why", QUESTION, "--against", f"index:{tmp_path / 'second'}")
    assert "B  1921" in text
    assert "in second" in text


def test_what_why_cannot_find_it_says(inspect: Inspect) -> None:
    assert "stands in no passage" in inspect("why", QUESTION, "--phrase", "Everest", code=1)
    assert "exclude each other" in inspect("why", QUESTION, "--phrase", "1858", "--answer", "1", code=2)
