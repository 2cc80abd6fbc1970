"""The differences that the tables are about, each tested on the questions both runs share."""

from __future__ import annotations

from collections.abc import Mapping

from .markdown import table
from .measurements import Report
from .significance import compare

PAIRS = (
    ("SPARC switched on, in the shipped model", "{}/shipped/hybrid/without-sparc", "{}/shipped/hybrid"),
    ("lexical part switched on, in the shipped model", "{}/shipped/hybrid/without-lex", "{}/shipped/hybrid"),
    ("trained with SPARC instead of without", "{}/dense-only/hybrid", "{}/pair/hybrid"),
    ("trained with trigrams too", "{}/pair/hybrid", "{}/trigram/hybrid"),
    ("hybrid instead of sparse first", "{}/shipped/sparse", "{}/shipped/hybrid"),
    ("hybrid instead of dense first", "{}/shipped/dense", "{}/shipped/hybrid"),
    ("phrase index instead of retrieve and read", "{}/reader", "{}/shipped/hybrid"),
)

HEADERS = ("what", "questions", "EM before", "EM after", "difference", "95 % interval", "p (McNemar)")


def comparison_table(measured: Mapping[str, Report]) -> str:
    """One row for each pair of which both were measured."""
    rows = [
        _row(f"{what} ({name})", measured[before.format(name)], measured[after.format(name)])
        for what, before, after in PAIRS
        for name in ("squad", "trec")
        if before.format(name) in measured and after.format(name) in measured
    ]
    return table(HEADERS, rows)


def _row(what: str, before: Report, after: Report) -> tuple[str, ...]:
    compared = compare(before["rows"], after["rows"])
    em = compared.exact_match
    p_value = "< 0.001" if em.p_value < 0.001 else f"{em.p_value:.3f}"
    shown = (f"{em.first:.1f}", f"{em.second:.1f}", f"{em.difference:+.1f}")
    return what, f"{compared.questions:,}", *shown, f"{em.interval[0]:+.1f} to {em.interval[1]:+.1f}", p_value
