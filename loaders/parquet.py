"""Parquet: one row is one document, read in small batches. Needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from sparc_search.errors import MissingExtra, RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from . import fields
from .decode import seekable
from .resuming import Item, Resuming, located

_ROWS: Final = 64


class ParquetReader(Reader):
    """Parquet: one row is one document; other columns become metadata (extra `parquet`)."""

    suffixes = (".parquet",)
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each row; a bad row is one reject, and the next one is read."""
        return Resuming(_items(_rows(seekable(stream)), source, options))


reader = ParquetReader()


def _items(rows: Iterator[dict[str, Any]], source: str, options: Mapping[str, str]) -> Iterator[Item]:
    for number, row in enumerate(rows, start=1):
        yield located(f"row {number}", fields.document, row, source, number, options)


def _rows(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("reading Parquet files", "parquet") from None
    try:
        # Text stays in its dictionary: one long value repeated in every row is then held once, not once for each.
        schema = pq.read_schema(stream)
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        file = pq.ParquetFile(stream, read_dictionary=texts, pre_buffer=False)
        for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            for row in range(batch.num_rows):
                yield {name: column[row].as_py() for name, column in columns.items()}
    except (pa.ArrowException, OSError) as error:
        raise RejectedDocument(f"damaged Parquet file: {error}", "write the file again") from error
