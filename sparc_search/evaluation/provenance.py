"""Where a figure comes from: the command, the data, the machine, the day, the version. Every report carries it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..errors import ReaderError


def provenance(command: str, data: Path) -> dict[str, Any]:
    """What stands at the head of a report."""
    return {
        "command": command,
        "data": data.name,
        "data_sha256": digest(data),
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
        "version": package_version(),
    }


def digest(path: Path) -> str:
    """The first 12 digits of a file's sha256."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:12]


def machine() -> str:
    """The processor and how many of it, in words."""
    facts = Path("/proc/cpuinfo")  # of Linux
    names = re.findall(r"model name\s*:\s*(.+)", facts.read_text("utf-8") if facts.exists() else "")
    return f"{os.cpu_count()} x {names[0] if names else platform.processor() or platform.machine()}"


def package_version() -> str:
    """The version of this package."""
    try:
        return version("sparc-search")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """A report as a file, in one go."""
    fresh = path.with_name(path.name + ".new")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", "utf-8")
    fresh.replace(path)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Lines as a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def read_report(path: Path) -> dict[str, Any]:
    """A report that `--save` wrote."""
    try:
        report = json.loads(path.read_text("utf-8"))
        if not isinstance(report, dict) or not isinstance(report.get("rows"), list):
            raise ValueError("no `rows`")
    except OSError as error:
        raise ReaderError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ReaderError(f"{path} is no report: {error}", "name a file that `evaluate … --save` wrote") from error
    return report
