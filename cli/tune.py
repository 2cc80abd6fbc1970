"""`sparc-search tune`: a question side that has learned from questions, over an index that stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.settings import Settings

from .evaluate_output import OnTerminal
from .options import PATH, json_option, option, settings_options
from .terminal import counted, note, print_table, result, result_json, sanitise
from .train import require_training, stop_on_signals

if TYPE_CHECKING:
    from sparc_search.evaluation.significance import MeasureDifference
    from sparc_search.tuning.run import TuningReport

_NAMED = 5
"""Questions that are named of each kind that is left out; --json has them all."""
NOT_WRITTEN = 3
"""Exit code: done, and no model was written."""


@click.command()
@click.argument("questions", nargs=-1, required=True, type=PATH)
@click.option("--out", required=True, type=PATH, help="Folder of the tuned model.")
@settings_options(
    "index engine model strategy sparse_candidates dense_candidates lex_weight first_stage_lex_weight threads"
)
@option("--layers", default=1, type=click.IntRange(0), help="Last layers of the network that learn, beside the heads.")
@option("--epochs", default=6, type=click.IntRange(1), help="Passes over the questions.")
@option("--rate", default=2e-5, type=click.FloatRange(0, min_open=True), help="Learning rate of the layers.")
@option("--head-rate", default=10.0, type=click.FloatRange(0), help="The heads' rate, as a multiple of --rate.")
@option("--batch", default=16, type=click.IntRange(1), help="Questions of a step.")
@option("--passages", default=20, type=click.IntRange(1, 200), help="Passages proposed for a question, and scored.")
@option("--folds", default=5, type=click.IntRange(2), help="Parts of the cross-validation.")
@option("--seed", default=45, help="Decides what chance decides.")
@click.option("--resume", is_flag=True, help="Go on with the tuning that was stopped.")
@click.option("--anyway", is_flag=True, help="Write the model even if no gain can be shown.")
@json_option
def tune(
    settings: Settings,
    questions: tuple[Path, ...],
    out: Path,
    resume: bool,
    anyway: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Learn from questions; nothing is encoded again.

    QUESTIONS are files of JSON lines with `question`, `answer` (or `answers`) and perhaps `source`, the feedback file
    of the pages, or any file that `evaluate open` reads. The question side of --model learns to find these answers in
    the index, whose passages stay as they are. What that is worth is measured by cross-validation; the model is
    written to --out only if it is a gain that chance does not explain (exit code 3 if not). Then: `ask --model OUT`.
    """
    require_training()
    import torch

    from sparc_search.tuning.learning import TuningSettings
    from sparc_search.tuning.run import Tuning

    if settings.threads:
        torch.set_num_threads(settings.threads)
    plan = Tuning(settings, questions, out, TuningSettings(**options), OnTerminal(), stop_on_signals())
    report = plan.run(resume=resume, anyway=anyway)
    for line in left_out(report):
        note(line)
    result_json(report.record()) if as_json else show(report, out)
    return 0 if report.written else NOT_WRITTEN


def left_out(report: TuningReport) -> Iterator[str]:
    """What was not learned from, and why."""
    asked = report.asked
    if asked.repeated:
        yield f"{counted(asked.repeated, 'line')} said again what another had said"
    if asked.unanswered:
        yield f"{counted(asked.unanswered, 'line')} without a right answer: not learned from"
    for names, why in (
        (asked.contradictory, "with answers that contradict each other: left out (put all right answers in one line)"),
        (report.nowhere, "whose answers stand nowhere in the index: not learned from"),
    ):
        if names:
            yield f"{counted(len(names), 'question')} {why}"
            yield from (f"  {sanitise(name)}" for name in names[:_NAMED])
            if len(names) > _NAMED:
                yield f"  … and {len(names) - _NAMED} more (--json has them all)"
    if report.not_proposed:
        yield f"{counted(report.not_proposed, 'question')} whose answer the search does not propose: not learned from"


def show(report: TuningReport, out: Path) -> None:
    """The figures, and what they mean."""
    judgement = report.judgement
    rows = [
        _row("right answer first (EM@1)", judgement.first),
        _row("right answer among 5 (EM@5)", judgement.among),
        _row("F1", judgement.f1),
    ]
    print_table(("cross-validated", "before", "after", "difference", "95 % interval"), rows)
    result("")
    learned = f"{counted(report.learned_from, 'question')} learned from, {judgement.questions:,} asked"
    sure = report.confidence
    if sure:
        before = "" if sure.error_before is None else f" (before: {sure.error_before:.3f})"
        learned += f"; calibration error of the confidence {sure.error:.3f}{before}"
    result(learned)
    result(verdict(report, out))


def verdict(report: TuningReport, out: Path) -> str:
    """One sentence on what the figures mean, and one on what was done."""
    meaning = {
        "gain": "It is a gain.",
        "no gain": "It is no gain that can be told from chance.",
        "too few": "With fewer than 100 questions a gain cannot be told from chance.",
    }[report.judgement.verdict]
    if report.written:
        return f'{meaning} The model is in {out}: sparc-search ask "…" --model {out}'
    return f"{meaning} Nothing was written; --anyway writes the model all the same."


def _row(name: str, measure: MeasureDifference) -> tuple[str, ...]:
    low, high = measure.interval
    shown = (f"{measure.first:.1f}", f"{measure.second:.1f}", f"{measure.difference:+.1f}")
    return name, *shown, f"{low:+.1f} to {high:+.1f}"
