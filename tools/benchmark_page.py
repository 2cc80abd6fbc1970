"""docs/benchmarks.md is written by the commands that measure: each owns one section, between two marks."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
INTRODUCTION: Final = """# Benchmarks

Every section was written by the command it names, not by hand. Machines differ and are shared: ratios inside one run
say more than seconds. Data are named, not shipped.
"""


def write_section(name: str, title: str, command: str, body: str, page: Path = PAGE) -> None:
    """Replace (or add) one section of the page."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    about = f"`{command}` · {machine()} · {time.strftime('%Y-%m-%d')}"
    section = f"{begin}\n## {title}\n\n{about}\n\n{body.strip()}\n{end}"
    text = page.read_text("utf-8") if page.exists() else INTRODUCTION
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    text = pattern.sub(lambda _: section, text) if pattern.search(text) else text.rstrip() + "\n\n" + section + "\n"
    page.write_text(text, "utf-8")


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def machine() -> str:
    """The processor and how many of it, in words."""
    import os

    names = re.findall(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    return f"{os.cpu_count()} x {names[0] if names else platform.processor() or platform.machine()}"


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError:
        return ""
