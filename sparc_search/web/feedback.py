"""Thumbs up and down, and the right answer: appended to a file on this machine, if whoever serves wants it.

A line is what `evaluate` reads (`question`, `answers`), with where it stands and what was said of it besides.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sparc_search.errors import UsageError
from sparc_search.index import Index
from sparc_search.inspection import asking

from .limits import read_body
from .login import local
from .problems import HttpProblem, invalid
from .state import state_of

VERDICTS: Final = ("up", "down", "right")
"""A good answer, a bad one, and the right one in its place."""
_MOST: Final = 16_384


class Feedback:
    """The file that is appended to, one line at a time."""

    def __init__(self, file: Path) -> None:
        self._file, self._turn = file, threading.Lock()
        try:
            file.open("a", encoding="utf-8").close()
        except OSError as error:
            raise UsageError(
                f"cannot write to {file}: {error.strerror}", "name another file with --feedback"
            ) from error

    def add(self, line: dict[str, Any]) -> None:
        """Append a line, safe from a power cut."""
        with self._turn, self._file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())


async def take(request: Request) -> Response:
    """`POST /feedback`: a form; whoever sent it is led back to where it was."""
    state = state_of(request)
    feedback = state.feedback
    if feedback is None:
        raise HttpProblem(404, "not_there", "this server takes no feedback")
    form = {
        key: values[0] for key, values in parse_qs((await read_body(request, _MOST)).decode("utf-8", "replace")).items()
    }
    await state.run(lambda: feedback.add(line_of(state.index, form, state.limits.question)))
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse(local(form.get("next", "")), 303)
    return Response(status_code=HTTPStatus.NO_CONTENT)


def line_of(index: Index, form: dict[str, str], longest: int) -> dict[str, Any]:
    """What is appended; the answer is read from the passage, not from the form."""
    question, verdict = form.get("question", "").strip(), form.get("verdict", "")
    if not 0 < len(question) <= longest:
        raise invalid("question", "there is no question, or it is too long")
    if verdict not in VERDICTS:
        raise invalid("verdict", f"there is no verdict {verdict[:40]!r}", f"choose one of: {', '.join(VERDICTS)}")
    passage = asking.stored(index, form.get("passage", "")).passage
    start, end = form.get("start", ""), form.get("end", "")
    if not (start.isdecimal() and end.isdecimal() and int(start) < int(end) <= len(passage.text)):
        raise invalid("start", "the answer does not stand in the passage")
    answer = passage.text[int(start) : int(end)]
    return {
        "question": question,
        "answers": [] if verdict == "down" else [answer],
        "source": passage.source,
        "passage": passage.id,
        "start": int(start),
        "end": int(end),
        "said": answer,
        "verdict": verdict,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
