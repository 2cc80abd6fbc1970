"""`sparc-search evaluate`, from the files a user has to the files a user gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from engines import open_local
from small_corpus import DOCUMENTS, encode_all
from tiny_model import BODY, tiny_network, tiny_pieces

from sparc_search.cli.main import run
from sparc_search.encoder import Encoder
from sparc_search.servers.ports import free_port

Out = pytest.CaptureFixture[str]

PARAGRAPHS = {
    "The Eiger was first climbed in 1858 by Charles Barrington.": [("When was the Eiger climbed?", "1858")],
    "The Matterhorn was first climbed in 1865 by Edward Whymper.": [
        ("When was the Matterhorn climbed?", "1865"),
        ("Who climbed the Matterhorn?", "Edward Whymper"),
    ],
    "The Caspian Sea covers 371000 square kilometres.": [("How many square kilometres has the Caspian Sea?", "371000")],
}


@pytest.fixture
def folder(tmp_path: Path, toy_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in: an index of the small corpus, questions in three formats, a corpus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    monkeypatch.setenv("SPARC_SEARCH_INDEX", "index")
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, toy_encoder))
    Path("dev.json").write_text(json.dumps({"data": [{"title": "T", "paragraphs": list(map(paragraph, PARAGRAPHS))}]}))
    Path("trec.tsv").write_text("1\tf\tWhen was the Eiger climbed?\t185\\d\n2\tf\tWhen was Rome founded?\t753\n")
    Path("more.jsonl").write_text(
        "".join(json.dumps({"id": n, "text": f"Lake {n} is deep."}) + "\n" for n in range(20))
    )
    return tmp_path


def paragraph(context: str) -> dict[str, Any]:
    qas = [
        {"id": question, "question": question, "answers": [{"text": answer, "answer_start": context.index(answer)}]}
        for question, answer in PARAGRAPHS[context]
    ]
    return {"context": context, "qas": qas}


def asked(capsys: Out, *arguments: str | Path) -> Any:
    assert run([*map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_closed(folder: Path, capsys: Out) -> None:
    report = asked(capsys, "evaluate", "squad", "dev.json", "--save", "new/closed.json", "--write-benchmarks", "p.md")
    assert report["questions"] == 4
    assert report["scores"]["all parts"]["exact_match"] >= 75
    assert report["command"].startswith("sparc-search evaluate squad dev.json --save closed.json")
    assert len(json.loads(Path("new/closed.json").read_text())["rows"]) == 16
    assert "## Closed" in Path("p.md").read_text()
    assert run(["evaluate", "squad", "dev.json", "--no-parts"]) == 0
    assert "4 questions" in capsys.readouterr().out
    shown = asked(
        capsys, "evaluate", "compare", "new/closed.json", "new/closed.json", "--second-variant", "without sparc"
    )
    assert shown["exact_match"]["difference"] <= 0
    assert run(["evaluate", "compare", "new/closed.json", "new/closed.json", "--variant", "x"]) == 2
    assert "it has: all parts" in capsys.readouterr().err


def test_open_and_all_that_it_writes(folder: Path, capsys: Out) -> None:
    files = {"save": "run.json", "rows": "rows.jsonl", "trec-run": "run.txt", "trec-qrels": "qrels.txt"}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    report = asked(capsys, "evaluate", "open", "dev.json", *options, "--wrong", "50", "wrong.md", "--answerable")
    assert report["exact_match"] >= 75
    assert report["passages"] == 3
    assert report["answerable"] == 100.0
    assert report["intervals"]["exact_match"][0] <= report["exact_match"] <= report["intervals"]["exact_match"][1]
    assert report["seconds_p50"] <= report["seconds_p95"]
    assert report["model"] == "toy-1"
    assert len(Path("rows.jsonl").read_text().splitlines()) == 4
    assert Path("run.txt").read_text().split()[1] == "Q0"
    assert len(Path("qrels.txt").read_text().splitlines()) == len(Path("run.txt").read_text().splitlines())
    assert "cause (guess)" in Path("wrong.md").read_text()


def test_what_is_switched_off_is_missed(folder: Path, capsys: Out) -> None:
    whole = asked(capsys, "evaluate", "open", "dev.json", "--save", "a.json")
    less = asked(
        capsys, "evaluate", "open", "dev.json", "--without", "dense", "--strategy", "sparse", "--save", "b.json"
    )
    assert less["without"] == ["dense"]
    assert less["strategy"] == "sparse"
    assert less["exact_match"] < whole["exact_match"]
    found = asked(capsys, "evaluate", "compare", "b.json", "a.json")
    assert found["exact_match"]["difference"] > 0
    assert run(["evaluate", "compare", "b.json", "a.json"]) == 0
    assert "4 questions; right in the first only: 0" in capsys.readouterr().out


def test_patterns_samples_and_people(folder: Path, capsys: Out) -> None:
    report = asked(capsys, "evaluate", "open", "trec.tsv", "--answerable", "--batched")
    assert (report["exact_match"], report["answerable"]) == (50.0, 50.0)
    assert asked(capsys, "evaluate", "open", "dev.json", "--sample", "2", "--seed", "3")["questions"] == 2
    assert run(["evaluate", "open", "dev.json", "--every", "2", "--wrong", "5", "w.tsv"]) == 0
    out, err = capsys.readouterr()
    assert "right among 5" in out
    assert "2 questions, 3 passages" in out
    assert "wrong answers are in w.tsv" in err
    assert run(["evaluate", "open", "nothing.json"]) == 1
    assert "cannot read" in capsys.readouterr().err


def test_baseline_and_report_with_plots(folder: Path, capsys: Out) -> None:
    ours = asked(capsys, "evaluate", "open", "dev.json", "--save", "a.json")
    bm25 = asked(capsys, "evaluate", "baseline", "dev.json", "--save", "b.json")
    assert bm25["exact_match"] is None  # passages are no answers
    assert bm25["passage_recall"]["@1"] == 100.0
    assert bm25["passages"] == ours["passages"]
    assert run(["evaluate", "baseline", "dev.json"]) == 0
    capsys.readouterr()
    arguments = ["a.json", "b.json", "--plots", "plots", "--write-benchmarks", "p.md", "--name", "two"]
    assert run(["evaluate", "report", *arguments]) == 0
    assert "| BM25 |" in capsys.readouterr().out
    page = Path("p.md").read_text()
    assert "(plots/two-latency.png)" in page
    assert "`sparc-search evaluate baseline dev.json --save b.json --json`" in page
    made = sorted(path.name for path in Path("plots").iterdir())
    assert made == ["two-latency.png", "two-recall-answers.png", "two-recall-passages.png"]


def test_a_report_of_something_else_is_refused(folder: Path, capsys: Out) -> None:
    asked(capsys, "evaluate", "squad", "dev.json", "--save", "closed.json")
    assert run(["evaluate", "report", "closed.json"]) == 2
    assert run(["evaluate", "report", "dev.json"]) == 1


def test_calibration_curve(folder: Path, capsys: Out) -> None:
    found = asked(capsys, "evaluate", "calibrate", "dev.json", "--absent", "trec.tsv", "--plot", "c.png")
    assert found["questions"] == 6
    assert sum(band["answers"] for band in found["bands"]) == 6
    assert 0 <= found["calibration_error"] <= 1
    assert [row["threshold"] for row in found["thresholds"]] == sorted(row["threshold"] for row in found["thresholds"])
    assert run(["evaluate", "calibrate", "dev.json", "--as-is"]) == 2  # the toy encoder gives no confidence
    assert "gives no confidence" in capsys.readouterr().err
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_cost_grows_and_goes_on(folder: Path, capsys: Out) -> None:
    call = ["evaluate", "cost", "--squad", "dev.json", "--corpus", "dev.json", "--corpus", "more.jsonl"]
    call += ["--sizes", "5,12,100", "--work", "work", "--questions", "4"]
    found = asked(capsys, *call, "--plot", "cost.png", "--write-benchmarks", "p.md")
    assert [point["passages"] for point in found["points"]] == [5, 12, 23]
    sizes = [point["index_bytes"] for point in found["points"]]
    assert sizes == sorted(sizes)
    assert all(point["exact_match"] >= 75 for point in found["points"])
    assert "![cost against the size of the corpus](cost.png)" in Path("p.md").read_text()
    again = asked(capsys, *call)
    assert again["points"] == found["points"]
    assert run([*call, "--strategy", "sparse"]) == 2
    assert "has grown beyond" in capsys.readouterr().err
    assert run([*call[:-4], "--sizes", "9,3"]) == 2


@pytest.mark.parametrize(
    "command",
    [
        ["baseline", "dev.json"],
        ["cost", "--squad", "dev.json", "--corpus", "dev.json", "--sizes", "2", "--questions", "2"],
    ],
)
def test_a_server_is_the_one_that_was_named(folder: Path, capsys: Out, command: list[str]) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    assert run(["evaluate", *command, "--engine", "opensearch", "--url", nobody]) == 1
    assert nobody in capsys.readouterr().err


def test_tables_with_one_model(folder: Path, capsys: Out) -> None:
    call = ["evaluate", "tables", "--squad", "dev.json", "--corpus", "dev.json", "--corpus", "more.jsonl"]
    call += ["--trec", "trec.tsv", "--work", "work"]
    assert run([*call, "--write-benchmarks", "p.md", "--plots", "plots"]) == 0, capsys.readouterr().err
    page = Path("p.md").read_text()
    assert all(f"### Table {number}" in page for number in "1235")
    assert "| Multi-passage BERT | paper, not reproduced here | - | 53.0 | 60.9 | 84 | - |" in page
    assert "| + Trigram SPARC | trained with trigrams | not measured |" in page
    assert "the answer of 50.0 % stands in the corpus" in page
    assert "SPARC switched on, in the shipped model (squad)" in page
    runs = page.partition("### Every open run")[2]
    assert "| shipped, dense, without lex | dev.json" in runs
    assert "| BM25 | dev.json" in runs
    assert str(folder) not in page
    capsys.readouterr()
    before = {path: path.stat().st_mtime_ns for path in Path("work/runs").iterdir()}
    measured = asked(capsys, *call)
    assert measured["squad/shipped/hybrid"]["exact_match"] >= 75
    assert {path: path.stat().st_mtime_ns for path in Path("work/runs").iterdir()} == before
    assert run([*call, "--write-benchmarks", "p.md", "--name", "small"]) == 0
    titles = [line for line in Path("p.md").read_text().splitlines() if line.startswith("## ")]
    assert titles == ["## The paper's tables", "## The paper's tables: small"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("base")
    weights = {f"bert.{name}": value.contiguous() for name, value in tiny_network().body.state_dict().items()}
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(BODY))
    tiny_pieces().save(folder)
    return folder


def test_a_reader_is_trained_and_read_with(folder: Path, base: Path, capsys: Out) -> None:
    call = ["evaluate", "train-reader", "dev.json", "--base", base, "--out", "reader", "--threads", "1"]
    record = asked(capsys, *call, "--tune", "1", "--negatives", "1", "--epochs", "2", "--batch", "2")
    assert record["training"]["questions"] <= 4
    assert record["window"] == 64
    assert "exact_match_by_mix" in record["training"]["tuning"]
    run_of = asked(capsys, "evaluate", "baseline", "dev.json", "--reader", "reader", "--read", "2", "--threads", "1")
    assert run_of["system"] == "BM25 + reader (2 passages)"
    assert run_of["exact_match"] is not None
    tables = ["evaluate", "tables", "--squad", "dev.json", "--corpus", "dev.json", "--work", "work", "--threads", "1"]
    measured = asked(capsys, *tables, "--reader", "reader", "--reader-sample", "2")
    assert measured["squad/reader"]["questions"] == 2
    assert measured["closed/reader"]["questions"] == 3
    assert measured["squad/reader"]["model"] == run_of["model"]
    assert run([*map(str, call[:4]), "nowhere", "--out", "x"]) == 1
    assert "no model in nowhere" in capsys.readouterr().err
