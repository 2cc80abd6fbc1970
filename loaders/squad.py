"""SQuAD JSON: one article is one document, its paragraphs between blank lines, so that they are its passages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document
from sparc_search.squad import Article, contexts_of, readable, title_of

from .builder import TextBuilder
from .decode import decoded, whole
from .limits import JSON_BYTES
from .resuming import Item, Resuming, located


class SquadReader(Reader):
    """SQuAD JSON: one article is one document; questions and answers are left out."""

    suffixes = ()  # .json is looked into by the reader of JSON

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each article; a bad article is one reject, and the next one is read."""
        return Resuming(items(_articles(decoded(whole(stream, JSON_BYTES))), source))


reader = SquadReader()


def _articles(text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RejectedDocument(f"not JSON: {error}", "for one object a line, use --format jsonl") from error
    articles = value.get("data") if isinstance(value, dict) else None
    if not isinstance(articles, list):
        raise RejectedDocument("JSON, but not SQuAD: no list `data`", "for one object a line, use --format jsonl")
    return articles


def is_squad(value: Any) -> bool:
    """Whether a value of JSON is a file of SQuAD."""
    articles = value.get("data") if isinstance(value, dict) else None
    return isinstance(articles, list) and any(isinstance(one, dict) and "paragraphs" in one for one in articles)


def items(articles: list[Any], source: str) -> Iterator[Item]:
    """A document or reject for each article."""
    for number, article in enumerate(articles, start=1):
        try:
            yield located(f"article {number}", _document, article, number, source)
        except (KeyError, TypeError, AttributeError) as error:
            yield RejectedDocument(f"article {number} is not SQuAD: {error!r}", "correct or remove the article")


def _document(article: Article, number: int, source: str) -> Document:
    """Titles are not unique in every SQuAD-like file, so the number tells articles apart."""
    builder = TextBuilder()
    for context in contexts_of(article):
        builder.block(_one_paragraph(context))
    document = builder.build(f"{source}#{number}", source)
    return Document(document.id, document.text, readable(title_of(article)), source)


def _one_paragraph(context: str) -> str:
    """Without blank lines of its own, so that what SQuAD calls a paragraph stays one."""
    return "\n".join(line for line in context.splitlines() if line.strip())
