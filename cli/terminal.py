"""What reaches the user: results on stdout, everything else on stderr, and no byte of a stranger unchecked.

Titles, texts, paths and server messages may hold escape sequences that move the cursor, rewrite the window title or
turn text around. Every such string goes through `sanitise` before it reaches a terminal.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:  # rich takes longer to import than `--help` may take
    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.table import Column, Table
    from rich.text import Text

# Control characters (C0, DEL, C1), invisible and bidirectional formatting, separators, tags, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

_PIPE_WIDTH = 10_000
_LINE_FILL = re.compile(r" +(?=\n)")


def sanitise(text: object, *, lines: bool = False) -> str:
    """Replace what could drive a terminal by something to see: ESC by ␛, others by `<U+202E>`.

    With `lines`, line feeds and tabs stay; a carriage return before a line feed goes.
    """
    shown = str(text).replace("\r\n", "\n") if lines else str(text)
    return _UNSAFE.sub(lambda match: match[0] if lines and match[0] in "\n\t" else _picture(match[0]), shown)


def counted(number: int, noun: str) -> str:
    """So many of something: 1 passage, 1,357 passages."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


def styled(text: object, style: str = "", *, lines: bool = False) -> Text:
    """An untrusted string as rich text: sanitised, and its square brackets are no markup."""
    from rich.text import Text

    return Text(sanitise(text, lines=lines), style)


def indented(block: RenderableType, by: int = 4) -> RenderableType:
    """A block of output with white space before it."""
    from rich.padding import Padding

    return Padding(block, (0, 0, 0, by), expand=False)


NARROW = 60
"""Below so many columns numbers go before bars."""


def bare_table(*columns: Column | str, header_style: str = "bold", gap: int = 2) -> Table:
    """A table without lines; `Column` says more of a column than its heading."""
    from rich.table import Table

    return Table(*columns, box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style=header_style)


def numbers(*headings: str, no_wrap: bool = False) -> list[Column]:
    """Columns of numbers."""
    from rich.table import Column

    return [Column(heading, justify="right", no_wrap=no_wrap) for heading in headings]


def stdout() -> Console:
    """The console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """The console for everything that is no result."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    terminal = _is_terminal(stderr=stderr)
    # In a pipe nothing is wrapped: a line that is cut at 80 columns is no use to `grep`.
    width = None if terminal else _PIPE_WIDTH
    file = None if terminal else cast("IO[str]", _Trimmed(sys.stderr if stderr else sys.stdout))
    return Console(
        file=file, stderr=stderr, soft_wrap=not terminal, width=width, markup=False, highlight=False, emoji=False
    )


class _Trimmed:
    """A pipe that gets no white space at the ends of lines: rich fills every cell up to its width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_LINE_FILL.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _is_terminal(*, stderr: bool) -> bool:
    return (sys.stderr if stderr else sys.stdout).isatty()


def progress(*columns: Any) -> Progress:
    """A progress bar on stderr; nothing at all where stderr is no terminal. Use it as a context manager."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    shown = columns or (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    quiet = not _is_terminal(stderr=True) or os.environ.get("TERM") == "dumb"
    return Progress(*shown, console=stderr(), disable=quiet, transient=True)


def print_table(headers: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """A table of results on stdout; in a pipe the last column is as long as it is, and nothing is wrapped.

    A cell that has no style yet may be anything: it is sanitised here.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers, box=None, header_style="bold", show_header=any(headers), pad_edge=False)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else styled(cell) for cell in row))
    console = stdout()
    if _is_terminal(stderr=False):
        console.print(table)
        return
    for line in console.render_lines(table, pad=False):
        console.print(Text("".join(segment.text for segment in line).rstrip()))


def note(message: object) -> None:
    """One line on stderr: not a result, not an error."""
    sys.stderr.write(sanitise(message) + "\n")


def result(text: object) -> None:
    """One result as plain text on stdout."""
    sys.stdout.write(sanitise(text, lines=True) + "\n")


def result_json(value: object, *, indent: int | None = 2) -> None:
    """One result as JSON on stdout; `indent=None` puts it on one line. What could drive a terminal is escaped."""
    text = json.dumps(value, default=_plain, ensure_ascii=False, indent=indent, allow_nan=False)
    sys.stdout.write(_UNSAFE.sub(_json_escape, text) + "\n")


def _json_escape(match: re.Match[str]) -> str:
    # Line feeds in JSON text stand between tokens only; inside strings they are escaped already.
    return match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f")


def _plain(value: object) -> object:
    """Records, paths, mappings and numpy values as what JSON knows."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "tolist"):  # numpy arrays and scalars, without importing numpy
        return value.tolist()
    raise TypeError(f"no JSON for {type(value).__name__}")
