"""The judge of the questions on documentation: what counts as right, and at which place."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from sparc_search.errors import NotThere
from sparc_search.records import Answer, Passage
from tools.documentation_questions import fetching, measuring
from tools.documentation_questions.__main__ import main
from tools.documentation_questions.judging import is_right, matches, plain, stands_in
from tools.documentation_questions.places import place_text
from tools.documentation_questions.records import ABSENT, CATEGORIES, SPLITS, Package, Place, Question, questions

PAGE = """<html><head><title>Tool</title><style>h1 {}</style></head><body>
<h1>Tool¶</h1><p>Made in <b>1999</b>.</p>
<h2>Options</h2><dl><dt>-d<dd>debug; the default is 5<dt>-D<dd>delete a user</dl>
<h3>Levels</h3><table><tr><th>level<th>meaning<tr><td>2<td>loud</table>
<h2>Bugs</h2><p>It takes 5 seconds.</p></body></html>"""


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("the Options of “ab”", 'options of "ab"'),
        ("with -D, it deletes", "-D"),
        ("default: 5, valid: 4 to 17", "5"),
        ("1998–2000", "1998-2000"),
        ("a ﬁle", "file"),
        ("the code RATE is sent", {"cased": "RATE"}),
        ("No, it can't", {"pattern": r"^no\b"}),
        ("HUP and TERM", {"all": ["TERM", "HUP"]}),
        ("marks, registers", {"of": ["marks", "registers", "history"], "least": 2}),
    ],
)
def test_an_accepted_form_is_found_as_whole_words(answer: str, form: object) -> None:
    assert is_right(answer, [form])


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("with -d", "-D"),
        ("--delete", "-d"),
        ("since 2.4.5", "5"),
        ("the -5 option", "5"),
        ("5,000 rounds", "5"),
        ("%b", "%B"),
        ("a joint", "J"),
        ("the packet rate", {"cased": "RATE"}),
        ("there is no way", {"pattern": r"^no\b"}),
        ("TERM", {"all": ["TERM", "HUP"]}),
        ("marks", {"of": ["marks", "registers", "history"], "least": 2}),
        ("lenny " + "and more " * 60, "lenny"),
    ],
)
def test_what_only_looks_like_an_accepted_form_is_wrong(answer: str, form: object) -> None:
    assert not is_right(answer, [form])


def test_the_words_beside_an_answer_tell_its_place() -> None:
    passage, place = "The default is 5 here. It takes 5 seconds.", "Options: the default is 5, and so on."
    first, second = matches(passage, ["5"])
    assert stands_in(passage, first, place)
    assert not stands_in(passage, second, place)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus" / "tool-doc"
    folder.mkdir(parents=True)
    (folder / "tool.html").write_text(PAGE, encoding="utf-8")
    (folder / "rules.txt.gz").write_bytes(
        gzip.compress(b"The Rules\n\n1. Aims\n\n   Free.\n\n2. Votes\n\n   By mail.\n")
    )
    rule = "=" * 78
    text = (
        f"<h1>help</h1><pre>INTRO\n\nA word.\n{rule}\n*02.1*\tRunning\n\nvim file\n{rule}\n*02.2*\tTyping\n\ni\n</pre>"
    )
    (folder / "help.html").write_text(text, encoding="utf-8")
    return tmp_path / "corpus"


def at(file: str, heading: str) -> Place:
    return Place("tool-doc", "1.0-1", file, heading)


def test_a_section_ends_where_the_next_of_its_level_begins(corpus: Path) -> None:
    assert place_text(at("tool.html", "Levels"), corpus) == "Levels level meaning 2 loud"
    options = place_text(at("tool.html", "Options"), corpus)
    assert options.startswith("Options -d debug; the default is 5 -D delete a user Levels")
    assert "seconds" not in options
    assert "1999" in place_text(at("tool.html", "Tool"), corpus)


def test_texts_and_the_help_of_vim_have_sections_too(corpus: Path) -> None:
    assert place_text(at("rules.txt.gz", "2. Votes"), corpus) == "2. Votes By mail."
    assert place_text(at("help.html", "02.1 Running"), corpus) == "02.1 Running vim file"


def test_a_place_that_is_not_there_is_named(corpus: Path) -> None:
    with pytest.raises(NotThere, match="no heading 'Nothing'"):
        place_text(at("tool.html", "Nothing"), corpus)


@pytest.fixture
def question() -> Question:
    return Question("q1", "default", "How loud is it?", ("5",), (at("tool.html", "Options"),))


def answered(corpus: Path, text: str, shown: str, file: str = "tool.html") -> Answer:
    passage = Passage("p", "d", 0, text, source=str(corpus / "tool-doc" / file))
    start = text.index(shown)
    return Answer(shown, 1.0, passage, start, start + len(shown), (), ())


def test_an_answer_is_right_at_its_place_only(corpus: Path, question: Question) -> None:
    judge = measuring.Judge(corpus)
    assert judge.answer(question, answered(corpus, "-d debug; the default is 5", "5"))
    assert not judge.answer(question, answered(corpus, "-d debug; the default is 5", "debug"))
    assert not judge.answer(question, answered(corpus, "It takes 5 seconds.", "5"))
    assert not judge.answer(question, answered(corpus, "-d debug; the default is 5", "5", "help.html"))


def test_a_passage_is_right_if_it_holds_the_answer_of_the_place(corpus: Path, question: Question) -> None:
    judge = measuring.Judge(corpus)
    assert judge.passage(question, answered(corpus, "It takes 5 seconds. The default is 5", "It").passage)
    assert not judge.passage(question, answered(corpus, "It takes 5 seconds.", "It").passage)


def test_the_report_counts_by_category_and_leaves_out_what_has_no_answer(question: Question) -> None:
    absent = Question("q2", ABSENT, "Who is it?", (), ())
    measured = [
        measuring.Outcome(question, 1, 1, 3, 0.9, "5"),
        measuring.Outcome(question, None, 2, None, 0.1, "debug"),
        measuring.Outcome(absent, None, None, None, 0.15, "1999"),
    ]
    told = measuring.report(measured, 0.2)
    assert "| default | 2 | 50% (1) | 50% (1) | 50% (1) | 100% (2) | 50% (1) | 0% (0) | 50% (1) |" in told
    assert f"| {ABSENT} | 1 | - | - | - | - | 100% (1) | - | - |" in told
    assert "| **all that are in the corpus** | 2 |" in told
    assert "| below 0.2 | 0% (0) | 100% (1) | 100% (1) |" in told
    assert "| default | 2 | 50% (1) | 50% (1) | 50% (1) | 100% (2) | - | 0% (0) | 50% (1) |" in measuring.report(
        measured, None
    )


def test_both_halves_hold_every_category_alike() -> None:
    build, sealed = (Counter(question.category for question in questions(split)) for split in SPLITS)
    assert set(build) == set(sealed) == set(CATEGORIES)
    assert all(abs(build[category] - sealed[category]) <= 1 for category in CATEGORIES)
    every = [question for split in SPLITS for question in questions(split)]
    assert len(every) >= 300
    assert len({question.id for question in every}) == len({question.question for question in every}) == len(every)


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb")
def test_only_the_listed_files_are_unpacked(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    control = (
        "Package: tool-doc\nVersion: 1:1.0-1\nArchitecture: all\nMaintainer: A <a@example.org>\nDescription: tool\n"
    )
    (root / "DEBIAN" / "control").write_text(control)
    (root / "usr" / "doc").mkdir(parents=True)
    for name in ("tool.html", "other.html"):
        (root / "usr" / "doc" / name).write_text(PAGE)
    archive = tmp_path / "tool-doc_1%3a1.0-1_all.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, archive], check=True, capture_output=True)
    fetching.fetch([Package("tool-doc", "1:1.0-1", "usr/doc", ("tool.html",))], tmp_path / "out", tmp_path)
    assert [path.name for path in (tmp_path / "out").rglob("*.html")] == ["tool.html"]
    with pytest.raises(NotThere, match=r"has no usr/doc/gone\.html"):
        fetching.fetch([Package("tool-doc", "1:1.0-1", "usr/doc", ("gone.html",))], tmp_path / "out", tmp_path)


def test_a_package_that_is_not_in_the_folder_is_named_with_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(NotThere, match=r"tool-doc_1%3a1.0-1_\*\.deb.*archive of snapshots"):
        fetching.fetch([Package("tool-doc", "1:1.0-1", "usr/doc", ("tool.html",))], tmp_path / "out", tmp_path)


def test_documentation_is_kept_out_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "docs"]) == 2
    assert "outside of the project" in capsys.readouterr().err


def test_an_unknown_package_is_answered_with_the_known_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", str(tmp_path), "--packages", "vim-doc,emacs-doc"]) == 2
    assert re.search("called emacs-doc.*known are .*vim-doc", capsys.readouterr().err, re.DOTALL)


def test_plain_text_has_one_kind_of_everything() -> None:
    assert plain("a\u00ad\n “b” – ﬁ") == 'a "b" - fi'
