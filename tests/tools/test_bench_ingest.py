"""The benchmarks of the ingest measure what they say: the same batches for both, the true store, and no leftovers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from engines import open_local

from sparc_search.encoder import Encoder
from sparc_search.loaders.outcomes import Summary
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.walk import roots
from sparc_search.records import Passage
from tools import bench_growth, bench_ingest

TEXTS = ["The Eiger is a mountain of the Alps.", "The Rhine is a river.", "Bern is the capital of Switzerland."]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(TEXTS)))
    return path


@pytest.fixture
def index(tmp_path: Path, corpus: Path, toy_encoder: Encoder) -> Path:
    with open_local(tmp_path / "index", toy_encoder.fingerprint, writable=True) as store:
        list(ingest(Plan(roots([str(corpus)])), toy_encoder, store))
    return tmp_path / "index"


def test_both_halves_encode_the_same_batches(tmp_path: Path, corpus: Path, toy_encoder: Encoder) -> None:
    encoder, compared = bench_ingest.Remembering(toy_encoder), bench_ingest.Compared()
    compared.part(corpus, encoder, tmp_path / "part")
    half = len(encoder.batches) // 2
    assert half
    assert encoder.batches[:half] == encoder.batches[half:]
    assert compared.passages == len(TEXTS)
    assert {"read", "cut", "encode", "write", "segments"} <= compared.stages.keys()


def test_what_is_told_is_the_ratio_of_the_sums() -> None:
    seconds = bench_ingest.Seconds
    compared = bench_ingest.Compared([100, 100], [seconds(2, 4), seconds(2, 4)], [seconds(1, 3), seconds(2, 3)])
    told = compared.told()
    assert "| by the clock | 75% | 50% to 100% |" in told
    assert "| by processor seconds | 75% | 75% to 75% |" in told
    assert "| pipeline | 50 | 25 |" in told


def test_the_part_of_a_corpus_that_is_compared_has_about_so_many_words(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("\n\n".join(["one two three four"] * 10))
    found = list(bench_ingest._some([str(tmp_path / "long.txt")], 10))
    assert [len(document.text.split()) for document in found] == [4, 4, 4]
    assert len({document.id for document in found}) == 3


def test_an_echo_has_the_block_of_its_passage_and_ngrams_of_its_own(index: Path) -> None:
    seeds = bench_growth._seeds(index)
    assert sorted(seed.passage.text for seed in seeds) == sorted(TEXTS)
    echo = bench_growth.Echo(seeds)
    copies = [echo.encode_passages([Passage(f"new-{n}", "new", 0, TEXTS[0])])[0] for n in range(2)]
    assert [copy.passage.id for copy in copies] == ["new-0", "new-1"]
    first, second = (set(copy.features["start"]) for copy in copies)
    assert {name for name in first & second if " " in name} == set()
    assert {name for name in first if " " not in name} == {name for name in second if " " not in name}


@pytest.mark.slow
def test_the_growth_of_a_small_index(index: Path) -> None:
    told = bench_growth.measured(index, [5, 50]).splitlines()
    rows = {cells[1].strip(): cells for line in told if (cells := line.split("|"))[1:]}
    assert [cell.strip() for cell in rows[""][2:4]] == ["5 passages", "50 passages"]
    assert {"most own, MB", "typically resident, MB", "to open, ms", "first search, ms"} <= rows.keys()


def test_an_ingest_of_copies_counts_them(index: Path, tmp_path: Path) -> None:
    seeds = bench_growth._seeds(index)
    path = bench_growth._write_corpus(tmp_path / "copies.jsonl", seeds, 7)
    echo = bench_growth.Echo(seeds)
    with open_local(tmp_path / "copies", echo.fingerprint, writable=True) as store:
        *_, summary = ingest(Plan(roots([str(path)])), echo, store)
        assert isinstance(summary, Summary)
        assert summary.passages == 7
        assert len(store.matching({})) == 7
