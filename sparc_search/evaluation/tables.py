"""The shape of the paper's tables 1, 2, 3 and 5, with our measurements and, marked, the paper's numbers.

What was not measured is said to be so; nothing is filled in. `m` below is everything measured, by the names that
`measurements` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import runs_table
from .markdown import table
from .measurements import OpenRun, Report
from .published import TABLE_1, TABLE_2, TABLE_3, TABLE_5
from .runs_table import number, with_interval

Measured = Mapping[str, Report]

MISSING = "not measured"
PAPER = "paper"
OURS = "ours"
NOT_OURS = "paper, not reproduced here"

_KINDS = {
    "shipped": "the shipped model",
    "pair": "with SPARC, the dense-only model's recipe",
    "dense-only": "trained without SPARC",
    "trigram": "trained with trigrams",
}
_SYSTEMS = {
    "dense-only": f"DenSPI kind: {_KINDS['dense-only']}",
    "pair": f"DenSPI + SPARC kind: {_KINDS['pair']}",
    "shipped": f"DenSPI + SPARC kind: {_KINDS['shipped']}",
}
"""Models that stand in the tables as systems."""
_MEASURES = ("exact_match", "f1")


def run_of(m: Measured, questions: str, model: str, strategy: str = "hybrid", *without: str) -> Report | None:
    """One open run, if it was made."""
    return m.get(OpenRun(questions, model, strategy, without).name)


def figure(report: Report | None, measure: str = "exact_match") -> str:
    """A measure with its interval, or that it was not measured."""
    if report is None or report.get(measure) is None:
        return MISSING
    return runs_table.figure(report, measure)


def whose(name: str) -> str:
    """Whose number it is: the paper's own, or one that it cites."""
    return PAPER if name.startswith("DenSPI") else NOT_OURS


def table_1(m: Measured) -> str:
    """Open-domain results."""
    rows: list[tuple[str, ...]] = []
    for row in TABLE_1:
        figures = (number(value, 1) for value in (row.trec_em, row.squad_em, row.squad_f1))
        rows.append((row.name, whose(row.name), *figures, "-" if row.seconds is None else f"{row.seconds:g}", "-"))
    reader = m.get("squad/reader")
    slow = reader["seconds_per_question"] if reader else None
    rows.append(open_row("BM25 + reader (retrieve and read)", reader, m.get("trec/reader"), slow))
    for model, label in _SYSTEMS.items():
        rows.append(open_row(label, run_of(m, "squad", model), run_of(m, "trec", model), slow))
    measures = ("C.TREC EM", "SQuAD-Open EM", "SQuAD-Open F1", "s/Q", "times faster than reading")
    return table(("model", "whose number", *measures), rows)


def open_row(label: str, squad: Report | None, trec: Report | None, slow: float | None) -> tuple[str, ...]:
    """Our row of table 1."""
    seconds = f"{squad['seconds_per_question']:.3f}" if squad else MISSING
    ratio = f"{slow / squad['seconds_per_question']:.1f}" if slow and squad else MISSING
    return label, OURS, figure(trec), figure(squad), figure(squad, "f1"), seconds, ratio


def table_2(m: Measured) -> str:
    """Ablations."""
    ours: dict[str, dict[str, Report | None]] = {
        "Ours": {_KINDS[model]: run_of(m, "squad", model) for model in ("shipped", "pair")},
        "- SPARC": {
            "switched off in the shipped model": run_of(m, "squad", "shipped", "hybrid", "sparc"),
            _KINDS["dense-only"]: run_of(m, "squad", "dense-only"),
        },
        "- Doc./Para. tf-idf": {
            "lexical part switched off in the shipped model": run_of(m, "squad", "shipped", "hybrid", "lex")
        },
        "+ Trigram SPARC": {_KINDS["trigram"]: run_of(m, "squad", "trigram")},
    }
    rows = [
        (row.name, detail, figure(report), number(row.hundredth, 1), number(row.tenth, 1))
        for row in TABLE_2
        for detail, report in ours[row.name].items()
    ]
    return table(("model", "here", "EM here", "EM 1/100, paper", "EM 1/10, paper"), rows)


def table_3(m: Measured) -> str:
    """Closed results."""
    rows = [
        (kind(row.query_agnostic), row.name, whose(row.name), number(row.em, 1), number(row.f1, 1)) for row in TABLE_3
    ]
    rows.append(closed_row(kind(False), "reader", m.get("closed/reader")))
    rows += [closed_row(kind(True), label, m.get(f"closed/{model}")) for model, label in _SYSTEMS.items()]
    off = "the shipped model, SPARC switched off"
    rows.append(closed_row(kind(True), off, m.get("closed/shipped"), "without sparc"))
    return table(("kind", "model", "whose number", "EM", "F1"), rows)


def kind(query_agnostic: bool) -> str:
    """The paper's two blocks."""
    return "query-agnostic" if query_agnostic else "reads question and passage together"


def closed_row(
    block: str, label: str, report: Report | None, variant: str = "all parts"
) -> tuple[str, str, str, str, str]:
    """Our row of table 3."""
    if report is None:
        return block, label, OURS, MISSING, MISSING
    scores, intervals = report["scores"][variant], report["intervals"][variant]
    em, f1 = (with_interval(scores[measure], intervals[measure]) for measure in _MEASURES)
    return block, label, OURS, em, f1


def table_5(m: Measured) -> str:
    """Search strategies, without and with SPARC and the lexical part."""
    columns: dict[str, tuple[str, ...]] = {
        "trained without SPARC": ("dense-only",),
        "the same recipe with SPARC": ("pair",),
        "shipped, SPARC switched off": ("shipped", "sparc"),
        "shipped, lexical part switched off": ("shipped", "lex"),
        "shipped": ("shipped",),
    }
    rows = []
    for row in TABLE_5:
        for questions, label, paper in (("squad", "SQuAD-Open", row.squad), ("trec", "C.TREC", row.trec)):
            runs = (run_of(m, questions, model, row.strategy, *without) for model, *without in columns.values())
            rows.append((row.name, label, *map(figure, runs), *(number(value, 1) for value in paper)))
    return table(("strategy", "questions", *columns, "DenSPI, paper", "+ SPARC, paper"), rows)


def table_read(m: Measured) -> str:
    """Reading again, beside retrieve and read with the same reader."""
    rows = []
    for questions, label in (("squad", "SQuAD-Open"), ("trec", "C.TREC")):
        runs = {f"--read {read}": m.get(f"{questions}/read/{read}") for read in ("never", "auto", "5", "10", "20")}
        runs |= {"BM25 + reader": m.get(f"{questions}/reader"), "BM25 + reader, 100": m.get(f"{questions}/reader/100")}
        for name, report in runs.items():
            asked, seconds = (
                (f"{report['questions']:,}", f"{report['seconds_per_question']:.3f}") if report else (MISSING, MISSING)
            )
            rows.append((label, name, asked, figure(report), figure(report, "f1"), seconds))
    return table(("questions", "system", "asked", "EM", "F1", "s/Q"), rows)


TITLES: dict[str, tuple[str, Any]] = {
    "1": ("Table 1: open-domain question answering", table_1),
    "2": ("Table 2: ablations", table_2),
    "3": ("Table 3: closed, SQuAD's development set", table_3),
    "5": ("Table 5: search strategies (EM)", table_5),
    "read": ("Reading again", table_read),
}

NOTES = """Rows marked *paper* are copied from the paper (BERT-large, all of Wikipedia or the part named); rows marked
*not reproduced here* are published numbers of systems that were not run. Ours are on the corpus named below, so they
stand beside the paper's, not against them. "SPARC switched off" removes a part of a model that was trained with it and
makes that part look more useful than it is; only the model *trained* without SPARC may be compared with DenSPI's rows.
Intervals hold 95 % (bootstrap over paragraphs)."""


def page(m: Measured, about: Mapping[str, str]) -> str:
    """All tables, what they were measured with, and how often the corpus holds an answer at all."""
    facts = "\n".join(f"- {name}: {value}" for name, value in about.items())
    parts = [f"### {title}\n\n{make(m)}" for title, make in TITLES.values()]
    return "\n\n".join([NOTES, facts, *parts])
