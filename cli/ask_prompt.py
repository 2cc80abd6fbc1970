"""The interactive prompt of `sparc-search ask`: questions, and a few commands that begin with a colon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sparc_search.errors import SparcSearchError
from sparc_search.records import STRATEGIES, UNITS, Answer, Reply

from .answer_text import in_its_passage, show_parts, show_reply
from .open_source import open_source
from .sources import sources
from .terminal import note, result, stdout

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from sparc_search.index import Index

HELP: Final = """\
:explain [N]        show the summands of answer N's score (default 1)
:source [N]         show the whole passage of answer N, and where it is from
:open [N]           open the file of answer N, at its page or line
:unit [NAME]        show or choose how much is an answer: phrase, sentence, passage, document
:strategy [NAME]    show or choose who proposes passages: hybrid, sparse, dense
:read [HOW]         show or choose what is read again: never, auto, or so many passages
:top [K]            show or choose how many answers to print
:help               show this
:quit               leave (so does Ctrl-D)
Anything else is a question."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What one conversation has set, and the last reply."""

    top: int
    strategy: str
    read: str = "never"
    conditions: dict[str, str] = field(default_factory=dict)
    explain: bool = False
    unit: str = "phrase"
    all: bool = False
    last: Reply | None = None


class _Leave(Exception):
    """The user has had enough."""


class _Wrong(Exception):
    """A command that cannot be carried out; the message says why."""


def converse(index: Index, conditions: dict[str, str], *, explain: bool, all: bool = False) -> None:
    """Ask and answer until the user leaves."""
    settings = index.settings
    talk = Talk(settings.top_k, settings.strategy, settings.read, conditions, explain, settings.unit, all)
    session = _session()
    note("Ask a question, or type :help. Ctrl-D leaves.")
    while True:
        try:
            talk = answer_line(index, talk, session.prompt("? "))
        except (EOFError, _Leave):
            return
        except KeyboardInterrupt:
            continue  # gives up the line, not the conversation
        except SparcSearchError as error:
            note(f"Error: {error}")


def _session() -> PromptSession[str]:
    from platformdirs import user_state_path
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        folder: Path = user_state_path("sparc-search", appauthor=False, ensure_exists=True)
        (folder / "questions").touch(mode=0o600)
        return PromptSession(history=FileHistory(str(folder / "questions")))
    except OSError:  # no home to write to: the history lasts as long as the prompt
        return PromptSession(history=InMemoryHistory())


def answer_line(index: Index, talk: Talk, line: str) -> Talk:
    """Answer a question or carry out a command; what the conversation is afterwards."""
    line = line.strip()
    if not line:
        return talk
    if line.startswith(":"):
        name, _, argument = line[1:].partition(" ")
        return _carry_out(talk, name, argument.strip())
    reply = index.ask(
        line,
        k=talk.top,
        unit=talk.unit,  # type: ignore[arg-type]
        strategy=talk.strategy,  # type: ignore[arg-type]
        where=talk.conditions,
        explain=True,
        read=talk.read,
        all=talk.all,
    )
    show_reply(reply, explained=talk.explain)
    return replace(talk, last=reply)


def _carry_out(talk: Talk, name: str, argument: str) -> Talk:
    command = COMMANDS.get(name)
    if command is None:
        note(f"no command :{name}; :help shows those there are")
        return talk
    try:
        return command(talk, argument)
    except (_Wrong, SparcSearchError) as error:
        note(error)
        return talk


def _explain(talk: Talk, argument: str) -> Talk:
    show_parts(stdout(), _chosen(talk, argument))
    return talk


def _source(talk: Talk, argument: str) -> Talk:
    answer = _chosen(talk, argument)
    for place in sources(answer):
        result(place)
    result(f"document {answer.passage.document_id}, characters {answer.passage.start + answer.scored.start} on")
    stdout().print(in_its_passage(answer))
    return talk


def _open(talk: Talk, argument: str) -> Talk:
    open_source(_chosen(talk, argument))
    return talk


def _unit(talk: Talk, argument: str) -> Talk:
    if argument and argument not in UNITS:
        raise _Wrong(f"no unit {argument!r}; known are: {', '.join(UNITS)}")
    note(f"unit: {argument or talk.unit}")
    return replace(talk, unit=argument or talk.unit)


def _strategy(talk: Talk, argument: str) -> Talk:
    if argument and argument not in STRATEGIES:
        raise _Wrong(f"no strategy {argument!r}; known are: {', '.join(STRATEGIES)}")
    note(f"strategy: {argument or talk.strategy}")
    return replace(talk, strategy=argument or talk.strategy)


def _read(talk: Talk, argument: str) -> Talk:
    if argument not in ("", "never", "auto") and not (argument.isascii() and argument.isdigit() and int(argument)):
        raise _Wrong(":read takes never, auto, or a number of passages, such as :read 5")
    note(f"read again: {argument or talk.read}")
    return replace(talk, read=argument or talk.read)


def _top(talk: Talk, argument: str) -> Talk:
    if argument and not (argument.isascii() and argument.isdigit() and int(argument)):
        raise _Wrong(":top takes a number of answers, such as :top 3")
    top = int(argument) if argument else talk.top
    note(f"answers: {top}")
    return replace(talk, top=top)


def _help(talk: Talk, argument: str) -> Talk:
    result(HELP)
    return talk


def _quit(talk: Talk, argument: str) -> Talk:
    raise _Leave


def _chosen(talk: Talk, argument: str) -> Answer:
    """The answer of the last reply that is meant; the first if nothing is said."""
    answers = talk.last.answers if talk.last else ()
    if not answers:
        raise _Wrong("there is no answer yet: ask something first")
    if argument and not (argument.isascii() and argument.isdigit() and 1 <= int(argument) <= len(answers)):
        raise _Wrong(f"there are answers 1 to {len(answers)}")
    return answers[int(argument or 1) - 1]


COMMANDS: Final[dict[str, Callable[[Talk, str], Talk]]] = {
    "explain": _explain,
    "source": _source,
    "open": _open,
    "unit": _unit,
    "strategy": _strategy,
    "read": _read,
    "top": _top,
    "help": _help,
    "quit": _quit,
    "q": _quit,
}
