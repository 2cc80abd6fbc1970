"""Open the file of an answer where the answer stands: a PDF at its page, HTML at its words, text at its line."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sparc_search.errors import SparcSearchError
from sparc_search.records import Answer
from sparc_search.source_lines import line_of

from .terminal import note

_VIEWERS: Final[Mapping[str, tuple[str, ...]]] = {
    "evince": ("--page-label={page}", "{path}"),
    "okular": ("--page", "{page}", "{path}"),
    "zathura": ("--page={page}", "{path}"),
    "atril": ("--page-label={page}", "{path}"),
    "xreader": ("--page-label={page}", "{path}"),
    "mupdf": ("{path}", "{page}"),
    "xpdf": ("{path}", "{page}"),
}
"""Viewers that are told a page, and how."""

_GOTO: Final[Mapping[str, tuple[str, ...]]] = {
    "code": ("--goto", "{path}:{line}"),
    "codium": ("--goto", "{path}:{line}"),
    "subl": ("{path}:{line}",),
    "hx": ("{path}:{line}",),
    "zed": ("{path}:{line}",),
}
"""Editors that do not know `+LINE`."""


def open_source(answer: Answer) -> None:
    """Open it, and say with what; `SparcSearchError` if there is nothing to open."""
    command = command_for(answer, os.environ)
    note(f"opening {' '.join(map(shlex.quote, command))}")
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        raise SparcSearchError(f"cannot run {command[0]}: {error.strerror}", "set EDITOR or BROWSER") from error


def command_for(answer: Answer, environ: Mapping[str, str]) -> list[str]:
    """The command that opens the source of an answer."""
    source, span = answer.passage.source, answer.scored
    if source.startswith(("https://", "http://")):
        return [*_browser(environ), source + text_fragment(span.text)]
    path = Path(source).absolute()
    if not source or not path.is_file():
        raise SparcSearchError(
            f"there is no file to open: {source or answer.passage.document_id}",
            "it may have been moved since it was read; `:source` shows the passage",
        )
    kind = path.suffix.lower()
    if kind == ".pdf":
        return _at_page(path, answer.passage.page or 1, environ)
    if kind in (".html", ".htm", ".xhtml"):
        return [*_browser(environ), path.as_uri() + text_fragment(span.text)]
    return _at_line(path, line_of(answer.passage, span.start, span.end) or 1, environ)


def text_fragment(text: str) -> str:
    """The end of an address that makes a browser scroll to a text and mark it."""
    line = " ".join(text.split())
    return "#:~:text=" + quote(line, safe="").replace("-", "%2D") if line else ""


def _at_page(path: Path, page: int, environ: Mapping[str, str]) -> list[str]:
    for viewer, arguments in _VIEWERS.items():
        if shutil.which(viewer, path=environ.get("PATH")):
            return [viewer, *(argument.format(page=page, path=path) for argument in arguments)]
    return [*_browser(environ), f"{path.as_uri()}#page={page}"]


def _at_line(path: Path, line: int, environ: Mapping[str, str]) -> list[str]:
    editor = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "")
    if not editor:
        known = (name for name in ("sensible-editor", "nano", "vi") if shutil.which(name, path=environ.get("PATH")))
        editor = [next(known, "")]
    if not editor[0]:
        raise SparcSearchError("there is no editor", "name one in the environment variable EDITOR")
    arguments = _GOTO.get(Path(editor[0]).name, ("+{line}", "{path}"))
    return [*editor, *(argument.format(path=path, line=line) for argument in arguments)]


def _browser(environ: Mapping[str, str]) -> list[str]:
    chosen = shlex.split(environ.get("BROWSER", "").split(os.pathsep)[0])
    if chosen:
        return [word for word in chosen if word != "%s"]
    known = ("sensible-browser", "xdg-open", "open", "firefox", "chromium", "google-chrome")
    for name in known:
        if shutil.which(name, path=environ.get("PATH")):
            return [name]
    raise SparcSearchError("there is no browser", "name one in the environment variable BROWSER")
