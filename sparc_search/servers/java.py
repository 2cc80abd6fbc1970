"""A Java that a server can run on, wherever this machine keeps one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ServerError
from .account import reachable

_MAJOR = re.compile(r'version "(?:1\.)?(\d+)|^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its home folder and its major version."""

    home: Path
    version: int


def find_java(oldest: int, newest: int | None = None, environment: Mapping[str, str] | None = None) -> Java:
    """The first Java of a fitting version: of the environment, then of the PATH, then of what is installed."""
    environment = os.environ if environment is None else environment
    seen: list[Java] = []
    for home in _homes(environment):
        java = examine(home)
        if java and oldest <= java.version <= (newest or java.version):
            return java
        seen += [java] if java else []
    wanted = f"{oldest} or newer" if newest is None else f"{oldest} to {newest}"
    there = ", ".join(f"{java.version} at {java.home}" for java in seen) or "none at all"
    raise ServerError(
        f"a server needs Java {wanted}; found: {there}",
        "install a JDK and let OPENSEARCH_JAVA_HOME name its folder",
    )


def examine(home: Path) -> Java | None:
    """What is in this folder, if it is a Java that the server's account can run."""
    program = home / "bin" / "java"
    if not program.is_file() or not reachable(program):
        return None
    try:
        text = (home / "release").read_text(errors="replace")
    except OSError:
        text = _ask(program)
    version = _MAJOR.search(text)
    return Java(home, int(version[1] or version[2])) if version else None


def _ask(program: Path) -> str:
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr


def _homes(environment: Mapping[str, str]) -> Iterator[Path]:
    for name in ("OPENSEARCH_JAVA_HOME", "JAVA_HOME"):
        if environment.get(name):
            yield Path(environment[name])
    program = shutil.which("java", path=environment.get("PATH"))
    if program:
        yield Path(program).resolve().parent.parent
    yield from sorted(Path("/usr/lib/jvm").glob("*"), reverse=True)
    yield from sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home"), reverse=True)
