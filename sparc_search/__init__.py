"""Open-domain question answering with contextualized sparse representations (SPARC).

    from sparc_search import Index

    with Index.create("notes") as index:
        index.ingest("~/notes")
        print(index.ask("Who signed the lease?").best)

`Index` is the whole library; docs/python.md shows it on one page. Importing the package loads nothing heavy: each name
below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import SparcSearchError
    from .index import Index
    from .loaders.outcomes import Report, Summary
    from .records import Answer, Document, Passage, Reply
    from .settings import Settings

__all__ = ["Answer", "Document", "Index", "Passage", "Reply", "Report", "Settings", "SparcSearchError", "Summary"]

_WHERE = {
    "Answer": "records",
    "Document": "records",
    "Index": "index",
    "Passage": "records",
    "Reply": "records",
    "Report": "loaders.outcomes",
    "Settings": "settings",
    "SparcSearchError": "errors",
    "Summary": "loaders.outcomes",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sparc-search")
    if name in _WHERE:
        return getattr(import_module(f".{_WHERE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
