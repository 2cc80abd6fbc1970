"""Replies as a person reads them: answers marked in their sentence, grouped by document, with score and source."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sparc_search.records import Answer, Reply

from .lines import Part, colours, part, print_line
from .terminal import indented, numbers, sanitise, stdout, styled

if TYPE_CHECKING:  # rich takes longer to import than a question takes
    from rich.console import Console
    from rich.text import Text

_SENTENCE_END = re.compile("[.!?…](?=[\"')\\]\u201d\u2019]*\\s)|\n\\s*\n")
_SPACE = re.compile(r"\s+")
NO_ANSWER = "No answer found: the index is empty, or nothing in it passes the filters (--where)."
_INDENT = 4
_WIDEST = 160
"""Characters shown before and after an answer."""


def show_reply(reply: Reply, *, minimum: float = 0.0, explained: bool = False, asked: bool = False) -> None:
    """Print a reply: its answers by document, then what it took; with `asked`, the question above them."""
    if asked:
        print_line(part(reply.question, "bold"))
    if not reply.answers:
        print_line(part(NO_ANSWER, "yellow"))
    elif is_guess(reply, minimum):
        sure = _percent(reply.confidence)
        print_line(part(f"No answer that is sure enough ({sure}). The best guess:", "yellow"))
    for answers in _by_document(reply.answers[:1] if is_guess(reply, minimum) else reply.answers):
        _show_document(answers, explained)
    for what in reply.degraded:
        print_line(part(f"Answers may be missing: {what}", "red"))
    print_line(part(took(reply), "dim"))


def is_guess(reply: Reply, minimum: float) -> bool:
    """Whether the best answer is below the confidence that was asked for."""
    return reply.confidence is not None and reply.confidence < minimum


def as_plain(reply: Reply, minimum: float = 0.0) -> dict[str, object]:
    """A reply for JSON: its own fields, and whether its best answer is only a guess."""
    fields = {field.name: getattr(reply, field.name) for field in dataclasses.fields(reply)}
    return {**fields, "confidence": reply.confidence, "guess": is_guess(reply, minimum)}


def took(reply: Reply) -> str:
    """Time by stage, in one line."""
    total = sum(reply.seconds.values()) * 1000
    stages = ", ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in reply.seconds.items())
    passages = "1 passage" if reply.candidates == 1 else f"{reply.candidates} passages"
    return f"{total:.1f} ms ({stages}); {passages} scored, {reply.strategy}"


def _by_document(answers: Sequence[Answer]) -> Iterable[list[tuple[int, Answer]]]:
    """Answers with their rank, those of one document together; the document of the best comes first."""
    groups: dict[str, list[tuple[int, Answer]]] = {}
    for rank, answer in enumerate(answers, start=1):
        groups.setdefault(answer.passage.document_id, []).append((rank, answer))
    return groups.values()


def _show_document(answers: Sequence[tuple[int, Answer]], explained: bool) -> None:
    for rank, answer in answers:
        sure = "" if answer.confidence is None else f", confidence {_percent(answer.confidence)}"
        print_line(
            part(f"{rank:>2}. ", "dim"),
            part(one_line(answer.text), "bold green"),
            part(f"  score {answer.score:.2f}{sure}", "dim"),
        )
        print_line(*in_its_sentence(answer, marks=not colours()), indent=_INDENT)
        if explained:
            show_parts(stdout(), answer)
    print_line(part(where_from(answers[0][1]), "cyan"), indent=_INDENT)
    print_line()


def in_its_sentence(answer: Answer, *, marks: bool) -> list[Part]:
    """The sentence around an answer, the answer highlighted; with `marks`, in square brackets."""
    text = answer.passage.text
    begin, end = _sentence(text, answer.start, answer.end)
    before, after = _SPACE.sub(" ", text[begin : answer.start]), _SPACE.sub(" ", text[answer.end : end])
    if len(before) > _WIDEST:
        before = "… " + before[-_WIDEST:].partition(" ")[2]
    if len(after) > _WIDEST:
        after = after[:_WIDEST].rpartition(" ")[0] + " …"
    span = one_line(answer.text)
    return [part(before.lstrip()), part(f"[{span}]" if marks else span, "bold reverse"), part(after.rstrip())]


def in_its_passage(answer: Answer) -> Text:
    """The whole passage, line by line as it is, the answer highlighted."""
    text = answer.passage.text
    shown = styled(text[: answer.start], lines=True)
    shown.append_text(styled(text[answer.start : answer.end], "bold reverse", lines=True))
    return shown.append_text(styled(text[answer.end :], lines=True))


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence around a span begins and ends."""
    begin, finish = 0, len(text)
    for match in _SENTENCE_END.finditer(text):
        if match.end() <= start:
            begin = match.end()
        elif match.start() >= end:
            finish = match.end()
            break
    return begin, finish


def where_from(answer: Answer) -> str:
    """Title, source and page of an answer's passage, as far as it has them."""
    passage = answer.passage
    page = f"page {passage.page}" if passage.page is not None else ""
    return " · ".join(filter(None, (passage.title, passage.source, page))) or passage.document_id


def show_parts(console: Console, answer: Answer) -> None:
    """The summands of an answer's score as a table."""
    from rich.table import Table

    table = Table("part", "", *numbers("question", "passage", "score"), box=None, padding=(0, 2, 0, 0))
    for summand in answer.parts:
        weights = [_number(summand.question_weight), _number(summand.passage_weight)]
        table.add_row(styled(summand.kind), styled(summand.name, "bold"), *weights, _number(summand.value))
    table.add_row(styled("sum", "bold"), "", "", "", styled(f"{answer.score:.3f}", "bold"))
    console.print(indented(table, _INDENT))
    console.print(indented(styled(f"proposed by {' and '.join(answer.roads)} search", "dim"), _INDENT))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _percent(confidence: float | None) -> str:
    return "" if confidence is None else f"{confidence:.0%}"


def one_line(text: str) -> str:
    """A text on one line."""
    return sanitise(" ".join(text.split()))
