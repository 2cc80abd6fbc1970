"""Running a plan to its end, with someone who listens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine

from .outcomes import Event, Outcome, Report, Summary
from .pipeline import ingest
from .plan import Plan
from .rejects import RejectFile

Listener = Callable[[Event], None]
"""Is told the plan, then outcomes and progress, and the summary last."""


def run(
    plan: Plan,
    encoder: Encoder | None,
    engine: Engine | None,
    on_event: Listener | None = None,
    stop: threading.Event | None = None,
) -> Summary:
    """Run a plan; its summary."""
    tell = on_event or (lambda event: None)
    tell(plan)
    with closing(ingest(plan, encoder, engine, stop)) as events:
        for event in events:
            tell(event)
    assert isinstance(event, Summary)
    return event


def run_files(
    plan: Plan,
    encoder: Encoder,
    engine: Engine | None,
    rejects: RejectFile,
    on_event: Listener | None = None,
    stop: threading.Event | None = None,
) -> Summary:
    """Run a plan that reads files, and write down what was rejected; a dry run writes nothing."""
    if plan.dry_run:
        return run(plan, encoder, engine, on_event, stop)
    try:
        summary = run(plan, encoder, engine, _also(rejects.add, on_event), stop)
    except BaseException:
        rejects.abandon()
        raise
    if plan.only is not None and summary.stopped:
        rejects.abandon()  # the older file still names what was not tried again
        return replace(summary, rejects_file=rejects.path)
    return replace(summary, rejects_file=rejects.finish())


def run_documents(plan: Plan, encoder: Encoder | None, engine: Engine, on_event: Listener | None = None) -> Report:
    """Run a plan of documents that were handed over; what became of them."""
    rejects: list[Outcome] = []
    summary = run(plan, encoder, engine, _also(rejects.append, on_event))
    counts = {name: getattr(summary, name) for name in ("indexed", "unchanged", "rejected", "skipped", "passages")}
    return Report(**counts, rejects=tuple(rejects))


def _also(on_reject: Callable[[Outcome], object], on_event: Listener | None) -> Listener:
    """Tell every reject to one, and everything to the other."""

    def listen(event: Event) -> None:
        if isinstance(event, Outcome) and event.kind == "rejected":
            on_reject(event)
        if on_event:
            on_event(event)

    return listen
