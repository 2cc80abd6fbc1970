"""Replies as a person reads them: answers marked in their sentence, each with its score and its sources."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from sparc_search.records import Answer, Reading, Reply
from sparc_search.sentences import sentence_around

from .lines import Part, colours, part, print_line
from .sources import sources
from .terminal import counted, indented, numbers, sanitise, stdout, styled

if TYPE_CHECKING:  # rich takes longer to import than a question takes
    from rich.console import Console
    from rich.text import Text

_SPACE = re.compile(r"\s+")
NO_ANSWER = "No answer found: the index is empty, or nothing in it passes the filters (--where)."
NOT_FOUND = "Not found in your documents. Best guess: "
_INDENT = 4
_WIDEST = 160
"""Characters shown before and after an answer."""
_SOURCES = 4
"""Sources of an answer that are listed."""


def show_reply(reply: Reply, *, explained: bool = False, asked: bool = False) -> None:
    """Print a reply: its answers in their order, then what it took; with `asked`, the question above them."""
    if asked:
        print_line(part(reply.question, "bold"))
    if not reply.answers:
        print_line(part(NO_ANSWER, "yellow"))
    elif reply.guess:
        _show_guess(reply, explained)
    else:
        for rank, answer in enumerate(reply.answers, start=1):
            print_line(part(f"{rank:>2}. ", "dim"), *_headline(answer), part(f"  {_score(answer)}", "dim"))
            _show_below(answer, explained)
    for what in reply.degraded:
        print_line(part(f"Answers may be missing: {what}", "red"))
    if reply.read:
        print_line(part(read_again(reply.read), "dim"))
    print_line(part(took(reply), "dim"))


def _show_guess(reply: Reply, explained: bool) -> None:
    """The best answer as a guess; the others in one line, so that they are not lost."""
    best, *others = reply.answers
    print_line(part(NOT_FOUND, "yellow"), *_headline(best, "bold yellow"), part(f"  {_score(best)}", "dim"))
    _show_below(best, explained)
    if others:
        guesses = "  ".join(f"{rank}. {shortened(other.scored.text)}" for rank, other in enumerate(others, start=2))
        print_line(part(f"Other guesses: {guesses}", "dim"))
        print_line()


def _headline(answer: Answer, style: str = "bold green") -> list[Part]:
    """What stands for the answer: the phrase, the larger unit with its phrase marked, the title of a document."""
    if answer.unit == "phrase":
        return [part(one_line(answer.text), style)]
    if answer.unit == "document":
        return [part(answer.passage.title or answer.passage.document_id, style)]
    return marked(answer, answer.start, answer.end, marks=not colours())


def _score(answer: Answer) -> str:
    sure = "" if answer.confidence is None else f", confidence {answer.confidence:.0%}"
    read = "" if answer.read_score is None else f", reader {answer.read_score:.2f}"
    places = f", in {answer.documents} documents" if answer.documents > 1 else ""
    return f"score {answer.score:.2f}{read}{sure}{places}"


def _show_below(answer: Answer, explained: bool) -> None:
    """The sentence, where the headline does not show it; the parts of the score; the sources."""
    if answer.unit in ("phrase", "document"):
        print_line(*in_its_sentence(answer, marks=not colours()), indent=_INDENT)
    if explained:
        show_parts(stdout(), answer)
    show_sources(answer)
    print_line()


def show_sources(answer: Answer, *, titles: bool = True) -> None:
    """Where an answer stands, one line for each document."""
    places = sources(answer, titles=titles)
    for place in places[:_SOURCES]:
        print_line(part(place, "cyan"), indent=_INDENT)
    if len(places) > _SOURCES:
        print_line(part(f"and {len(places) - _SOURCES} more", "cyan"), indent=_INDENT)


def as_plain(reply: Reply) -> dict[str, object]:
    """A reply for JSON: its own fields, and the confidence of its best answer."""
    fields = {field.name: getattr(reply, field.name) for field in dataclasses.fields(reply)}
    return {**fields, "confidence": reply.confidence}


def read_again(reading: Reading) -> str:
    """That passages were read again, and what it changed."""
    sure = "" if reading.fast_confidence is None else f", confidence {reading.fast_confidence:.0%}"
    fast = f'the fast answer was "{one_line(reading.fast_answer)}" (score {reading.fast_score:.2f}{sure})'
    count = "1 passage" if reading.passages == 1 else f"{reading.passages} passages"
    doubt = "" if reading.answered else " The reader believes that none of them holds an answer."
    return f"read again: {count}; {fast}.{doubt}"


def took(reply: Reply) -> str:
    """Time by stage, in one line."""
    total = sum(reply.seconds.values()) * 1000
    stages = ", ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in reply.seconds.items())
    return f"{total:.1f} ms ({stages}); {counted(reply.candidates, 'passage')} scored, {reply.strategy}"


def in_its_sentence(answer: Answer, *, marks: bool) -> list[Part]:
    """The sentence around the scored phrase, which is highlighted; with `marks`, in square brackets."""
    span, passage = answer.scored, answer.passage
    return marked(answer, *sentence_around(passage.text, span.start, span.end, passage.joints), marks=marks)


def marked(answer: Answer, begin: int, end: int, *, marks: bool) -> list[Part]:
    """A part of a passage on one line, in which the scored phrase is highlighted; what is far from it is left out."""
    text, span = answer.passage.text, answer.scored
    before, after = _SPACE.sub(" ", text[begin : span.start]), _SPACE.sub(" ", text[span.end : end])
    widest = len(text) if answer.unit == "passage" else _WIDEST
    if len(before) > widest:
        before = "… " + before[-widest:].partition(" ")[2]
    if len(after) > widest:
        after = after[:widest].rpartition(" ")[0] + " …"
    phrase = one_line(span.text)
    return [part(before.lstrip()), part(f"[{phrase}]" if marks else phrase, "bold reverse"), part(after.rstrip())]


def in_its_passage(answer: Answer) -> Text:
    """The whole passage, line by line as it is, the answer highlighted."""
    text = answer.passage.text
    span = answer.scored
    shown = styled(text[: span.start], lines=True)
    shown.append_text(styled(span.text, "bold reverse", lines=True))
    return shown.append_text(styled(text[span.end :], lines=True))


def show_parts(console: Console, answer: Answer) -> None:
    """The summands of an answer's score as a table."""
    from rich.table import Table

    table = Table("part", "", *numbers("question", "passage", "score"), box=None, padding=(0, 2, 0, 0))
    for summand in answer.parts:
        weights = [_number(summand.question_weight), _number(summand.passage_weight)]
        table.add_row(styled(summand.kind), styled(summand.name, "bold"), *weights, _number(summand.value))
    table.add_row(styled("sum", "bold"), "", "", "", styled(f"{answer.score:.3f}", "bold"))
    console.print(indented(table, _INDENT))
    if logits := answer.read_logits:
        words = f"reader: start {logits.start:.2f} + end {logits.end:.2f}; no answer here {logits.nothing:.2f}"
        console.print(indented(styled(f"{words}. Not a sum of n-grams, and no part of the score.", "dim"), _INDENT))
    console.print(indented(styled(f"proposed by {' and '.join(answer.roads)} search", "dim"), _INDENT))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def one_line(text: str) -> str:
    """A text on one line."""
    return sanitise(" ".join(text.split()))


def shortened(text: str, most: int = 60) -> str:
    """A text on one line, cut off if it is long."""
    line = one_line(text)
    return line if len(line) <= most else line[:most].rpartition(" ")[0] + " …"
