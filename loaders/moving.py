"""All documents of one index into another, encoded anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine, View, supports
from sparc_search.errors import IndexFailure
from sparc_search.records import Document
from sparc_search.stored import EncodedDocument

from .encoding import Encoding, Job
from .outcomes import Report
from .passages import content_hash
from .pipeline import batched
from .plan import BATCH_TOKENS, Plan
from .reading import Read
from .running import Listener, run_documents
from .walk import Root

_AT_ONCE: Final = 500


def move(old: Engine, new: Engine, encoder: Encoder, on_event: Listener | None = None) -> Report:
    """Encode what the old index holds into the new one; `IndexFailure` if a single document cannot be.

    The new one may hold what an attempt that was stopped has brought there: it is not encoded again, and what the old
    index has lost since then is deleted.
    """
    with old.view() as before:
        documents = (Read(document, Root("index")) for document in before.texts())
        report = run_documents(Plan(documents=documents), encoder, new, on_event)
        if report.rejects:
            first = report.rejects[0]
            raise IndexFailure(
                f"{report.rejected:,} documents could not be encoded, and the old index stays; the first is "
                f"{first.document_id!r}: {first.reason}",
                first.remedy,
            )
        with new.view() as after:
            gone = list(_only_in(after, before)) if supports(after, View.documents_from) else []
    if gone:
        new.writer().delete(gone)
    return report


def encoded_again(documents: Iterable[Document], encoder: Encoder) -> Iterator[EncodedDocument]:
    """Documents as an ingest would bring them; `IndexFailure` if one cannot be encoded."""
    encoding = Encoding(encoder, BATCH_TOKENS, stopping=lambda: False, dry_run=False)
    for document in documents:
        job = Job(document, content_hash(document, encoder.window), Root("index"))
        (done,) = encoding.encode([encoding.cut(job)])
        if done.encoded is None:
            raise IndexFailure(f"document {document.id!r}: {done.problem}", "check its text")
        yield done.encoded


def _only_in(after: View, before: View) -> Iterator[str]:
    for some in batched([id for id, _ in after.documents_from("")], _AT_ONCE):
        kept = before.content_hashes(some)
        yield from (id for id in some if id not in kept)
