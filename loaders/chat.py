"""Chats: the messages of a day are one document, each an item "time, author: text".

Two forms are known: lines "date - author: text", as telephones export them, and JSON objects with an author, a text and
a date under the names that most programs give them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder, title_from_name
from .decode import guessed, whole
from .limits import TEXT_BYTES

AUTHOR: Final = ("author", "from", "sender", "user", "username", "sender_name", "name", "nick", "role")
TEXT: Final = ("text", "content", "message", "body", "msg")
DATE: Final = ("date", "timestamp", "ts", "time", "datetime", "created_at", "timestamp_ms", "created", "sent")

_SHARE: Final = 0.8  # of the objects or lines that must be messages
_LOOKED_AT: Final = 50
_FEWEST: Final = 3  # lines
_DAY: Final = r"\d{4}-\d\d?-\d\d?|\d\d?[./-]\d\d?[./-]\d{2,4}"
_LINE: Final = re.compile(
    rf"\u200e?\[?(?P<day>{_DAY})(?:[,T]? +|T)(?P<time>\d\d?:\d\d(?::\d\d)?(?:[ \u202f][AaPp]\.?[Mm]\.?)?)"
    r"\]?(?: +[-\u2013]+)? +"
    r"(?P<author>[^\s:][^:\n]{0,60}): ?(?P<text>.*)"
)
_NOTICE: Final = re.compile(rf"\u200e?\[?(?:{_DAY})(?:[,T]? +|T)\d\d?:\d\d.{{0,12}} - ")


@dataclass(frozen=True, slots=True)
class Message:
    """Something that somebody said."""

    author: str
    text: str
    day: str = ""
    time: str = ""


class ChatReader(Reader):
    """Chats of lines "date - author: text" (`--format chat`; .txt is looked into): a day is one document."""

    suffixes = ()

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each day."""
        found = guessed(whole(stream, TEXT_BYTES))
        messages = messages_of_lines(found.text)
        if not messages:
            raise RejectedDocument("no chat: no line is `date - author: text`", "leave out --format")
        return documents(messages, source, found.metadata)


reader = ChatReader()


def is_chat(text: str) -> bool:
    """Whether a text is made of such lines, by its beginning."""
    lines = [line for line in text[: 200 * _LOOKED_AT].splitlines()[:_LOOKED_AT] if line.strip()]
    found = sum(1 for line in lines if _LINE.match(line))
    return found >= _FEWEST and 2 * found >= len(lines)


def messages_of_lines(text: str) -> list[Message]:
    """The messages of a text; a line that begins none goes on with the one before, notices of the program go."""
    messages: list[Message] = []
    said: list[str] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            _close(messages, said)
            messages.append(Message(match["author"].strip(), "", match["day"], match["time"]))
            said = [match["text"]]
        elif not _NOTICE.match(line):
            said.append(line)
    _close(messages, said)
    return messages


def _close(messages: list[Message], said: Sequence[str]) -> None:
    if messages:
        last = messages[-1]
        messages[-1] = Message(last.author, "\n".join(said).strip(), last.day, last.time)


def messages_of_objects(values: Sequence[Any]) -> list[Message]:
    """The messages among some values of JSON; none, if most are something else."""
    messages = [message for value in values if (message := _message(value))]
    return messages if values and len(messages) >= _SHARE * len(values) else []


def documents(messages: Iterable[Message], source: str, metadata: Mapping[str, str]) -> Iterator[Document]:
    """One document for each day, in the order of the days' first messages."""
    days: dict[str, list[Message]] = {}
    for message in messages:
        days.setdefault(message.day, []).append(message)
    title = title_from_name(source)
    for day, said in days.items():
        builder = TextBuilder()
        if day:
            builder.block(f"Date: {day}", "item")
        for message in said:
            if message.text:
                time = f"{message.time}, " if message.time else ""
                builder.block(f"{time}{message.author}: {message.text}", "item")
        facts = {**metadata, **({"date": day} if day else {})}
        yield builder.build(f"{source}#{day}" if day else source, source, f"{title} {day}", facts)


def _message(value: Any) -> Message | None:
    if not isinstance(value, dict) or "title" in value:
        return None
    author, text, date = (_first(value, names) for names in (AUTHOR, TEXT, DATE))
    author_name, words = _name(author), _words(text)
    if not author_name or words is None or date is None or isinstance(date, dict | list | bool):
        return None
    return Message(author_name, words, *_moment(date))


def _first(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _name(author: Any) -> str:
    """The author's name: a text, or an object that holds one."""
    if isinstance(author, dict):
        author = _first(author, ("nickname", "name", "username", "display_name", "role"))
    return author.strip()[:100] if isinstance(author, str) else ""


def _words(text: Any) -> str | None:
    """What was said: a text, or a list of texts and of objects that hold one."""
    if isinstance(text, list):
        parts = [part.get("text", "") if isinstance(part, dict) else part for part in text]
        return "".join(part for part in parts if isinstance(part, str))
    return text if isinstance(text, str) else None


def _moment(date: str | float) -> tuple[str, str]:
    """Day and time of a date as programs write it: ISO, or seconds or milliseconds since 1970."""
    text = str(date).strip()
    try:
        if re.fullmatch(r"\d{9,13}(?:\.\d*)?", text):
            seconds = float(text)
            moment = datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)
        else:
            moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return text[:40], ""
    return moment.strftime("%Y-%m-%d"), moment.strftime("%H:%M")
