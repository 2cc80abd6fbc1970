"""TREC run files (`question Q0 passage rank score tag`) and judgements, for trec_eval, ir-measures and ranx.

Passages are ranked by their best answer. A passage is judged relevant if it holds a right answer; only passages that
were returned are judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..records import Reply
from .holding import holds
from .open_domain import distinct_passages
from .questions import OpenQuestion

Replies = Iterable[tuple[OpenQuestion, Reply]]


def run_lines(replies: Replies, tag: str) -> Iterator[str]:
    """The run. Scores fall strictly with the rank, because many tools rank by them alone."""
    for question, reply in replies:
        ceiling = float("inf")
        for rank, answer in enumerate(distinct_passages(reply.answers), 1):
            score = min(round(answer.score, 6), round(ceiling - 1e-6, 6)) if rank > 1 else round(answer.score, 6)
            ceiling = score
            yield f"{word(question.id)} Q0 {word(answer.passage.id)} {rank} {score:.6f} {word(tag)}"


def judgement_lines(replies: Replies) -> Iterator[str]:
    """`question 0 passage relevance` for every returned passage."""
    for question, reply in replies:
        for answer in distinct_passages(reply.answers):
            yield f"{word(question.id)} 0 {word(answer.passage.id)} {int(holds(question, answer.passage.text))}"


def word(name: str) -> str:
    """Columns are separated by spaces, so a name must not hold any."""
    return re.sub(r"\s+", "_", name) or "_"
