"""Indexes that a measurement needs: read by the same pipeline as `ingest`, kept, and gone on with if stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sparc_search.errors import ReaderError
from sparc_search.settings import Settings

from .terminal import note

if TYPE_CHECKING:
    from sparc_search.encoder import Encoder
    from sparc_search.evaluation.nested import Text
    from sparc_search.loaders.outcomes import Summary


def bring_up_to_date(settings: Settings, encoder: Encoder, folder: Path, paths: Sequence[Path]) -> Summary:
    """Read the corpus into the index at `folder`; what is there already is not read again."""
    from sparc_search.index import Index

    from .ingest_progress import Bar

    folder.parent.mkdir(parents=True, exist_ok=True)
    with Index.create(folder, settings=settings, encoder=encoder, exist_ok=True) as index, Bar() as bar:
        return checked(index.ingest(*paths, readers=1, on_event=bar.update), paths)


def checked(summary: Summary, paths: Sequence[Path]) -> Summary:
    """A corpus that is not there as a whole must not be measured."""
    named = ", ".join(path.name for path in paths)
    if summary.rejected:
        reasons = "; ".join(summary.reasons)
        raise ReaderError(f"{summary.rejected} documents of {named} were rejected: {reasons}", "correct them first")
    note(f"{named}: {summary.indexed:,} documents indexed, {summary.unchanged:,} were there")
    return summary


def paragraphs_of(paths: Sequence[Path]) -> Iterator[Text]:
    """The paragraphs of a corpus, in its order."""
    from sparc_search.evaluation.nested import Text
    from sparc_search.loaders.formats import Formats
    from sparc_search.loaders.patterns import Filters
    from sparc_search.loaders.reading import Read, Reading
    from sparc_search.loaders.walk import roots, walk

    with closing(Reading(Formats(""), {})) as reading:
        for item in reading.everything(walk(roots([str(path) for path in paths]), Filters())):
            if isinstance(item, Read):
                document = item.document
                for paragraph in document.text.split("\n\n"):
                    if text := paragraph.strip():
                        yield Text(document.title, text)
