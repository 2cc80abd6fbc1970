"""E-mail: a message (.eml) or a mailbox (.mbox). The subject is the title; sender, receiver and date are text too."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator, Mapping
from email.message import EmailMessage
from typing import BinaryIO, Final

from sparc_search.reader import Reader
from sparc_search.records import Document

from .builder import TextBuilder
from .decode import whole
from .limits import JSON_BYTES, METADATA_CHARACTERS
from .resuming import Item, Resuming, located

_FROM: Final = re.compile(rb"^From \S+.*\r?\n", re.MULTILINE)
_HEADERS: Final = ("from", "to", "cc", "date")
_QUOTED: Final = re.compile(r"(?m)^>.*\n?")


class MailReader(Reader):
    """E-mail (.eml, .mbox): one message is one document; attachments and quoted text are left out."""

    suffixes = (".eml", ".mbox")
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """One document for each message."""
        return Resuming(_items(whole(stream, JSON_BYTES), source))


reader = MailReader()


def _items(data: bytes, source: str) -> Iterator[Item]:
    if not data.startswith(b"From "):
        yield located("the message", _document, data, source, source)
        return
    messages = [message for message in _FROM.split(data) if message.strip()]
    for number, message in enumerate(messages, start=1):
        yield located(f"message {number}", _document, message, source, f"{source}#{number}")


def _document(data: bytes, source: str, id: str) -> Document:
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    headers = {name: " ".join(str(message[name]).split()) for name in _HEADERS if message[name]}
    metadata = {name: value for name, value in headers.items() if len(value) <= METADATA_CHARACTERS}
    builder = TextBuilder()
    for name, value in metadata.items():
        builder.block(f"{name.capitalize()}: {value}", "item")
    for paragraph in re.split(r"\n\s*\n", _QUOTED.sub("", _body(message, source))):
        builder.block(paragraph)
    return builder.build(id, source, str(message["subject"] or ""), metadata)


def _body(message: EmailMessage, source: str) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    content = part.get_content()
    text = content if isinstance(content, str) else bytes(content).decode("utf-8", "replace")
    if part.get_content_subtype() == "html":
        from .html import page

        return page(text, source).text
    return text.replace("\r\n", "\n").partition("\n-- \n")[0]
