"""Files in SQuAD's format (v1.1 and v2.0): articles of paragraphs, with questions on them.

{"data": [{"title": …, "paragraphs": [{"context": …, "qas": [{"id": …, "question": …, "answers": [{"text": …,
"answer_start": …}]}]}]}]}; in v2.0 a question may be `is_impossible` and have `plausible_answers` only.
"""

from __future__ import annotations

import hashlib
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
    """A question on a paragraph, with its right answers."""

    id: str
    text: str
    answers: tuple[str, ...]
    start: int = -1
    """Where the first of them begins; -1 if the file does not say."""
    impossible: bool = False
    """It is marked as one that the paragraph does not answer."""
    plausible: tuple[str, ...] = ()
    """What then looks like an answer and is none."""


@dataclass(frozen=True, slots=True)
class SquadParagraph:
    """A paragraph, the questions on it, and the title of its article as it stands in the file."""

    text: str
    questions: tuple[SquadQuestion, ...]
    article: str = ""

    @property
    def title(self) -> str:
        """The title as one reads it."""
        return readable(self.article)


@dataclass(frozen=True, slots=True)
class SquadFile:
    """A file, its sha256, and how much its paragraphs count in training."""

    path: Path
    sha256: str
    paragraphs: tuple[SquadParagraph, ...]
    weight: float = 1.0


def read_squad(path: Path, weight: float = 1.0) -> SquadFile:
    """Read a file; `ReaderError` if it is none of SQuAD's."""
    try:
        raw = path.read_bytes()
        paragraphs = [paragraph for article in json.loads(raw)["data"] for paragraph in paragraphs_of(article)]
        return SquadFile(path, hashlib.sha256(raw).hexdigest(), tuple(paragraphs), weight)
    except OSError as error:
        raise ReaderError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReaderError(f"{path} is not a SQuAD file: {error!r}", "it needs a JSON object with `data`") from error


def paragraphs_of(article: Article) -> Iterator[SquadParagraph]:
    """The paragraphs of an article with their questions."""
    for paragraph in article["paragraphs"]:
        yield SquadParagraph(paragraph["context"], tuple(map(_question, paragraph["qas"])), title_of(article))


def contexts_of(article: Article) -> Iterator[str]:
    """The texts of its paragraphs; questions need not be there."""
    return (paragraph["context"] for paragraph in article["paragraphs"])


def title_of(article: Article) -> str:
    """Its title as it stands there; empty if it has none."""
    return str(article.get("title") or "")


def readable(title: str) -> str:
    """A title with spaces for SQuAD's underscores."""
    return " ".join(title.replace("_", " ").split())


def answerable(paragraphs: Iterable[SquadParagraph]) -> list[SquadParagraph]:
    """Only the questions that have answers, and only the paragraphs that have such questions."""
    kept = (replace(one, questions=tuple(asked for asked in one.questions if asked.answers)) for one in paragraphs)
    return [paragraph for paragraph in kept if paragraph.questions]


def _question(raw: Mapping[str, Any]) -> SquadQuestion:
    answers, plausible = raw.get("answers") or (), raw.get("plausible_answers") or ()
    start = int(answers[0].get("answer_start", -1)) if answers else -1
    right, wrong = (tuple(answer["text"] for answer in some) for some in (answers, plausible))
    impossible = bool(raw.get("is_impossible"))
    return SquadQuestion(str(raw.get("id", "")), raw["question"], right, start, impossible, wrong)
