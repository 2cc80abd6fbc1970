"""Files in SQuAD's format (v1.1 and v2.0): articles of paragraphs, with questions on them.

{"data": [{"title": …, "paragraphs": [{"context": …, "qas": [{"id": …, "question": …, "answers": [{"text": …,
"answer_start": …}]}]}]}]}; in v2.0 a question may be `is_impossible` and have `plausible_answers` only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .errors import ReaderError

Article = Mapping[str, Any]
"""One of `data`, as it stands in the file; what is missing there is a KeyError or TypeError where it is looked for."""


@dataclass(frozen=True, slots=True)
class SquadQuestion:
    """A question on a paragraph, with its right answers; none if the paragraph does not answer it."""

    id: str
    text: str
    answers: tuple[str, ...]
    start: int = -1
    """Where the first answer (of an impossible question: the first plausible one) begins; -1 if nobody says."""
    plausible: tuple[str, ...] = ()
    """Of an impossible question: what looks like an answer and is none."""


@dataclass(frozen=True, slots=True)
class SquadParagraph:
    """A paragraph, the questions on it, and the title of its article."""

    text: str
    questions: tuple[SquadQuestion, ...]
    title: str = ""


def read_paragraphs(path: Path) -> list[SquadParagraph]:
    """All paragraphs of a file; `ReaderError` if it is none of SQuAD's."""
    try:
        data = json.loads(path.read_bytes())["data"]
        return [paragraph for article in data for paragraph in paragraphs_of(article)]
    except OSError as error:
        raise ReaderError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReaderError(f"{path} is not a SQuAD file: {error!r}", "it needs a JSON object with `data`") from error


def paragraphs_of(article: Article) -> Iterator[SquadParagraph]:
    """The paragraphs of an article with their questions."""
    title = title_of(article)
    for paragraph in article["paragraphs"]:
        yield SquadParagraph(paragraph["context"], tuple(map(_question, paragraph["qas"])), title)


def contexts_of(article: Article) -> Iterator[str]:
    """The texts of its paragraphs; questions need not be there."""
    return (paragraph["context"] for paragraph in article["paragraphs"])


def title_of(article: Article) -> str:
    """Its title as one reads it: SQuAD has underscores for spaces."""
    return " ".join(str(article.get("title") or "").replace("_", " ").split())


def answerable(paragraphs: Iterable[SquadParagraph]) -> list[SquadParagraph]:
    """Only the questions that have answers, and only the paragraphs that have such questions."""
    kept = (replace(one, questions=tuple(asked for asked in one.questions if asked.answers)) for one in paragraphs)
    return [paragraph for paragraph in kept if paragraph.questions]


def _question(raw: Mapping[str, Any]) -> SquadQuestion:
    answers, plausible = raw.get("answers") or (), raw.get("plausible_answers") or ()
    first: Mapping[str, Any] = next(iter([*answers, *plausible]), {})
    texts, looks = (tuple(answer["text"] for answer in some) for some in (answers, plausible))
    return SquadQuestion(str(raw["id"]), raw["question"], texts, int(first.get("answer_start", -1)), looks)
