"""`sparc-search ask`: one question, many, or a conversation."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import UsageError
from sparc_search.settings import Settings

from .options import PATH, json_option, settings_options
from .terminal import note, result_json

if TYPE_CHECKING:  # opening an index imports numpy and more
    from sparc_search.records import Reply


@click.command()
@click.argument("question", nargs=-1)
@settings_options("index top_k unit min_confidence strategy engine encoder model lex_weight read read_with")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only passages with this metadata. May be repeated.")
@click.option("--explain", is_flag=True, help="Show every summand of each score.")
@click.option("--all", "all_", is_flag=True, help="Show equal answers one by one.")
@click.option("--open", "open_", is_flag=True, help="Open the source of the best answer, at its page or line.")
@click.option("--file", "path", type=PATH, help="Read questions from a file, one a line.")
@click.option("--jsonl", is_flag=True, help="Print one JSON object a line, one for each question.")
@json_option
def ask(
    settings: Settings,
    question: tuple[str, ...],
    where: tuple[str, ...],
    explain: bool,
    all_: bool,
    open_: bool,
    path: Path | None,
    jsonl: bool,
    as_json: bool,
) -> int:
    """Answer questions from an index.

    QUESTION may be several words. `-` reads questions from standard input, one a line; lines that begin with `#` are
    comments. Without a question an interactive prompt begins; `:help` shows what it knows. Exit code 3 if answers may
    be missing, because a part of the index could not be searched.
    """
    conditions = conditions_of(where)
    questions = _questions(question, path)
    many = questions is not None and (bool(path) or question == ("-",) or not question)
    if open_ and (many or questions is None):
        raise UsageError("--open opens the source of one answer", "give one question; in the prompt there is :open")
    if questions and not many:
        settings = _for_one_question(settings)
    from sparc_search.index import Index

    with Index(settings) as index:
        if questions and not many:
            index.encoder.expect_one_question()
        index.prepare()
        if questions is None:
            from .ask_prompt import converse

            converse(index, conditions, explain=explain, all=all_)
            return 0
        options: dict[str, Any] = {"where": conditions, "explain": explain, "all": all_}
        asked = index.ask_many(questions, **options) if many else (index.ask(one, **options) for one in questions)
        asked_for = settings.min_confidence if settings.sources.get("min_confidence", "").startswith("flag") else 0.0
        replies = _told_if_uncalibrated(asked, asked_for)
        a_line = jsonl or (as_json and many)
        whole = _print(replies, explained=explain, many=many, as_json=as_json, a_line=a_line, open_=open_)
    return 0 if whole else 3


def _for_one_question(settings: Settings) -> Settings:
    """For a process that ends with its answer: threads take longer to begin than they save, and so does tidying up."""
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's, which would wait busily for work
    return settings if settings.threads else settings.changed(threads=1)


def conditions_of(where: Iterable[str]) -> dict[str, str]:
    """What `--where` asks for, by key."""
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
    """Lines that hold something; one that begins with `#` is a comment."""
    stripped = (line.strip() for line in lines)
    return (line for line in stripped if line.strip("\x00") and not line.startswith("#"))


def _told_if_uncalibrated(replies: Iterable[Reply], minimum: float) -> Iterator[Reply]:
    """The replies; who asked for a confidence that the model does not give is told so, once."""
    for number, reply in enumerate(replies):
        if number == 0 and minimum and reply.answers and reply.confidence is None:
            note("this model gives no confidence, so --min-confidence does nothing")
        yield reply


def _print(replies: Iterable[Reply], *, explained: bool, many: bool, as_json: bool, a_line: bool, open_: bool) -> bool:
    """Whether the whole index was searched for all of them."""
    from .answer_text import as_plain, show_reply

    whole = True
    for reply in replies:
        if as_json or a_line:
            result_json(as_plain(reply), indent=None if a_line else 2)
        else:
            show_reply(reply, explained=explained, asked=many)
        if open_ and reply.best:
            from .open_source import open_source

            open_source(reply.best)
        whole = whole and not reply.degraded
    return whole
