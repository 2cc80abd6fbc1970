"""Source code: the text as it stands, so that lines can be counted; definitions are headings, comments are paragraphs.

No language is parsed. A definition is a line that begins with a word such as `def` or `class`, or that looks like the
head of a function in the languages of C's family; it holds what is indented further than itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import BinaryIO, Final, NamedTuple

from sparc_search.errors import RejectedDocument
from sparc_search.reader import Reader
from sparc_search.records import BlockKind, Document, Section

from .builder import ARROW
from .compressed import inner_name
from .decode import guessed, whole
from .limits import TEXT_BYTES


class _Comments(NamedTuple):
    """How a language writes them: what begins a line of comment, and what stands around one of several lines."""

    line: tuple[str, ...]
    around: tuple[tuple[str, str], ...] = ()


_HASH: Final = _Comments(("#",), (('"""', '"""'), ("'''", "'''")))
_SLASHES: Final = _Comments(("//",), (("/*", "*/"),))
_DASHES: Final = _Comments(("--",), (("/*", "*/"), ("--[[", "]]"), ("{-", "-}")))
_LANGUAGES: Final[Mapping[_Comments, str]] = {
    _HASH: ".py .pyi .rb .sh .bash .zsh .pl .pm .r .jl .ex .exs .nim .ps1 .tcl",
    _SLASHES: ".c .h .cc .cpp .cxx .hh .hpp .java .kt .kts .scala .groovy .cs .go .rs .swift .dart .zig "
    ".js .mjs .cjs .jsx .ts .tsx .php",
    _DASHES: ".sql .lua .hs",
    _Comments((";",)): ".el .clj .lisp .scm",
}
_BY_SUFFIX: Final = {suffix: comments for comments, suffixes in _LANGUAGES.items() for suffix in suffixes.split()}

_DEFINITION: Final = re.compile(
    r"""(?x) (?:(?:export|default|public|private|protected|internal|static|abstract|final|sealed|open|override|async
        |inline|virtual|unsafe|extern|pub(?:\([^()]*\))?|suspend|data|partial|declare|local|const)\s++)*+
        (?:def|class|interface|struct|enum|union|trait|impl|fn|fun|func|function|module|namespace|protocol|extension
        |object|record|sub|proc|defmodule|defp|\(defun|\(defn|\(defmacro|\(define|(?i:create\s+(?:table|view|function)))
        \s+\S"""
)
_FUNCTION: Final = re.compile(r"(?:[\w:<>~*&\[\],.]++\s+)+?[*&]*[\w:~]++\s*\([^;{}]*+\{?\s*$")
_NO_FUNCTION: Final = re.compile(r"(?:if|for|while|switch|catch|return|else|do|new|throw|case|await|yield|elif|with)\b")
_NAME: Final = re.compile(r"func\s*\([^()]*\)\s*\w+|\(?[^({=;]+")
_LONGEST: Final = 300  # characters of a line that can be a definition
_GENERATED: Final = 1_000  # characters of a line, on the average: nobody wrote that


class CodeReader(Reader):
    """Source code: one document, as it stands; functions and classes are the title path."""

    suffixes = tuple(_BY_SUFFIX)
    sandboxed = True

    def read(self, stream: BinaryIO, source: str, options: Mapping[str, str]) -> Iterator[Document]:
        """The one document of the file."""
        found = guessed(whole(stream, TEXT_BYTES))
        if len(found.text) > _GENERATED * (found.text.count("\n") + 1):
            raise RejectedDocument("code that no person wrote: its lines are very long", "leave it out with --exclude")
        name = PurePosixPath(inner_name(source))
        comments = _BY_SUFFIX.get(name.suffix.lower(), _HASH)
        sections = tuple(_Scan(comments).through(found.text))
        yield Document(source, found.text, name.name, source, found.metadata, sections)


reader = CodeReader()


class _Scan:
    """Goes through the lines and tells where definitions, comments and code begin."""

    def __init__(self, comments: _Comments) -> None:
        self._comments = comments
        self._until = ""  # what ends the comment of several lines that is open
        self._open: list[tuple[int, str]] = []  # definitions: indentation and name, from the outermost in
        self._kind: BlockKind = ""
        self._before: Section | None = None  # the first of the comments and decorators that stand right before a line

    def through(self, text: str) -> Iterator[Section]:
        """The sections of a text."""
        at = 0
        for line in text.split("\n"):
            if words := line.strip():
                yield from self._line(at, len(line) - len(line.lstrip()), words)
            elif not self._until:
                self._before = None
            at += len(line) + 1

    def _line(self, at: int, indent: int, words: str) -> Iterator[Section]:
        inside = bool(self._until)
        comment = inside or self._begins_comment(words)
        if inside and self._until in words:
            self._until = ""
        defines = not comment and self._defines(words)
        if not inside and self._leaves(indent, words):
            yield Section(at, self._path())
            self._kind = ""
        kind: BlockKind = "paragraph" if comment else "code"
        if defines:
            self._open.append((indent, _name(words)))
            yield Section(self._before.start if self._before else at, self._path())
            if self._before:
                yield self._before
            else:
                self._kind = ""
        if kind != self._kind:
            yield Section(at, kind=kind)
            self._kind = kind
        leads = comment or words[0] == "@"
        self._before = (self._before or Section(at, kind=kind)) if leads else None

    def _begins_comment(self, words: str) -> bool:
        for begin, end in self._comments.around:
            if words.startswith(begin):
                self._until = "" if end in words[len(begin) :] else end
                return True
        return words.startswith(self._comments.line)

    def _defines(self, words: str) -> bool:
        if len(words) > _LONGEST:
            return False
        if _DEFINITION.match(words):
            return True
        family = self._comments is _SLASHES and not _NO_FUNCTION.match(words)
        return family and bool(_FUNCTION.fullmatch(words))

    def _leaves(self, indent: int, words: str) -> bool:
        """Whether a line stands outside of a definition that was open; brackets alone belong to what they end."""
        count = len(self._open)
        while self._open and indent <= self._open[-1][0] and (words[0].isalnum() or words[0] in "_@#/\"'(-;"):
            self._open.pop()
        return len(self._open) < count

    def _path(self) -> str:
        return ARROW.join(name for _, name in self._open)


def _name(words: str) -> str:
    """What is defined, without what it takes and what it holds."""
    match = _NAME.match(words)
    return (match[0] if match else words).strip(" :(")
