from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from sparc_search.cli import ingest
from sparc_search.cli.ingest_progress import Forecast, expected_work, time_left
from sparc_search.loaders.history import ingests
from sparc_search.loaders.outcomes import IngestProgress

RunCli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "alps.md").write_text("# Alps\n\nThe Eiger was first climbed in 1858 by Charles Barrington.\n")
    (corpus / "seas.txt").write_text("The Baltic Sea is shallow. The Caspian Sea has no outlet.")
    return corpus


def summary(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def counts(done: subprocess.CompletedProcess[str]) -> tuple[int, ...]:
    """indexed, unchanged, rejected, skipped, deleted"""
    found = summary(done)
    assert found["read"] == found["indexed"] + found["unchanged"] + found["rejected"] + found["skipped"]
    return tuple(found[kind] for kind in ("indexed", "unchanged", "rejected", "skipped", "deleted"))


def test_parts_of_a_corpus_from_many_machines(run_program: RunCli, corpus: Path, tmp_path: Path) -> None:
    encode = ("encode", corpus, "--part", "1/1", "--out", tmp_path / "part-1.sparc")
    assert run_program(*encode).stdout.startswith("2 documents encoded into")
    again = run_program(*encode)
    assert (again.returncode, again.stdout) == (0, "")
    assert "nothing to do" in again.stderr
    into = ("index", "import", tmp_path / "part-1.sparc", tmp_path / "part-1.sparc", "--index", tmp_path / "index")
    assert run_program(*into).stdout == "2 documents with 2 passages, 2 unchanged\n"
    wrong = run_program("encode", corpus, "--part", "3/2", "--out", tmp_path / "part-3.sparc")
    assert wrong.returncode == 2
    assert not list(tmp_path.glob("part-3*"))


def test_the_summary_is_the_only_thing_on_stdout(run_program: RunCli, corpus: Path, tmp_path: Path) -> None:
    done = run_program("ingest", "--json", corpus, "--index", tmp_path / "index")
    assert (done.returncode, done.stderr) == (0, "")
    assert counts(done) == (2, 0, 0, 0, 0)
    found = summary(done)
    assert found["passages"] == 2
    assert found["bytes_per_word"] > 0
    assert found["rejects_file"] is None
    assert "first_passages" not in found
    again = run_program("ingest", "--json", corpus, "--index", tmp_path / "index")
    assert (again.returncode, counts(again)) == (0, (0, 2, 0, 0, 0))


def test_what_was_ingested_answers(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    run_cli("ingest", "--json", corpus, "--index", tmp_path / "index")
    done = run_cli("ask", "--index", tmp_path / "index", "--json", "When was the Eiger climbed?")
    assert "1858" in done.stdout


def test_a_dry_run_makes_no_index(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    (corpus / "bad.txt").write_bytes(b"\x00\xff\x00")
    (corpus / "picture.png").write_bytes(b"x")
    done = run_cli("ingest", "--json", corpus, "--index", tmp_path / "index", "--dry-run")
    assert done.returncode == 3
    assert counts(done) == (2, 0, 1, 1, 0)
    found = summary(done)
    assert found["first_passages"][0]["title"] == "Alps"
    assert found["reasons"]["no reader for files .png"] == 1
    assert not (tmp_path / "index").exists()
    assert not (tmp_path / "index.rejects.jsonl").exists()


def test_rejects_are_written_retried_and_gone(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    (corpus / "bad.txt").write_bytes(b"\x00\xff\x00")
    (corpus / "lines.jsonl").write_text('[1]\n{"text": "A good line."}\n')
    done = run_cli("ingest", "--json", corpus, "--index", tmp_path / "index")
    assert (done.returncode, counts(done)) == (3, (3, 0, 2, 0, 0))
    assert f"rejected {corpus / 'bad.txt'}: " in done.stderr
    rejects = tmp_path / "index.rejects.jsonl"
    assert summary(done)["rejects_file"] == str(rejects)
    assert [json.loads(line)["source"] for line in rejects.read_text().splitlines()] == [
        str(corpus / "bad.txt"),
        str(corpus / "lines.jsonl"),
    ]
    (corpus / "bad.txt").write_text("Zürich")
    done = run_cli("ingest", "--json", "--index", tmp_path / "index", "--retry-rejects")
    assert (done.returncode, counts(done)) == (3, (1, 1, 1, 0, 0))
    (corpus / "lines.jsonl").unlink()
    done = run_cli("ingest", "--json", "--index", tmp_path / "index", "--retry-rejects")
    assert (done.returncode, counts(done)) == (0, (0, 0, 0, 1, 0))
    assert not rejects.exists()


def test_sync_and_filters_and_corpus(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    index = ("--index", tmp_path / "index", "--corpus", "mine")
    assert counts(run_cli("ingest", "--json", corpus, *index, "--include", "*.md")) == (1, 0, 0, 1, 0)
    assert counts(run_cli("ingest", "--json", corpus, *index)) == (1, 1, 0, 0, 0)
    (corpus / "seas.txt").unlink()
    assert counts(run_cli("ingest", "--json", corpus, *index, "--exclude", "*.txt")) == (0, 1, 0, 0, 0)
    assert counts(run_cli("ingest", "--json", corpus, *index, "--sync")) == (0, 1, 0, 0, 1)


def test_standard_input_with_a_format_and_fields(run_cli: RunCli, tmp_path: Path) -> None:
    options = ("--format", "jsonl", "--id-field", "key", "--text-field", "abstract", "--title-field", "name")
    line = json.dumps({"key": "k", "abstract": "Some words.", "name": "N"})
    done = run_cli("ingest", "--json", "-", "--index", tmp_path / "index", *options, "--dry-run", input=line)
    (passage,) = summary(done)["first_passages"]
    assert (passage["document_id"], passage["text"], passage["title"]) == ("k", "Some words.", "N")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 1, "nothing to read"),
        (("nowhere",), 1, "there is no file or folder nowhere"),
        (("*.nothing",), 1, "no file fits"),
        (("empty",), 1, "is empty"),
        (("corpus", "--format", "markdwon"), 1, "did you mean 'markdown'"),
        (("corpus", "--include", "*.exe"), 1, "nothing to index"),
        (("corpus", "--include", "[z-a]"), 2, "bad pattern"),
        (("corpus", "--retry-rejects"), 2, "leave out PATH"),
        (("--retry-rejects",), 1, "there is no reject file"),
        (("corpus", "--batch-tokens", "0"), 2, "--batch-tokens"),
    ],
)
def test_wrong_calls_say_what_to_do(
    run_cli: RunCli, corpus: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "empty").mkdir()
    done = run_cli("ingest", "--json", *arguments, "--index", tmp_path / "index")
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_too_many_rejects_stop_it(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    (corpus / "a.jsonl").write_text("bad\n" * 10)
    done = run_cli("ingest", "--json", corpus, "--index", tmp_path / "index", "--max-rejects", "3")
    assert done.returncode == 1
    assert "rejects" in done.stderr
    assert summary(done)["stopped"] == "too many rejects"


def test_an_unreadable_file_is_one_reject(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    """Root may read everything, so what cannot be read is a link that leads nowhere."""
    (corpus / "secret.txt").symlink_to("nowhere")
    done = run_cli("ingest", "--json", corpus, "--index", tmp_path / "index")
    assert (done.returncode, counts(done)) == (3, (2, 0, 1, 0, 0))


def test_hostile_names_do_not_reach_the_terminal(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    (corpus / "evil\x1b[2J.txt").write_bytes(b"\x00\xff\x00")
    done = run_cli("ingest", "--json", corpus, "--index", tmp_path / "index")
    assert done.returncode == 3
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x1b" not in (tmp_path / "index.rejects.jsonl").read_text()


def test_a_full_disk_is_said_and_the_index_keeps_what_it_had(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    run_cli("ingest", "--json", corpus, "--index", index)
    paragraphs = (f"Paragraph {number} with more words for a longer text." for number in range(500))
    (corpus / "new.txt").write_text("\n\n".join(paragraphs))
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "from sparc_search.cli.main import run\n"
        f"sys.exit(run(['ingest', {str(corpus)!r}, '--index', {str(index)!r}]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if "toy-plugin" in path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr
    again = run_cli("ingest", "--json", corpus, "--index", index)
    assert (again.returncode, counts(again)) == (0, (1, 2, 0, 0, 0))


# --- signals ------------------------------------------------------------------------------------------------------


@pytest.fixture
def started(toy_plugin: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """An ingest from a pipe that is still open."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str, stderr: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "sparc_search.cli.main",
            "ingest",
            "--json",
            *arguments,
            "--index",
            str(tmp_path / "index"),
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(toy_plugin)},
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def feed(process: subprocess.Popen[str], count: int) -> None:
    assert process.stdin
    for number in range(count):
        process.stdin.write(json.dumps({"id": f"d{number}", "text": f"Document {number} speaks."}) + "\n")
    process.stdin.flush()


def has_documents(run_cli: RunCli, index: Path) -> bool:
    """Whether the running ingest has committed something: then nothing of it is new to a dry run."""
    line = json.dumps({"id": "d0", "text": "Document 0 speaks."})
    done = run_cli("ingest", "--json", "-", "--format", "jsonl", "--index", index, "--dry-run", input=line)
    return done.returncode == 0 and summary(done)["unchanged"] == 1


def test_ctrl_c_finishes_and_says_how_to_go_on(
    started: Callable[..., subprocess.Popen[str]], run_cli: RunCli, tmp_path: Path
) -> None:
    process = started("-", "--format", "jsonl")
    feed(process, 50)
    while not has_documents(run_cli, tmp_path / "index"):  # the pipe stays open, so this is after a timed commit
        assert process.poll() is None
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert json.loads(out)["stopped"] == "interrupted"
    assert json.loads(out)["indexed"] == 50
    assert "finishing the batch in flight" in err
    assert "run the same command again" in err


@pytest.mark.timeout(120)
def test_watching_goes_on_until_ctrl_c(
    started: Callable[..., subprocess.Popen[str]], corpus: Path, tmp_path: Path
) -> None:
    process = started(str(corpus), "--watch")
    assert process.stdout
    assert json.loads(process.stdout.readline())["indexed"] == 2
    made = tmp_path / "made"
    made.write_text("A third note.")
    made.rename(corpus / "third.txt")
    assert json.loads(process.stdout.readline())["indexed"] == 1
    made.write_bytes(b"\0\1\xff")
    made.rename(corpus / "bad.txt")
    assert json.loads(process.stdout.readline())["rejected"] == 1
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (0, "")
    assert f"rejected {corpus / 'bad.txt'}: " in err
    assert "Stopped." in err


def test_watching_is_not_for_runs_that_end(run_cli: RunCli, corpus: Path) -> None:
    for flag in ("--rebuild", "--dry-run", "--retry-rejects"):
        done = run_cli("ingest", corpus, "--watch", flag)
        assert done.returncode == 2
        assert f"--watch and {flag} exclude each other" in done.stderr


def test_after_a_kill_it_goes_on_and_nothing_is_lost_or_double(
    started: Callable[..., subprocess.Popen[str]], run_cli: RunCli, tmp_path: Path
) -> None:
    process = started("-", "--format", "jsonl")
    feed(process, 50)
    while not has_documents(run_cli, tmp_path / "index"):
        assert process.poll() is None
        time.sleep(0.2)
    process.kill()
    process.wait()
    lines = "".join(json.dumps({"id": f"d{n}", "text": f"Document {n} speaks."}) + "\n" for n in range(60))
    done = run_cli("ingest", "--json", "-", "--format", "jsonl", "--index", tmp_path / "index", input=lines)
    found = summary(done)
    assert found["unchanged"] >= 1
    assert found["unchanged"] + found["indexed"] == 60
    again = run_cli("ingest", "--json", "-", "--format", "jsonl", "--index", tmp_path / "index", input=lines)
    assert counts(again) == (0, 60, 0, 0, 0)


def test_a_second_ctrl_c_ends_it_at_once_and_the_index_is_whole(
    started: Callable[..., subprocess.Popen[str]], run_cli: RunCli, tmp_path: Path
) -> None:
    process = started("-", "--format", "jsonl")
    feed(process, 50)
    while not has_documents(run_cli, tmp_path / "index"):
        assert process.poll() is None
        time.sleep(0.2)
    feed(process, 2000)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    checked = run_cli("index", "verify", "--index", tmp_path / "index")
    assert (checked.returncode, checked.stdout[:11]) == (0, "all is well")


def test_signals_are_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ingest.stop_on_signals() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
    assert signal.getsignal(signal.SIGINT) is before


def test_the_bar_is_for_terminals(started: Callable[..., subprocess.Popen[str]], corpus: Path) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        process = started(str(corpus), stderr=terminal)
        out, _ = process.communicate()
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:  # the other side is closed
        pass
    finally:
        os.close(ours)
    assert json.loads(out)["indexed"] == 2
    assert b"loading the model" in shown
    assert b"passages" in shown


def test_the_summary_is_for_a_person(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (corpus / name).write_bytes(b"\xff\xfe\x00")
    (corpus / "c.txt").symlink_to("nowhere")
    (corpus / "none.xyz").write_text("?")
    done = run_cli("ingest", corpus, "--index", "index", "--readers", "1")
    assert done.returncode == 3
    first, second, *rest = done.stdout.splitlines()
    assert re.fullmatch(r"2 documents indexed into index: 2 passages, \d+\.\d s", first)
    assert second == "1 skipped"
    assert rest.pop(0).startswith("  no reader for")
    assert rest[0] == "3 documents rejected:"
    assert rest[1].startswith(f"  {corpus / 'a.txt'} and 1 more: ")
    assert rest[2].startswith(f"  {corpus / 'c.txt'}: ")
    assert rest[3:] == [
        "  All of them are in index.rejects.jsonl; `--retry-rejects` reads them again.",
        'Next: sparc-search ask "…" --index index',
    ]


def test_the_summary_says_what_was_left_out_and_what_is_gone(run_cli: RunCli, corpus: Path) -> None:
    (corpus / "node_modules").mkdir()
    (corpus / ".gitignore").write_text("drafts\n*.log\n")
    for name in ("drafts", "a.log"):
        (corpus / name).write_text("?")
    (corpus / "one.txt").write_text("The boat is called Albatross.")
    done = run_cli("ingest", corpus, "--index", "index")
    _, skipped, reasons, hint, *_ = done.stdout.splitlines()
    assert skipped == "4 skipped"
    assert sorted(reasons.strip().split(", ")) == ["a folder node_modules 1", "hidden 1", "named by .gitignore 2"]
    assert hint.startswith("  --no-ignore takes in what .gitignore names")
    assert "--no-ignore" not in run_cli("ingest", corpus, "--index", "index", "--no-ignore").stdout
    (corpus / "one.txt").unlink()
    done = run_cli("ingest", corpus, "--index", "index")
    assert "1 known file is gone: what it held is still answered; the same command with --sync" in done.stdout


def test_a_dry_run_shows_the_first_passages(run_cli: RunCli, corpus: Path) -> None:
    done = run_cli("ingest", corpus, "--dry-run", "--readers", "1")
    assert "2 documents would be indexed: 2 passages" in done.stdout
    assert "  Alps: The Eiger was first climbed in 1858" in done.stdout


@pytest.mark.parametrize(
    ("progress", "total", "expected"),
    [
        ({"work": 0}, 1000, None),  # nothing is cut yet
        ({"work": 50, "bytes_read": 100}, 1000, 500),
        ({"work": 50, "bytes_read": 100}, 0, None),  # nobody knows how much there is
        ({"work": 50, "bytes_read": 2000}, 1000, 50),
        ({"work": 50, "bytes_read": 100, "reading": False}, 1000, 50),  # the rest was passed over
    ],
)
def test_the_bar_counts_word_pieces(progress: dict[str, Any], total: int, expected: int | None) -> None:
    event = IngestProgress(
        **{"read": 1, "rejected": 0, "passages": 1, "tokens": 0, "bytes_read": 0, **progress}, seconds=1
    )
    assert expected_work(event, total) == expected


def test_the_time_left_goes_by_the_pace_of_the_encoder() -> None:
    def at(seconds: float, tokens: int) -> IngestProgress:
        return IngestProgress(1, 0, 1, tokens, 100, seconds, work=1000)

    forecast = Forecast()
    assert forecast.seconds_left(at(60, 0), 1000) is None
    assert forecast.seconds_left(at(70, 100), 1000) is None  # nobody knows how much of that was warming up
    assert forecast.seconds_left(at(80, 200), 1000) == pytest.approx(80)
    assert forecast.seconds_left(at(85, 200), 1000) == pytest.approx(75)  # the clock goes on between two batches
    assert forecast.seconds_left(at(160, 1000), 1000) == 0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "estimating the time"),
        (3, "a few seconds left"),
        (44, "about 40 s left"),
        (780, "about 13 min left"),
        (9000, "about 2.5 h left"),
    ],
)
def test_the_time_left_in_words(seconds: float | None, said: str) -> None:
    assert time_left(seconds) == said


def test_the_index_remembers_its_ingests(run_cli: RunCli, corpus: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    run_cli("ingest", "--json", corpus, "--index", index)
    run_cli("ingest", "--json", corpus, "--index", index, "--dry-run")  # writes nothing
    run_cli("ingest", "--json", corpus, "--index", index)
    newest, oldest = ingests(index)
    assert oldest["indexed"] == newest["unchanged"] == newest["read"] - newest["skipped"] - newest["rejected"] > 0
    assert newest["paths"] == [str(corpus)]
