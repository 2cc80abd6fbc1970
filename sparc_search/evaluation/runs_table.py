"""Several runs side by side, as a Markdown table with the provenance of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .markdown import table
from .measurements import Report


def name_of(report: Report) -> str:
    """What a run is called: its system, strategy, what was switched off and whether passages were read again."""
    if "scores" in report:
        return "closed"
    words = [report.get("system") or "sparc-search", report.get("strategy") or ""]
    words += [f"without {part}" for part in report.get("without") or ()]
    if (read := report.get("read") or "never") != "never":
        words.append(f"read {read}")
    return ", ".join(word for word in words if word)


def with_interval(value: float | None, interval: Sequence[float] | None = None) -> str:
    """`61.3 (59.0-63.6)`; a dash for what does not apply."""
    if value is None:
        return "-"
    return f"{value:.1f} ({interval[0]:.1f}-{interval[1]:.1f})" if interval else f"{value:.1f}"


def number(value: float | None, digits: int, factor: float = 1.0) -> str:
    """A number, or a dash."""
    return "-" if value is None else f"{value * factor:.{digits}f}"


def figure(report: Report, measure: str) -> str:
    """A measure with its interval."""
    return with_interval(report[measure], (report.get("intervals") or {}).get(measure))


def share(recall: Mapping[str, float] | None, cut: str) -> str:
    """One cut of a recall."""
    return number((recall or {}).get(cut), 1)


COLUMNS: Mapping[str, Callable[[Report], str]] = {
    "run": name_of,
    "data": lambda run: f"{run['data']} ({run.get('data_sha256', '?')})",
    "questions": lambda run: f"{run['questions']:,}",
    "passages": lambda run: f"{run['passages']:,}",
    "EM": lambda run: figure(run, "exact_match"),
    "F1": lambda run: figure(run, "f1"),
    "right among 5": lambda run: share(run.get("answer_recall"), "@5"),
    "passage among 5": lambda run: share(run.get("passage_recall"), "@5"),
    "passage among 20": lambda run: share(run.get("passage_recall"), "@20"),
    "MRR": lambda run: number(run.get("mean_reciprocal_rank"), 3),
    "s/Q": lambda run: number(run.get("seconds_per_question"), 3),
    "p50 ms": lambda run: number(run.get("seconds_p50"), 1, 1000),
    "p95 ms": lambda run: number(run.get("seconds_p95"), 1, 1000),
    "model": lambda run: str(run.get("model", "-")),
    "date": lambda run: str(run.get("date", "-")),
}


def runs_table(reports: Sequence[Report]) -> str:
    """One row for each open run."""
    return table(list(COLUMNS), [[column(report) for column in COLUMNS.values()] for report in reports])
