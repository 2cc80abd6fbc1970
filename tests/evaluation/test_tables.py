"""The tables: ours and the paper's side by side, and nothing that was not measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sparc_search.evaluation.comparisons import comparison_table
from sparc_search.evaluation.measurements import KeptMeasurements, OpenRun, open_runs
from sparc_search.evaluation.published import TABLE_1, TABLE_2, TABLE_3, TABLE_5
from sparc_search.evaluation.runs_table import name_of
from sparc_search.evaluation.tables import MISSING, NOT_OURS, OURS, TITLES, page, table_1, table_2, table_3, table_5


def run(em: float, seconds: float = 0.05) -> dict[str, Any]:
    rows = [{"id": str(n), "exact_match": float(n < em), "f1": float(n < em)} for n in range(100)]
    intervals = {"exact_match": (em - 2, em + 2), "f1": (em, em + 9)}
    return {"exact_match": em, "f1": em + 5, "intervals": intervals, "seconds_per_question": seconds, "rows": rows}


def lines(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"| {start}")]


def test_nothing_is_invented() -> None:
    for _, make in TITLES.values():
        ours = [line for line in make({}).splitlines()[2:] if f"| {OURS} |" in line or MISSING in line]
        assert ours
        for line in ours:
            assert MISSING in line
    ours = [line.replace("BM25", "") for line in table_1({}).splitlines() if f"| {OURS} |" in line]
    assert not re.search(r"\d", "".join(ours))


def test_systems_that_were_not_run_are_marked() -> None:
    text = table_1({})
    for row in TABLE_1:
        [line] = lines(text, f"{row.name} |")
        assert (NOT_OURS in line) is not row.name.startswith("DenSPI")
        assert f"| {row.squad_em:.1f} |" in line


def test_ours_beside_the_papers() -> None:
    measured = {
        "squad/reader": run(65.0, 5.0),
        "squad/shipped/hybrid": run(60.0),
        "squad/shipped/hybrid/without-sparc": run(50.0),
        "squad/dense-only/hybrid": run(55.0, 0.04),
        "trec/shipped/sparse": run(31.0),
    }
    first = table_1(measured)
    assert "60.0 (58.0-62.0) | 65.0 (60.0-69.0) | 0.050 | 100.0 |" in first
    second = table_2(measured)
    assert "| - SPARC | switched off in the shipped model | 50.0 (48.0-52.0) | 55.9 | 48.4 |" in second
    assert "| - SPARC | trained without SPARC | 55.0 (53.0-57.0) | 55.9 | 48.4 |" in second
    assert MISSING in lines(second, "+ Trigram")[0]
    [sfs] = lines(table_5(measured), "SFS | C.TREC")
    assert sfs.endswith("| 31.0 (29.0-33.0) | 28.8 | 30.0 |")


def test_closed() -> None:
    scores = {"all parts": {"exact_match": 66.0, "f1": 75.0}, "without sparc": {"exact_match": 51.0, "f1": 60.0}}
    intervals = {name: {"exact_match": (1, 2), "f1": (3, 4)} for name in scores}
    text = table_3({"closed/shipped": {"scores": scores, "intervals": intervals}})
    assert "| ours | 66.0 (1.0-2.0) | 75.0 (3.0-4.0) |" in text
    assert "SPARC switched off | ours | 51.0 (1.0-2.0) |" in text


def test_the_papers_own_sums() -> None:
    """Differences that the paper prints in brackets, from the numbers here: a slip of the pen would show."""
    ours, sparc, lex, trigram = TABLE_2
    gaps = [
        (round(ours.hundredth - row.hundredth, 1), round(ours.tenth - row.tenth, 1)) for row in (sparc, lex, trigram)
    ]
    assert gaps == [(4.1, 3.2), (1.9, 0.7), (2.0, 1.8)]
    assert [round(row.squad[1] - row.squad[0], 1) for row in TABLE_5] == [3.6, 5.9, 4.5]
    assert [round(row.trec[1] - row.trec[0], 1) for row in TABLE_5] == [1.2, 4.8, 4.1]
    named = {row.name: row for row in TABLE_1}
    hybrid = TABLE_5[2]
    assert (named["DenSPI"].squad_em, named["DenSPI + SPARC"].squad_em) == hybrid.squad
    assert (named["DenSPI"].trec_em, named["DenSPI + SPARC"].trec_em) == hybrid.trec
    assert round(TABLE_3[1].f1 - TABLE_3[4].f1, 1) == 6.1


def test_comparisons_of_what_there_is() -> None:
    assert comparison_table({}).count("\n") == 1
    both = comparison_table({"squad/shipped/hybrid/without-sparc": run(50.0), "squad/shipped/hybrid": run(60.0)})
    assert "| 100 | 50.0 | 60.0 | +10.0 |" in both


def test_runs_of_the_models_that_are_there() -> None:
    names = [one.name for one in open_runs(["shipped"], ["squad"])]
    assert len(names) == len(set(names)) == 9  # three strategies, whole and without either part
    assert not any("dense-only" in name for name in names)
    more = [one.name for one in open_runs(["shipped", "pair", "dense-only", "trigram"], ["squad", "trec"])]
    assert OpenRun("trec", "dense-only", "dense").name in more
    assert OpenRun("trec", "trigram", "dense").name not in more


def test_the_page_has_every_table() -> None:
    text = page({}, {"corpus": "open-10k"})
    assert all(title in text for title, _ in TITLES.values())
    assert "- corpus: open-10k" in text


def test_a_kept_measurement_is_not_made_again(tmp_path: Path) -> None:
    kept = KeptMeasurements(tmp_path)
    made: list[int] = []

    def measure() -> dict[str, Any]:
        made.append(1)
        return {"rows": [], "pair": (1, 2)}

    first = kept.get("a/b", {"model": "x", "without": ()}, measure)
    assert first == kept.get("a/b", {"model": "x", "without": ()}, measure)
    assert len(made) == 1
    kept.get("a/b", {"model": "y", "without": ()}, measure)
    assert len(made) == 2
    next(tmp_path.iterdir()).write_text("{")
    kept.get("a/b", {"model": "y", "without": ()}, measure)
    assert len(made) == 3


@pytest.mark.parametrize("name", ["1", "2", "3", "5"])
def test_tables_are_whole(name: str) -> None:
    rows = TITLES[name][1]({}).splitlines()
    assert len({row.count(" | ") for row in rows[2:]}) == 1


@pytest.mark.parametrize(("read", "name"), [(None, "hybrid"), ("never", "hybrid"), ("auto", "hybrid, read auto")])
def test_a_run_says_whether_passages_were_read_again(read: str | None, name: str) -> None:
    assert name_of({"strategy": "hybrid", "without": (), **({"read": read} if read else {})}) == f"sparc-search, {name}"
