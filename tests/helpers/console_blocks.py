"""Pages whose commands are run: every `console` block, in its order, in one folder, and what it prints is compared.

A line that begins with `$ ` is a command (a backslash at its end: it goes on in the next line); what follows is what
it prints, errors and notes included. A line of `…` alone stands for any lines, `…` inside a line for any text. Numbers
with a point may differ a little and percentages by some, because processors round in different ways; so may the length
of bars. A code block after a line such as "`ask.py`:" is a file, which is written before the commands below it.

python tests/helpers/console_blocks.py PAGE    what the commands of a page print now
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_NAME = r"(?:[^\n]*`(?P<file>[\w./-]+)`:\n\n)?"
_BLOCK = re.compile(rf"^{_NAME}```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_MARK = "@@@ exit code"
_ROUNDED = re.compile(r"\d+\.\d+|\d+(?=%)")
_LOOSE = re.compile(rf"(?P<any>…)|(?P<number>{_ROUNDED.pattern})|(?P<bar>[█-▏]+)|(?P<gap>  +)")


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page, and what the page says it prints."""

    line: str
    expected: str

    def fits(self, printed: str) -> bool:
        """Whether it printed what the page says."""
        found = re.fullmatch(_pattern(self.expected), _tidy(printed))
        wanted = [float(number) for number in _ROUNDED.findall(self.expected)]
        return found is not None and all(
            abs(float(number) - about) <= max(0.03, 0.03 * abs(about))
            for number, about in zip(found.groups(), wanted, strict=True)
        )

    @property
    def fails(self) -> bool:
        """Whether the page shows how it fails."""
        return self.expected.startswith("Error: ")


@dataclass(frozen=True, slots=True)
class File:
    """A file that a page shows."""

    path: str
    text: str


def steps(page: str) -> Iterator[Command | File]:
    """What a page does, in its order."""
    for block in _BLOCK.finditer(page):
        if block["file"]:
            yield File(block["file"], block["text"])
        elif block["kind"] == "console":
            for line, expected in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block["text"], re.MULTILINE):
                yield Command(line, _tidy(expected))


def run(steps: Iterable[Command | File], folder: Path) -> list[tuple[Command, str, int]]:
    """Every command with what it printed and its exit code."""
    script = []
    commands = []
    for step in steps:
        if isinstance(step, File):
            script.append(f"mkdir -p $(dirname {step.path}) && cat > {step.path} <<'@@@'\n{step.text}@@@\n")
        else:
            commands.append(step)
            script.append(f"{{ {step.line}\n}} 2>&1 < /dev/null\nprintf '{_MARK} %d\\n' $?\n")
    done = subprocess.run(
        ["bash", "-c", "".join(script)], cwd=folder, env=environment(folder), capture_output=True, text=True, check=True
    )
    found = re.findall(rf"(.*?){_MARK} (\d+)\n", done.stdout, re.DOTALL)
    return [(command, out, int(code)) for command, (out, code) in zip(commands, found, strict=True)]


def environment(folder: Path) -> dict[str, str]:
    """As a user's, but pip installs into the folder, beside the environment that the tests run in."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_COLOR": "1",
        "PYTHONPATH": str(folder / "installed"),
        "PIP_TARGET": str(folder / "installed"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say: do not isolate
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def prepared(folder: Path) -> Path:
    """A folder in which the pages' commands work: the sample corpus is where they look for it."""
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


def _tidy(text: str) -> str:
    """Lines without blanks at their ends, and no empty lines around them."""
    lines = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return f"{lines}\n" if lines else ""


def _pattern(expected: str) -> str:
    return "".join("(?:.*\n)*?" if line.strip() == "…" else _line_pattern(line) for line in expected.splitlines())


def _line_pattern(line: str) -> str:
    loose = {"any": ".*?", "number": r"(\d+(?:\.\d+)?)", "bar": "[█-▏]*", "gap": " +"}
    parts, at = [], 0
    for place in _LOOSE.finditer(line):
        parts += [re.escape(line[at : place.start()]), loose[str(place.lastgroup)]]
        at = place.end()
    return "".join(parts) + re.escape(line[at:]) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for command, printed, code in run(steps(Path(sys.argv[1]).read_text("utf-8")), prepared(Path(scratch))):
            verdict = "" if command.fits(printed) and command.fails == bool(code) else "   <-- not what the page says"
            sys.stdout.write(f"$ {command.line}{verdict}\n{printed}")
