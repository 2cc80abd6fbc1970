"""An index of the two notes of docs/integrations.md, made by the model in the box."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
RUNNER = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)

for name in ("HAYSTACK_TELEMETRY_ENABLED", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING"):
    os.environ[name] = "false"  # nothing leaves this machine


def section(heading: str) -> doctest.DocTest:
    """The examples below a heading; an empty one is the beginning of the page."""
    text = PAGE.partition(f"\n## {heading}\n")[2] if heading else PAGE
    text = text.partition("\n## ")[0]
    example = doctest.DocTestParser().get_doctest(text, {}, heading or "the notes", "docs/integrations.md", 0)
    assert example.examples
    return example


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page makes its index."""
    folder = tmp_path_factory.mktemp("integrations")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert RUNNER.run(section("")).failed == 0
    return folder
