"""What an ingest comes to, as a person reads it: what is in the index now, what is not and why, what to do next."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .terminal import counted, result

if TYPE_CHECKING:
    from sparc_search.loaders.outcomes import Event, Outcome, Summary
    from sparc_search.records import Passage
    from sparc_search.settings import Settings

_REASONS: Final = 3
_SHOWN: Final = 100
"""Characters of a passage that a dry run shows."""


class Rejects:
    """What a run left out: why, how often, and of rejects one file for each reason."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self.examples: dict[str, Outcome] = {}

    def update(self, event: Event) -> None:
        """Look at what happened."""
        from sparc_search.loaders.outcomes import Outcome

        if not isinstance(event, Outcome):
            return
        if event.kind == "rejected":
            self.reasons[event.reason] += 1
            self.examples.setdefault(event.reason, event)
        elif event.kind == "skipped":
            self.skipped[event.reason] += 1


def show_summary(summary: Summary, rejects: Rejects, settings: Settings) -> None:
    """Print it, on stdout."""
    would = "would be " if summary.dry_run else ""
    passages = counted(summary.passages, "passage")
    place = str(settings.index) if settings.engine == "local" else settings.engine
    where = "" if summary.dry_run else f" into {place}"
    result(f"{counted(summary.indexed, 'document')} {would}indexed{where}: {passages}, {_time(summary.seconds)}")
    others = {kind: getattr(summary, kind) for kind in ("unchanged", "renamed", "deleted", "skipped", "unfinished")}
    if any(others.values()):
        result(", ".join(f"{count:,} {kind}" for kind, count in others.items() if count))
    _show_skipped(rejects.skipped)
    if summary.gone:
        files = f"{counted(summary.gone, 'known file')} {'is' if summary.gone == 1 else 'are'} gone"
        held = "what it held is" if summary.gone == 1 else "what they held is"
        result(f"{files}: {held} still answered; the same command with --sync deletes that")
    for passage in summary.first_passages:
        result(f"  {_shown(passage)}")
    if summary.left_out:
        blocks = counted(summary.left_out, "block")
        result(f"left out: {blocks} of menus, footers and the like, {counted(summary.left_out_words, 'word')}")
    for block in summary.first_left_out:
        result(f"  {_line(block)}")
    for encoding, count in summary.encodings.items():
        result(f"{counted(count, 'document')} read as {encoding}, not as UTF-8")
    if summary.languages:
        result(_languages(summary))
    if summary.rejected:
        _show_rejects(summary, rejects)
    if not (summary.dry_run or summary.stopped or summary.found_nothing):
        elsewhere = f" --index {settings.index}" if settings.sources.get("index", "").startswith("flag") else ""
        result(f'Next: sparc-search ask "…"{elsewhere}')


def _show_skipped(reasons: Counter[str]) -> None:
    """Why files were left out, so that one notices if they are one's own, and what takes them in."""
    from sparc_search.loaders.ignored import is_ignored

    if not reasons:
        return
    most = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common(_REASONS))
    others = len(reasons) - _REASONS
    more = f", and {counted(others, 'other reason')}" if others > 0 else ""
    result(f"  {most}{more}")
    if any(map(is_ignored, reasons)):
        result("  --no-ignore takes in what .gitignore names, packages and build results")


def _languages(summary: Summary) -> str:
    """What it means that documents are in other languages than the model's."""
    count = sum(summary.languages.values())
    names = ", ".join(f"{name} {number:,}" for name, number in summary.languages.items())
    share = f"{count:,} of {counted(summary.indexed, 'document')} ({count / max(summary.indexed, count):.0%})"
    return (
        f"{share}: in a language that the model was not trained for ({names}).\n"
        "  Names, numbers and words that stand in the question are still found; expect few right answers besides."
    )


def _show_rejects(summary: Summary, rejects: Rejects) -> None:
    result(f"{counted(summary.rejected, 'document')} rejected:")
    for reason, count in rejects.reasons.most_common(_REASONS):
        example = rejects.examples[reason]
        file = example.source or example.document_id
        others = f" and {count - 1:,} more" if count > 1 else ""
        result(f"  {file}{others}: {reason}" + (f" ({example.remedy})" if example.remedy else ""))
    if len(rejects.reasons) > _REASONS:
        result(f"  and {counted(len(rejects.reasons) - _REASONS, 'other reason')}")
    if summary.rejects_file:
        result(f"  All of them are in {_short(summary.rejects_file)}; `--retry-rejects` reads them again.")


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_absolute() and path.is_relative_to(Path.cwd()) else path)


def _shown(passage: Passage) -> str:
    return f"{passage.title}: {_line(passage.text)}"


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line[:_SHOWN] + (" …" if len(line) > _SHOWN else "")


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
