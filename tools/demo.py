"""`make demo`: read the sample corpus, ask a handful of questions, say what to try next."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import click

from sparc_search.cli.main import cli
from sparc_search.cli.terminal import note
from sparc_search.model.files import open_model

ROOT: Final = Path(__file__).resolve().parent.parent
PROGRAM: Final = Path(sys.executable).parent / "sparc-search"

QUESTIONS: Final = (
    "How high is the western summit of Mount Elbrus?",
    "In what year was the eastern peak of Elbrus first reached?",
    "Who led the British party that first climbed the western top of Elbrus?",
    "From whom did Lesseps get the concession for the Suez Canal?",
    "Who invented the saxophone?",
)
NEXT: Final = (
    ("ask", 'ask "When was the Suez Canal opened?" --index INDEX --explain', "why: every part of the score"),
    ("ask", "ask --index INDEX", "a prompt, to ask one question after the other"),
    ("serve", "serve --index INDEX", "pages: which n-grams made an answer win"),
    ("ingest", "ingest PATH", "read your own files into .sparc-search/index"),
    ("plugins", "plugins", "the formats, encoders and stores there are"),
    ("doctor", "doctor", "is everything there that is needed?"),
)


def demo_index() -> str:
    """A folder for each model: an index made by an older one would be refused."""
    return f".sparc-search/demo-{open_model('default').fingerprint[:8]}"


def main(index: str) -> int:
    """Run the demo in the checkout; seconds spent before this program started come in as DEMO_SECONDS."""
    begun = time.monotonic() - float(os.environ.get("DEMO_SECONDS", "0"))
    os.chdir(ROOT)
    note("Reading the sample corpus (what is unchanged since the last time is not read again) ...")
    code = run("ingest", "examples/corpus", "--index", index, stdout=subprocess.DEVNULL)
    first = 0.0
    for question in QUESTIONS if code == 0 else ():
        note("")
        note(f'$ sparc-search ask "{question}"')
        code = code or run("ask", question, "--index", index, "--top-k", "1")
        first = first or time.monotonic() - begun
    if code == 0:
        note(
            f"The first answer came {first:.0f} s after the start. The environment has {size(sys.prefix) / 1e6:.0f} MB."
        )
        say_next(index)
    return code


def run(*arguments: str, stdout: int | None = None) -> int:
    """One command, as a user would type it."""
    return subprocess.run([PROGRAM, *arguments], stdout=stdout, check=False).returncode


def size(folder: str) -> int:
    """Bytes of all files below a folder."""
    return sum(path.lstat().st_size for path in Path(folder).rglob("*") if path.is_file())


def say_next(index: str) -> None:
    """Commands to try, those that exist."""
    there = cli.list_commands(click.Context(cli))
    note("Try next:")
    for command, line, what in NEXT:
        if command in there:
            note(f"  {os.path.relpath(PROGRAM)} {line.replace('INDEX', index)}")
            note(f"      {what}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else demo_index()))
