"""The plugin in docs/plugins.md, word for word: built, installed as a second distribution, used by its name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RunCli = Callable[..., subprocess.CompletedProcess[str]]
SUBTITLES = """\
1
00:00:01,000 --> 00:00:03,500
<i>The gold dome</i> was built

2
00:00:04,000 --> 00:00:06,000
in 1923 by Ada Byrd.
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip put it."""
    page = (ROOT / "docs/plugins.md").read_text(encoding="utf-8")
    source = tmp_path_factory.mktemp("srt")
    for name, text in re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        (source / name).write_text(text, encoding="utf-8")
    assert {path.name for path in source.iterdir()} == {"pyproject.toml", "sparc_search_srt.py"}
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
    return target


def test_it_is_listed_with_its_origin(run_program: RunCli, installed: Path) -> None:
    listed = json.loads(run_program("plugins", "--json", env={"PYTHONPATH": str(installed)}).stdout)
    (plugin,) = [plugin for plugin in listed if plugin["name"] == "srt"]
    assert plugin == {
        "group": "readers",
        "name": "srt",
        "origin": "sparc-search-srt 1.0",
        "summary": "Subtitles (.srt): what is said, one document for each file.",
        "problem": "",
    }


def test_it_reads(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    from sparc_search import plugins
    from sparc_search.errors import RejectedDocument

    monkeypatch.syspath_prepend(str(installed))
    reader = plugins.load("readers", "srt")
    (document,) = reader.read(io.BytesIO(SUBTITLES.encode()), "talks/dome.srt", {})
    assert (document.title, document.text) == ("dome", "The gold dome was built in 1923 by Ada Byrd.")
    for bad in (b"\xff\xfe", b"", b"just text"):
        with pytest.raises(RejectedDocument):
            list(reader.read(io.BytesIO(bad), "x.srt", {}))


@pytest.mark.parametrize("choice", [[], ["--format", "srt"]])
def test_from_a_folder_to_an_answer(
    run_program: RunCli, installed: Path, toy_plugin: Path, tmp_path: Path, choice: list[str]
) -> None:
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "dome.srt").write_text(SUBTITLES)
    environment = {"PYTHONPATH": f"{installed}:{toy_plugin}", "SPARC_SEARCH_ENCODER": "toy"}
    ingested = run_program("ingest", "talks", *choice, env=environment)
    assert ingested.returncode == 0, ingested.stderr
    asked = run_program("ask", "When was the gold dome built?", "--json", env=environment)
    assert asked.returncode == 0, asked.stderr
    assert "1923" in asked.stdout
    assert "dome.srt" in asked.stdout
