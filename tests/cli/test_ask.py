from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all, plain

from sparc_search.cli import ask_prompt
from sparc_search.cli.answer_text import in_its_sentence
from sparc_search.cli.main import run
from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.records import Answer, Document, Passage

EIGER = "When was the Eiger climbed?"


@pytest.fixture
def folder(tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, whose index holds the small corpus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    monkeypatch.setenv("SPARC_SEARCH_INDEX", "index")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    fill(tmp_path, toy_encoder, *DOCUMENTS)
    return tmp_path


def fill(folder: Path, encoder: Encoder, *documents: Document) -> None:
    with open_local(folder / "index", encoder.fingerprint, writable=True) as store:
        store.add(encode_all(documents, encoder))


Out = pytest.CaptureFixture[str]


def test_an_answer_in_its_sentence(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--top-k", "1"]) == 0
    out, err = capsys.readouterr()
    assert " 1. 1858  score 6." in out
    assert "The Eiger was first climbed in [1858] by Charles Barrington." in out
    assert "Alps · alps.md" in out
    assert "3 passages scored, hybrid" in out
    assert err == ""


def test_words_need_no_quotes(folder: Path, capsys: Out) -> None:
    run(["ask", EIGER, "--json"])
    quoted = json.loads(capsys.readouterr().out)
    run(["ask", *EIGER.split(), "--json"])
    unquoted = json.loads(capsys.readouterr().out)
    assert quoted["answers"] == unquoted["answers"]
    assert unquoted["question"] == EIGER


def test_json_is_the_reply(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--json", "--strategy", "dense", "--top-k", "2"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert [answer["text"] for answer in reply["answers"]] == ["1858", "1865"]
    best = reply["answers"][0]
    assert best["passage"]["metadata"] == {"kind": "mountains", "lang": "en"}
    assert best["passage"]["text"][best["start"] : best["end"]] == "1858"
    assert best["roads"] == ["dense"]
    assert sum(part["value"] for part in best["parts"]) == pytest.approx(best["score"])
    assert reply["guess"] is False
    assert set(reply["seconds"]) == {"encode", "sparse", "dense", "fetch", "score"}


def test_explain_shows_a_sum(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--explain", "--top-k", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["sparse", "start", "climbed", "1.000", "0.500", "0.500"] for line in lines)
    assert any("proposed by sparse and dense search" in line for line in lines)
    total = next(line for line in lines if line.split()[:1] == ["sum"])
    assert total.split()[1] == "6.212"


def test_answers_stand_in_their_order_each_with_its_source(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    fill(folder, toy_encoder, Document("other", "The Eiger was climbed in 1921.", "Other"))
    assert run(["ask", EIGER, "--top-k", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    ranks = [match[1] for line in lines if (match := re.match(r" (\d)\. ", line))]
    assert ranks == ["1", "2", "3", "4"]
    assert sum("Alps · alps.md" in line for line in lines) == 3


def test_each_answer_has_its_own_page_and_line(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    (folder / "log.md").write_text("# Log\n\nNobody came.\n\nThe *Niesen* was\nclimbed in **1777**.\n")
    fill(
        folder,
        toy_encoder,
        Document("log", "Nobody came.\n\nThe Niesen was climbed in 1777.", "Log", "log.md", {"kind": "log"}),
    )
    assert run(["ask", "When was the Niesen climbed?", "--where", "kind=log", "--top-k", "1"]) == 0
    assert "Log · log.md:6" in capsys.readouterr().out


def test_a_line_end_in_an_answer_is_a_space(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    fill(folder, toy_encoder, plain("lines", "Climbed by Charles\n   Barrington.", {"kind": "lines"}))
    assert run(["ask", "Who climbed?", "--where", "kind=lines", "--unit", "sentence", "--top-k", "1"]) == 0
    assert "Charles Barrington" in capsys.readouterr().out.replace("[", "").replace("]", "")


def test_equal_answers_are_one_with_all_its_sources(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    for name in ("a.md", "b.md"):
        (folder / name).write_text("The Niesen was climbed in 1777.")
        fill(folder, toy_encoder, Document(name, "The Niesen was climbed in 1777.", "Niesen", name, {"kind": "copy"}))
    fill(folder, toy_encoder, Document("c", "In 1777 the Niesen was climbed.", "Other", "c.md", {"kind": "copy"}))
    call = ["ask", "When was the Niesen climbed?", "--where", "kind=copy", "--top-k", "1"]
    assert run(call) == 0
    out = capsys.readouterr().out
    assert ", in 3 documents" in out
    assert "Niesen · a.md:1\n    Niesen · b.md:1 · identical file\n    Other · c.md\n" in out
    assert run([*call, "--all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"][0]["others"] == []


def test_a_unit_holds_its_phrase(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--unit", "sentence", "--top-k", "1"]) == 0
    assert " 1. The Eiger was first climbed in [1858] by Charles Barrington.  score 6." in capsys.readouterr().out
    assert run(["ask", EIGER, "--unit", "document", "--top-k", "2"]) == 0
    out = capsys.readouterr().out
    assert " 1. Alps  score" in out
    assert " 2. Seas  score" in out
    assert run(["ask", EIGER, "--unit", "passage", "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    best = reply["answers"][0]
    assert (best["unit"], best["text"], best["phrase"]["text"]) == ("passage", best["passage"]["text"], "1858")
    assert run(["ask", EIGER, "--unit", "chapter"]) == 2


def test_search_has_the_dress_of_a_search_tool(folder: Path, capsys: Out) -> None:
    assert run(["search", "eiger", "climbed", "--top-k", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ 1\. Alps  \d", out)
    assert "The [Eiger] was first [climbed] in 1858 by Charles Barrington." in out
    assert "    alps.md\n" in out
    assert run(["search", "eiger", "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)["answers"]
    assert len({hit["passage"]["id"] for hit in hits}) == len(hits) == 3
    assert run(["search"]) == 2


def test_comments_in_a_file_of_questions(folder: Path, capsys: Out) -> None:
    (folder / "questions.txt").write_text(f"# mountains\n{EIGER}\n  # the end\n")
    assert run(["ask", "--file", "questions.txt", "--jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_open_opens_the_source_at_its_line(folder: Path, capfd: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "alps.md").write_text("# Alps\n\nThe Eiger was first climbed in 1858 by Charles Barrington.\n")
    monkeypatch.setenv("EDITOR", "echo edited")
    monkeypatch.delenv("VISUAL", raising=False)
    assert run(["ask", EIGER, "--top-k", "1", "--open"]) == 0
    assert f"edited +3 {folder / 'alps.md'}\n" in capfd.readouterr().out
    assert run(["ask", "--open", "--file", "questions.txt"]) == 2
    (folder / "alps.md").unlink()
    assert run(["ask", EIGER, "--open"]) == 1
    assert "no file to open: alps.md" in capfd.readouterr().err


def test_filters(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--json", "--where", "kind=water", "--where", "lang=en"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert {answer["passage"]["document_id"] for answer in reply["answers"]} == {"seas"}
    assert run(["ask", EIGER, "--where", "water"]) == 2
    assert "KEY=VALUE" in capsys.readouterr().err
    assert run(["ask", EIGER, "--where", "kind=a", "--where", "kind=b"]) == 2


@pytest.mark.parametrize("flag", [["--jsonl"], ["--json"]])
def test_a_file_of_questions(folder: Path, capsys: Out, flag: list[str]) -> None:
    (folder / "questions.txt").write_text(f"{EIGER}\r\n\n  Which sea is shallow?  \n", encoding="utf-8-sig")
    assert run(["ask", "--file", "questions.txt", "--top-k", "1", *flag]) == 0
    replies = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [reply["question"] for reply in replies] == [EIGER, "Which sea is shallow?"]
    assert replies[0]["answers"][0]["text"] == "1858"


@pytest.mark.parametrize("arguments", [["-"], []])
def test_questions_from_a_pipe(
    folder: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{EIGER}\nWhich sea is shallow?"))
    assert run(["ask", *arguments, "--top-k", "1"]) == 0
    out = capsys.readouterr().out
    assert out.index(EIGER) < out.index("[1858]") < out.index("Which sea") < out.index("Seas · seas.md")


def test_wrong_calls(folder: Path, capsys: Out) -> None:
    assert run(["ask", "--file", "nowhere.txt"]) == 2
    assert run(["ask", "--file", "nowhere.txt", "When?"]) == 2
    assert run(["ask", ""]) == 2
    assert run(["ask", EIGER, "--top-k", "0"]) == 2
    assert run(["ask", EIGER, "--strategy", "best"]) == 2
    assert run(["ask", EIGER, "--min-confidence", "2"]) == 2
    assert capsys.readouterr().out == ""


def test_no_index(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--index", "nowhere"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "no index at nowhere" in err
    assert "sparc-search ingest" in err


def test_nothing_found(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--where", "kind=deserts"]) == 0
    assert "No answer found" in capsys.readouterr().out


def test_min_confidence_needs_a_calibrated_model(folder: Path, capsys: Out) -> None:
    assert run(["ask", EIGER, "--min-confidence", "0.9"]) == 0
    out, err = capsys.readouterr()
    assert "gives no confidence" in err
    assert "1858" in out


def test_a_guess_is_called_one(folder: Path, toy_plugin: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__("sparc_search_toy_encoder")
    card = {"confidence": {"bias": -7.0, "score": 1.0, "lead": 0.0, "widest": 10.0}}
    monkeypatch.setattr(module.ToyEncoder, "card", card, raising=False)
    assert run(["ask", EIGER, "--min-confidence", "0.9"]) == 0
    out = capsys.readouterr().out
    assert "Not found in your documents. Best guess: 1858  score 6.21, confidence 31%" in out
    assert "Other guesses: 2. 1865" in out
    assert run(["ask", EIGER, "--min-confidence", "0.9", "--json"]) == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["guess"] is True
    assert reply["confidence"] == pytest.approx(0.3127, abs=1e-3)
    assert run(["ask", EIGER, "--min-confidence", "0.1"]) == 0
    assert " 1. 1858  score 6.21, confidence 31%" in capsys.readouterr().out
    monkeypatch.setenv("SPARC_SEARCH_MIN_CONFIDENCE", "0.5")
    assert run(["ask", EIGER]) == 0
    assert "Not found" in capsys.readouterr().out
    assert run(["ask", EIGER, "--unit", "passage"]) == 0  # the confidence is in the phrase
    assert "Not found" not in capsys.readouterr().out


def test_nothing_hostile_reaches_the_terminal(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    text = "The Eiger \x1b]0;owned\x07 was climbed in 1999 \u202e [bold]now[/bold]."
    fill(folder, toy_encoder, Document("evil", text, "\x1b[2Jtitle", "evil\r.txt", {"evil": "yes"}))
    for more in ([], ["--explain"], ["--json"]):
        assert run(["ask", EIGER, "--where", "evil=yes", *more]) == 0
        out = capsys.readouterr().out
        assert not set(out) & set("\x1b\x07\r\u202e")
    assert "[bold]now[/bold]" in out


def test_it_runs_as_a_program(folder: Path, run_program: Any) -> None:
    done = run_program("ask", EIGER, "--top-k", "1", cwd=folder)
    assert done.returncode == 0
    assert "[1858]" in done.stdout
    assert done.stderr == ""


# --- the sentence ----------------------------------------------------------------------------------------------------


def shown(text: str, span: str) -> str:
    start = text.index(span)
    passage = Passage("p", "d", 0, text)
    answer = Answer(span, 0.0, passage, start, start + len(span), (), ())
    return "".join(part.text for part in in_its_sentence(answer, marks=True))


def test_the_sentence_is_cut_out() -> None:
    text = 'One is here. "Two is 22." Three costs 3.50 now! Four?'
    assert shown(text, "here") == "One is [here]."
    assert shown(text, "22") == '"Two is [22]."'
    assert shown(text, "3.50") == "Three costs [3.50] now!"
    assert shown(text, "Four") == "[Four]?"
    assert shown("a\nb  c\n\nd", "c") == "a b [c]"


def test_a_long_sentence_is_shortened_around_the_answer() -> None:
    line = shown("left " * 200 + "HERE" + " right" * 200, "HERE")
    assert line.startswith("… left")
    assert "left [HERE] right" in line
    assert line.endswith("right …")
    assert len(line) < 340


# --- the prompt ------------------------------------------------------------------------------------------------------


@pytest.fixture
def index(folder: Path) -> Any:
    with Index.open() as index:
        yield index


def talk_through(index: Index, *lines: str) -> ask_prompt.Talk:
    talk = ask_prompt.Talk(3, "hybrid")
    for line in lines:
        talk = ask_prompt.answer_line(index, talk, line)
    return talk


def test_the_prompt_knows_its_commands(index: Index, capsys: Out) -> None:
    talk = talk_through(index, "  ", ":strategy dense", ":top 1", EIGER)
    out, err = capsys.readouterr()
    assert (talk.strategy, talk.top) == ("dense", 1)
    assert "strategy: dense" in err
    assert " 1. 1858" in out
    assert " 2. " not in out
    for line, expected in (
        (":explain", "proposed by dense search"),
        (":source 1", "The Eiger was first climbed"),
        (":help", ":strategy"),
        (":help", ":open [N]"),
    ):
        ask_prompt.answer_line(index, talk, line)
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (":explain", "ask something first"),
        (":source", "ask something first"),
        (":strategy best", "known are: hybrid, sparse, dense"),
        (":top many", "takes a number"),
        (":unit book", "known are: phrase, sentence, passage, document"),
        (":open", "ask something first"),
        (":top 0", "takes a number"),
        (":nonsense", "no command :nonsense"),
    ],
)
def test_the_prompt_explains_what_is_wrong(index: Index, capsys: Out, line: str, expected: str) -> None:
    talk_through(index, line)
    assert expected in capsys.readouterr().err


def test_there_is_no_third_answer(index: Index, capsys: Out) -> None:
    talk_through(index, ":top 2", EIGER, ":explain 3")
    assert "answers 1 to 2" in capsys.readouterr().err


def test_a_whole_conversation(index: Index, capsys: Out, tmp_path: Path) -> None:
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text(f"{EIGER}\n:top 1\n{EIGER}\n:quit\n")
        ask_prompt.converse(index, {}, explain=False)
    out, err = capsys.readouterr()
    assert out.count(" 1. 1858") == 2
    assert out.count(" 2. 1865") == 1
    assert ":help" in err
    history = tmp_path / "state" / "sparc-search" / "questions"
    assert f"+{EIGER}" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def test_an_error_does_not_end_the_conversation(index: Index, capsys: Out) -> None:
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text(f"\x9f\n{EIGER}\n\x04")  # a control character, a question, Ctrl-D
        ask_prompt.converse(index, {}, explain=False)
    out, err = capsys.readouterr()
    assert "the question is empty" in err
    assert "1858" in out


def test_plain_documents_have_a_place_too(folder: Path, toy_encoder: Encoder, capsys: Out) -> None:
    fill(folder, toy_encoder, plain("no-title", "Nobody counted 77 quokkas.", {"kind": "untitled"}))
    assert run(["ask", "How many quokkas?", "--where", "kind=untitled"]) == 0
    assert "no-title" in capsys.readouterr().out
