"""`sparc-search search`: the passages that fit some words best, as a search tool shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import click

from sparc_search.settings import CORE, Settings

from .ask import conditions_of
from .options import json_option, option, settings_options
from .terminal import result_json

if TYPE_CHECKING:  # opening an index imports numpy and more
    from sparc_search.records import Answer, Reply

    from .lines import Part

_SNIPPET: Final = 240
"""Characters of a passage that are shown."""
_LEAST: Final = 3
"""Shorter words of a query are not marked."""
_WORD: Final = re.compile(r"[\w-]+")


@click.command()
@click.argument("query", nargs=-1, required=True)
@settings_options("index", "top_k", "strategy", "engine", "encoder", "model", "lex_weight")
@option("--unit", type=click.Choice(CORE["unit"].choices[1:]), default="passage", help="What is listed, each once.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only passages with this metadata. May be repeated.")
@json_option
def search(settings: Settings, query: tuple[str, ...], unit: str, where: tuple[str, ...], as_json: bool) -> int:
    """Find the passages that fit some words.

    It is `ask --unit passage` as a search tool shows it: title, a piece of the text with the words marked, path and
    line. Exit code 3 if something may be missing, because a part of the index could not be searched.
    """
    from sparc_search.index import Index

    from .answer_text import as_plain

    with Index(settings) as index:
        reply = index.search(" ".join(query), unit=unit, where=conditions_of(where))  # type: ignore[arg-type]
    if as_json:
        result_json(as_plain(reply))
    else:
        show_hits(reply)
    return 3 if reply.degraded else 0


def show_hits(reply: Reply) -> None:
    """Print what was found, best first."""
    from .answer_text import NO_ANSWER, show_sources, took
    from .lines import colours, part, print_line

    if not reply.answers:
        print_line(part(NO_ANSWER, "yellow"))
    for rank, hit in enumerate(reply.answers, start=1):
        title = hit.passage.title or hit.passage.document_id
        print_line(part(f"{rank:>2}. ", "dim"), part(title, "bold"), part(f"  {hit.score:.2f}", "dim"))
        print_line(*snippet(hit, reply.question, marks=not colours()), indent=4)
        show_sources(hit, titles=False)
        print_line()
    for what in reply.degraded:
        print_line(part(f"Something may be missing: {what}", "red"))
    print_line(part(took(reply), "dim"))


def snippet(hit: Answer, query: str, *, marks: bool) -> list[Part]:
    """A piece of the text around the best phrase, on one line, in which the words of the query are marked."""
    from .lines import part

    text, phrase = hit.text, hit.scored
    room = max(_SNIPPET - (phrase.end - phrase.start), 0)
    begin = max(phrase.start - hit.start - room // 3, 0)
    end = min(begin + _SNIPPET, len(text))
    begin = max(end - _SNIPPET, 0)
    line = " ".join(text[begin:end].split())
    if begin:
        line = "… " + line.partition(" ")[2]
    if end < len(text):
        line = line.rpartition(" ")[0] + " …"
    wanted = {word.casefold() for word in _WORD.findall(query) if len(word) >= _LEAST}
    parts, at = [], 0
    for match in _WORD.finditer(line):
        if match[0].casefold() in wanted:
            parts += [part(line[at : match.start()]), part(f"[{match[0]}]" if marks else match[0], "bold green")]
            at = match.end()
    return [*parts, part(line[at:])]
