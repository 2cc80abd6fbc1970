"""`sparc-search evaluate compare`: two saved runs over the same questions, and whether they really differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import UsageError

from .options import PATH, json_option, option
from .terminal import print_table, result, result_json

if TYPE_CHECKING:
    from sparc_search.evaluation.significance import MeasureDifference

_HEADERS = ("measure", "first", "second", "difference", "95 % interval", "p")


@click.command()
@click.argument("first", type=PATH)
@click.argument("second", type=PATH)
@option("--variant", default="all parts", help="Of closed reports, the score to compare.")
@click.option("--second-variant", help="… of the second report.  [default: the same]")
@option("--seed", default=0, help="Decides what chance decides.")
@json_option
def compare(first: Path, second: Path, variant: str, second_variant: str | None, seed: int, as_json: bool) -> None:
    """Compare two runs question by question.

    FIRST and SECOND are reports that --save wrote. Exact match is tested by McNemar's exact test, F1 by Fisher's
    randomisation test, both two-sided; intervals come from a paired bootstrap over paragraphs.
    """
    from sparc_search.evaluation.provenance import read_report
    from sparc_search.evaluation.significance import compare as compared

    rows = [rows_of(read_report(path), name) for path, name in ((first, variant), (second, second_variant or variant))]
    pair = compared(*rows, seed=seed)
    if as_json:
        result_json(pair)
        return
    print_table(_HEADERS, [row_of("EM", pair.exact_match), row_of("F1", pair.f1)])
    result(f"{pair.questions:,} questions; right in the first only: {pair.only_first}, second only: {pair.only_second}")


def rows_of(report: dict[str, Any], variant: str) -> list[dict[str, Any]]:
    """The rows of a report; of a closed one those of a variant."""
    rows: list[dict[str, Any]] = report["rows"]
    if not rows or "variant" not in rows[0]:
        return rows
    known = list(dict.fromkeys(row["variant"] for row in rows))
    if variant not in known:
        raise UsageError(f"the report has no variant {variant!r}", f"it has: {', '.join(known)}")
    return [row for row in rows if row["variant"] == variant]


def row_of(name: str, measured: MeasureDifference) -> tuple[str, ...]:
    """One measure."""
    low, high = measured.interval
    p_value = "< 0.001" if measured.p_value < 0.001 else f"{measured.p_value:.3f}"
    return (
        name,
        f"{measured.first:.1f}",
        f"{measured.second:.1f}",
        f"{measured.difference:+.1f}",
        f"{low:+.1f} .. {high:+.1f}",
        p_value,
    )
