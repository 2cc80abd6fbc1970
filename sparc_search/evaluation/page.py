"""Raw figures on Markdown pages, written by the commands that measure: each owns one section, between two marks."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

from .provenance import machine

INTRODUCTION: Final = """# Raw figures

Written by the command that is named below, not by hand. The page to read is docs/benchmarks.md.
"""


def write_section(name: str, title: str, command: str, body: str, page: Path) -> None:
    """Replace (or add) one section of the page."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    about = f"`{command}` · {machine()} · {time.strftime('%Y-%m-%d')}"
    section = f"{begin}\n## {title}\n\n{about}\n\n{body.strip()}\n{end}"
    text = page.read_text("utf-8") if page.exists() else INTRODUCTION
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    text = pattern.sub(lambda _: section, text) if pattern.search(text) else text.rstrip() + "\n\n" + section + "\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, "utf-8")
