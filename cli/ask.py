"""`sparc-search ask`: one question, many, or a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparc_search.errors import UsageError
from sparc_search.settings import Settings

from .options import PATH, json_option, settings_options
from .terminal import note, result_json

if TYPE_CHECKING:  # opening an index imports numpy and more
    from sparc_search.index import Index
    from sparc_search.records import Reply


@click.command()
@click.argument("question", nargs=-1)
@settings_options("index", "top_k", "strategy", "engine", "encoder", "model", "lex_weight")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only passages with this metadata. May be repeated.")
@click.option("--explain", is_flag=True, help="Show every summand of each score.")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Call the best answer a guess if its confidence is below this.",
)
@click.option("--file", "path", type=PATH, help="Read questions from a file, one a line.")
@click.option("--jsonl", is_flag=True, help="Print one JSON object a line, one for each question.")
@json_option
def ask(
    settings: Settings,
    question: tuple[str, ...],
    where: tuple[str, ...],
    explain: bool,
    min_confidence: float,
    path: Path | None,
    jsonl: bool,
    as_json: bool,
) -> int:
    """Answer questions from an index.

    QUESTION may be several words. `-` reads questions from standard input, one a line. Without a question an
    interactive prompt begins; `:help` shows what it knows. Exit code 3 if answers may be missing, because a part of the
    index could not be searched.
    """
    from sparc_search.index import Index

    conditions = _conditions(where)
    questions = _questions(question, path)
    with Index(settings) as index:
        index.prepare()
        if questions is None:
            from .ask_prompt import converse

            converse(index, conditions, min_confidence, explain=explain)
            return 0
        many = bool(path) or question == ("-",) or not question
        replies = _replies(index, questions, conditions, explain, many)
        a_line = jsonl or (as_json and many)
        whole = _print(replies, min_confidence, explained=explain, many=many, as_json=as_json, a_line=a_line)
    return 0 if whole else 3


def _conditions(where: Iterable[str]) -> dict[str, str]:
    conditions: dict[str, str] = {}
    for condition in where:
        key, equals, value = condition.partition("=")
        if not equals or not key:
            raise UsageError(f"--where {condition!r} is not KEY=VALUE", "write for example --where lang=en")
        if conditions.setdefault(key, value) != value:
            raise UsageError(f"--where asks for two values of {key!r}", "a passage has one: ask once for each")
    return conditions


def _questions(question: tuple[str, ...], path: Path | None) -> Iterable[str] | None:
    """The questions of this call; None for an interactive prompt."""
    if path and question:
        raise UsageError("a question and --file exclude each other", "give one of them")
    if path:
        return _lines_of(path)
    if question == ("-",) or (not question and not sys.stdin.isatty()):
        return _filled(sys.stdin)
    return [" ".join(question)] if question else None


def _lines_of(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            yield from _filled(stream)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "name a file with one question a line") from error


def _filled(lines: Iterable[str]) -> Iterator[str]:
    """Lines that hold something."""
    return (line.strip() for line in lines if line.strip().strip("\x00"))


def _replies(
    index: Index, questions: Iterable[str], conditions: dict[str, str], explain: bool, many: bool
) -> Iterator[Reply]:
    if many:
        return index.ask_many(questions, where=conditions, explain=explain)
    return (index.ask(question, where=conditions, explain=explain) for question in questions)


def _print(
    replies: Iterable[Reply], minimum: float, *, explained: bool, many: bool, as_json: bool, a_line: bool
) -> bool:
    """Whether the whole index was searched for all of them."""
    from .answer_text import as_plain, show_reply

    whole = True
    for number, reply in enumerate(replies):
        if number == 0 and minimum and reply.answers and reply.confidence is None:
            note("this model gives no confidence, so --min-confidence does nothing")
        if as_json or a_line:
            result_json(as_plain(reply, minimum), indent=None if a_line else 2)
        else:
            show_reply(reply, minimum=minimum, explained=explained, asked=many)
        whole = whole and not reply.degraded
    return whole
