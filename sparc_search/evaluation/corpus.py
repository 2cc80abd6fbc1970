"""The corpus of a measurement: its paragraphs, an up-to-date index of them, and the passages of an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from ..encoder import Encoder
from ..engine import Engine
from ..errors import ReaderError
from ..index import Index
from ..loaders.formats import Formats
from ..loaders.outcomes import Summary
from ..loaders.patterns import Filters
from ..loaders.reading import Read, Reading
from ..loaders.walk import roots, walk
from ..records import Passage
from ..settings import Settings
from .nested import TitledText
from .watching import QUIET, Watcher


def passages_of(engine: Engine) -> Iterator[Passage]:
    """Every passage, by document."""
    with engine.view() as view:
        for document in view.documents():
            for encoded in document.passages:
                yield encoded.passage


def bring_up_to_date(
    settings: Settings, encoder: Encoder, folder: Path, paths: Sequence[Path], watcher: Watcher = QUIET
) -> Summary:
    """Ingest the corpus into the index at `folder`; what is there already is not read again.

    `ReaderError` if a document is rejected: a corpus that is not there as a whole must not be measured.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (
        Index.create(folder, settings=settings, encoder=encoder, exist_ok=True) as index,
        watcher.ingesting() as update,
    ):
        summary = index.ingest(*paths, readers=1, on_event=update)
    named = ", ".join(path.name for path in paths)
    if summary.rejected:
        reasons = "; ".join(summary.reasons)
        raise ReaderError(f"{summary.rejected} documents of {named} were rejected: {reasons}", "correct them first")
    watcher.note(f"{named}: {summary.indexed:,} documents indexed, {summary.unchanged:,} were there")
    return summary


def paragraphs_of(paths: Sequence[Path]) -> Iterator[TitledText]:
    """The paragraphs of a corpus, in its order."""
    with closing(Reading(Formats(""), {})) as reading:
        for item in reading.everything(walk(roots([str(path) for path in paths]), Filters())):
            if isinstance(item, Read):
                for paragraph in item.document.text.split("\n\n"):
                    if text := paragraph.strip():
                        yield TitledText(item.document.title, text)
