"""The shape of the paper's tables 1, 2, 3 and 5, with our measurements and, marked, the paper's numbers.

What was not measured is said to be so; nothing is filled in. `m` below is everything measured, by the names that
`measurements` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .markdown import table
from .measurements import OpenRun, Report
from .published import TABLE_1, TABLE_2, TABLE_3, TABLE_5
from .runs_table import with_interval

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


def run_of(m: Measured, questions: str, model: str, strategy: str = "hybrid", *without: str) -> Report | None:
    """One open run, if it was made."""
    return m.get(OpenRun(questions, model, strategy, without).name)


def em(report: Report | None) -> str:
    """Exact match with its interval."""
    return figure(report, "exact_match")


def figure(report: Report | None, measure: str) -> str:
    """A measure with its interval, or that it was not measured."""
    if report is None or report.get(measure) is None:
        return MISSING
    return with_interval(report[measure], (report.get("intervals") or {}).get(measure))


def seconds(report: Report | None) -> str:
    """Seconds per question."""
    return MISSING if report is None else f"{report['seconds_per_question']:.3f}"


def published(value: float | None) -> str:
    """A number of the paper, or its dash."""
    return "-" if value is None else f"{value:.1f}"


def table_1(m: Measured) -> str:
    """Open-domain results."""
    theirs = [
        (
            row.name,
            PAPER if row.name.startswith("DenSPI") else NOT_OURS,
            published(row.trec_em),
            published(row.squad_em),
            published(row.squad_f1),
            "-" if row.seconds is None else f"{row.seconds:g}",
            "-",
        )
        for row in TABLE_1
    ]
    reader = m.get("squad/reader")
    slow = reader["seconds_per_question"] if reader else None
    ours = [
        open_row("BM25 + reader (retrieve and read)", reader, m.get("trec/reader"), slow),
        *(
            open_row(label, run_of(m, "squad", model), run_of(m, "trec", model), slow)
            for label, model in (
                (f"DenSPI kind: {_KINDS['dense-only']}", "dense-only"),
                (f"DenSPI + SPARC kind: {_KINDS['pair']}", "pair"),
                (f"DenSPI + SPARC kind: {_KINDS['shipped']}", "shipped"),
            )
        ),
    ]
    headers = (
        "model",
        "whose number",
        "C.TREC EM",
        "SQuAD-Open EM",
        "SQuAD-Open F1",
        "s/Q",
        "times faster than reading",
    )
    return table(headers, [*theirs, *ours])


def open_row(label: str, squad: Report | None, trec: Report | None, slow: float | None) -> tuple[str, ...]:
    """Our row of table 1."""
    ratio = f"{slow / squad['seconds_per_question']:.1f}" if slow and squad else MISSING
    return label, OURS, em(trec), em(squad), figure(squad, "f1"), seconds(squad), ratio


def table_2(m: Measured) -> str:
    """Ablations."""
    ours: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
        "Ours": [("the shipped model", "shipped", ()), (_KINDS["pair"], "pair", ())],
        "- SPARC": [
            ("switched off in the shipped model", "shipped", ("sparc",)),
            (_KINDS["dense-only"], "dense-only", ()),
        ],
        "- Doc./Para. tf-idf": [("lexical part switched off in the shipped model", "shipped", ("lex",))],
        "+ Trigram SPARC": [(_KINDS["trigram"], "trigram", ())],
    }
    rows = [
        (
            row.name,
            detail,
            em(run_of(m, "squad", model, "hybrid", *without)),
            published(row.hundredth),
            published(row.tenth),
        )
        for row in TABLE_2
        for detail, model, without in ours[row.name]
    ]
    return table(("model", "here", "EM here", "EM 1/100, paper", "EM 1/10, paper"), rows)


def table_3(m: Measured) -> str:
    """Closed results."""
    theirs = [
        (
            kind(row.query_agnostic),
            row.name,
            PAPER if row.name.startswith("DenSPI") else NOT_OURS,
            published(row.em),
            published(row.f1),
        )
        for row in TABLE_3
    ]
    ours = [
        closed_row(False, "reader", m.get("closed/reader"), "all parts"),
        closed_row(True, f"DenSPI kind: {_KINDS['dense-only']}", m.get("closed/dense-only"), "all parts"),
        closed_row(True, f"DenSPI + SPARC kind: {_KINDS['pair']}", m.get("closed/pair"), "all parts"),
        closed_row(True, f"DenSPI + SPARC kind: {_KINDS['shipped']}", m.get("closed/shipped"), "all parts"),
        closed_row(True, "the shipped model, SPARC switched off", m.get("closed/shipped"), "without sparc"),
    ]
    return table(("kind", "model", "whose number", "EM", "F1"), [*theirs, *ours])


def kind(query_agnostic: bool) -> str:
    """The paper's two blocks."""
    return "query-agnostic" if query_agnostic else "reads question and passage together"


def closed_row(query_agnostic: bool, label: str, report: Report | None, variant: str) -> tuple[str, ...]:
    """Our row of table 3."""
    if report is None:
        return kind(query_agnostic), label, OURS, MISSING, MISSING
    scores, intervals = report["scores"][variant], report["intervals"][variant]
    figures = (with_interval(scores[measure], intervals[measure]) for measure in ("exact_match", "f1"))
    return kind(query_agnostic), label, OURS, *figures


def table_5(m: Measured) -> str:
    """Search strategies, without and with SPARC and the lexical part."""
    rows = []
    for row in TABLE_5:
        for questions, label, paper in (("squad", "SQuAD-Open", row.squad), ("trec", "C.TREC", row.trec)):
            reports = (
                run_of(m, questions, "dense-only", row.strategy),
                run_of(m, questions, "pair", row.strategy),
                run_of(m, questions, "shipped", row.strategy, "sparc"),
                run_of(m, questions, "shipped", row.strategy, "lex"),
                run_of(m, questions, "shipped", row.strategy),
            )
            rows.append((row.name, label, *map(em, reports), *map(published, paper)))
    headers = (
        "strategy",
        "questions",
        "trained without SPARC",
        "the same recipe with SPARC",
        "shipped, SPARC switched off",
        "shipped, lexical part switched off",
        "shipped",
        "DenSPI, paper",
        "+ SPARC, paper",
    )
    return table(headers, rows)


TITLES: dict[str, tuple[str, Any]] = {
    "1": ("Table 1: open-domain question answering", table_1),
    "2": ("Table 2: ablations", table_2),
    "3": ("Table 3: closed, SQuAD's development set", table_3),
    "5": ("Table 5: search strategies (EM)", table_5),
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
