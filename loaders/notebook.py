"""Jupyter notebooks: cells of text as Markdown, cells of code as code; what they printed is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import decoded, whole
from .limits import TEXT_BYTES
from .markdown import add_markdown


class NotebookReader(Reader):
    """Jupyter notebooks (.ipynb): one document of text and code."""

    suffixes = (".ipynb",)

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the notebook."""
        try:
            cells = json.loads(decoded(whole(stream, TEXT_BYTES)))["cells"]
            builder = TextBuilder()
            for cell in cells:
                _add(builder, cell)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RejectedDocument(f"not a notebook: {error!r}", "save it again with Jupyter") from error
        yield builder.build(source, source)


reader = NotebookReader()


def _add(builder: TextBuilder, cell: Mapping[str, Any]) -> None:
    text = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        add_markdown(builder, text)
    elif cell["cell_type"] == "code":
        builder.block(text, "code")
