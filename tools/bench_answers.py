"""Put saved evaluation reports side by side into docs/benchmarks.md.

sparc-search evaluate squad dev.json --save closed.json
sparc-search evaluate open dev.json --every 5 --index open-10k --save hybrid.json
python -m tools.bench_answers closed.json hybrid.json …
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparc_search.cli.terminal import result
from tools.benchmark_page import table, write_section

CLOSED = ("data", "questions", "score", "EM", "F1")
OPEN = (
    "data",
    "questions",
    "passages",
    "strategy",
    "without",
    "EM",
    "F1",
    "right among 5",
    "right among 10",
    "ms a question",
)


def main(paths: Sequence[str]) -> int:
    """Two tables: closed and open."""
    reports = [json.loads(Path(path).read_text("utf-8")) for path in paths]
    closed = [row for report in reports if "scores" in report for row in closed_rows(report)]
    opened = [open_row(report) for report in reports if "answer_recall" in report]
    models = sorted({report["model"] for report in reports})
    body = "\n\n".join(
        (
            f"Model {', '.join(models)}.",
            "Closed: the answer is sought in the question's own paragraph (`sparc-search evaluate squad`).",
            table(CLOSED, closed),
            "Open: it is sought in a whole index (`sparc-search evaluate open`).",
            table(OPEN, opened),
        )
    )
    write_section("answers", "Answers", "python -m tools.bench_answers REPORT.json …", body)
    result(body)
    return 0


def closed_rows(report: dict[str, Any]) -> list[list[object]]:
    """One row for each variant of the score."""
    about = [report["data"], f"{report['questions']:,}"]
    return [[*about, name, scores["exact_match"], scores["f1"]] for name, scores in report["scores"].items()]


def open_row(report: dict[str, Any]) -> list[object]:
    """One row for a run."""
    recall = report["answer_recall"]
    return [
        report["data"],
        f"{report['questions']:,}",
        f"{report['passages']:,}",
        report["strategy"],
        ", ".join(report["without"]) or "nothing",
        report["exact_match"],
        report["f1"],
        recall["@5"],
        recall["@10"],
        f"{1000 * report['seconds_per_question']:.1f}",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
