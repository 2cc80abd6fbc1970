"""Several runs side by side, as a Markdown table with the provenance of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .markdown import table

Report = Mapping[str, Any]

HEADERS = (
    "run",
    "data",
    "questions",
    "passages",
    "EM",
    "F1",
    "right among 5",
    "passage among 5",
    "passage among 20",
    "MRR",
    "s/Q",
    "p50 ms",
    "p95 ms",
    "model",
    "date",
)


def name_of(report: Report) -> str:
    """What a run is called: its system, strategy and what was switched off."""
    if "scores" in report:
        return "closed"
    words = [report.get("system") or "sparc-search", report.get("strategy") or ""]
    words += [f"without {part}" for part in report.get("without") or ()]
    return ", ".join(word for word in words if word)


def runs_table(reports: Sequence[Report]) -> str:
    """One row for each open run."""
    return table(HEADERS, [run_row(report) for report in reports])


def run_row(report: Report) -> list[str]:
    """One row."""
    intervals = report.get("intervals") or {}
    return [
        name_of(report),
        f"{report['data']} ({report.get('data_sha256', '?')})",
        f"{report['questions']:,}",
        f"{report['passages']:,}",
        with_interval(report["exact_match"], intervals.get("exact_match")),
        with_interval(report["f1"], intervals.get("f1")),
        share(report.get("answer_recall"), "@5"),
        share(report.get("passage_recall"), "@5"),
        share(report.get("passage_recall"), "@20"),
        number(report.get("mean_reciprocal_rank"), 3),
        number(report.get("seconds_per_question"), 3),
        number(report.get("seconds_p50"), 1, 1000),
        number(report.get("seconds_p95"), 1, 1000),
        str(report.get("model", "-")),
        str(report.get("date", "-")),
    ]


def with_interval(value: float | None, interval: Sequence[float] | None = None) -> str:
    """`61.3 (59.0-63.6)`; a dash for what does not apply."""
    if value is None:
        return "-"
    return f"{value:.1f} ({interval[0]:.1f}-{interval[1]:.1f})" if interval else f"{value:.1f}"


def share(recall: Mapping[str, float] | None, cut: str) -> str:
    """One cut of a recall."""
    return number((recall or {}).get(cut), 1)


def number(value: float | None, digits: int, factor: float = 1.0) -> str:
    """A number, or a dash."""
    return "-" if value is None else f"{value * factor:.{digits}f}"
