"""A sheet of wrong answers with a first guess at the cause: the map for the next step. A person has the last word.

Causes, the first that fits:

- `no answer`: nothing was found;
- `possibly right`: the answer says the same in other letters ("eleven" for "11", "U.S." for "US", a plural), or it
  stands in another passage that has most of the question's words: the file may just not list it;
- `boundary`: the answer overlaps a right one; it begins or ends at the wrong word;
- `wrong span`: the passage holds a right answer, another phrase of it was chosen;
- `wrong passage`: the passage holds no right answer.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..records import Answer, Reply
from .answers import normalise
from .holding import holds, words_of
from .markdown import table
from .open_domain import passage_rank
from .questions import OpenQuestion

Cause = Literal["no answer", "possibly right", "boundary", "wrong span", "wrong passage"]
CAUSES: tuple[Cause, ...] = ("wrong passage", "wrong span", "boundary", "possibly right", "no answer")

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COMMON = """
    a an and are as at be been by did do does for from had has have how in is it its many much of on or that the their
    there they to was were what when where which who whom whose why with
"""
_QUESTION_WORDS = frozenset(_COMMON.split())
_MOST = 0.8
"""A passage with this share of the question's own words may well answer it."""


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """One row of the sheet."""

    id: str
    question: str
    gold: tuple[str, ...]
    found: str
    passage: str
    title: str
    cause: Cause
    holding_rank: int
    """The first passage of the reply that holds a right answer, 0 if none does."""


def wrong_answer(question: OpenQuestion, reply: Reply) -> WrongAnswer | None:
    """The row of a question; None if its answer is right."""
    best = reply.best
    if best is not None and question.exact_match(best.text):
        return None
    return WrongAnswer(
        question.id,
        question.text,
        question.gold,
        best.text if best else "",
        best.passage.text if best else "",
        best.passage.title if best else "",
        cause_of(question, best),
        passage_rank(question, reply),
    )


def cause_of(question: OpenQuestion, best: Answer | None) -> Cause:
    """The first guess."""
    if best is None:
        return "no answer"
    if any(same_thing(best.text, gold) for gold in question.answers):
        return "possibly right"
    if overlaps(question, best.text):
        return "boundary"
    if holds(question, best.passage.text):
        return "wrong span"
    return "possibly right" if may_answer(question, best.passage.text) else "wrong passage"


def overlaps(question: OpenQuestion, found: str) -> bool:
    """Whether the answer shares a word with a right one that is more than a function word."""
    if question.pattern:
        return holds(question, found)
    said = set(normalise(found).split()) - _QUESTION_WORDS
    return any(said & set(normalise(gold).split()) for gold in question.answers)


def same_thing(found: str, gold: str) -> bool:
    """Equal once marks, accents, spaces, plurals and number words no longer count."""
    return bool(plain(found)) and plain(found) == plain(gold)


def plain(text: str) -> str:
    """What is left when spelling does not count."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    words = re.findall(r"\w+", normalise(re.sub(r"[-\u2013\u2014/]", " ", bare)))
    return "".join(str(_NUMBERS.index(word)) if word in _NUMBERS else word.removesuffix("s") for word in words)


def may_answer(question: OpenQuestion, passage: str) -> bool:
    """Whether a passage that is not the question's own has most of the question's words."""
    asked = words_of(question.text) - _QUESTION_WORDS
    if not asked or not question.context or passage in question.context or question.context in passage:
        return False
    return len(asked & words_of(passage)) >= _MOST * len(asked)


def sheet(wrong: Sequence[WrongAnswer], size: int, seed: int = 0) -> list[WrongAnswer]:
    """So many of them by chance, sorted by cause."""
    chosen = random.Random(seed).sample(list(wrong), min(size, len(wrong)))
    return sorted(chosen, key=lambda row: (CAUSES.index(row.cause), row.id))


def counts(wrong: Iterable[WrongAnswer]) -> dict[str, int]:
    """How many of each cause."""
    by_cause = Counter(row.cause for row in wrong)
    return {cause: by_cause[cause] for cause in CAUSES if by_cause[cause]}


HEADERS = ("cause (guess)", "cause (read)", "question", "gold", "answer", "passage", "title", "holding rank", "id")


def _cells(row: WrongAnswer) -> tuple[object, ...]:
    gold = " / ".join(row.gold)
    rank = row.holding_rank or "-"
    return row.cause, "", row.question, gold, row.found, row.passage, row.title, rank, row.id


def as_markdown(chosen: Sequence[WrongAnswer]) -> str:
    """The sheet as a page; the second column is for whoever reads it."""
    summary = table(("cause (guess)", "answers"), list(counts(chosen).items()))
    return f"{summary}\n\n{table(HEADERS, list(map(_cells, chosen)))}\n"


def as_tsv(chosen: Sequence[WrongAnswer]) -> str:
    """The sheet for a spreadsheet."""
    lines = [HEADERS, *map(_cells, chosen)]
    return "".join("\t".join(re.sub(r"\s+", " ", str(cell)) for cell in line) + "\n" for line in lines)
