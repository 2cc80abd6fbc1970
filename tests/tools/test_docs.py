"""The documentation says what is true, and the tool that checks it can see what is not."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from sparc_search import plugins
from sparc_search.settings import CORE

ROOT = Path(__file__).resolve().parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_tool", ROOT / "tools" / "docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs_tool"] = module
    spec.loader.exec_module(module)
    return module


docs = load_tool()
BUILT_IN = {**CORE, **{setting.name: setting for setting in plugins.settings_of("stores", "opensearch")}}


def test_nothing_is_stale_missing_or_leads_nowhere() -> None:
    assert docs.problems() == []


def test_every_command_is_on_its_page() -> None:
    page = (ROOT / "docs/cli.md").read_text()
    assert [name for name, _ in docs.commands(docs.cli) if f"\n## {name}\n" not in page] == []


def test_every_command_has_help_for_itself_and_its_options() -> None:
    def walk(command: click.Command, name: str) -> Iterator[str]:
        if not command.help:
            yield name
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.help and not parameter.hidden:
                yield f"{name} {parameter.name}"
        if isinstance(command, click.Group):
            context = click.Context(command)
            for member in command.list_commands(context):
                inner = command.get_command(context, member)
                assert inner is not None
                yield from walk(inner, f"{name} {member}")

    assert list(walk(docs.cli, "sparc-search")) == []


@pytest.mark.parametrize("key", BUILT_IN)
def test_every_setting_is_documented(key: str) -> None:
    assert len(cells(key)) == 6
    assert BUILT_IN[key].variable in cells(key)[2]


@pytest.mark.parametrize("key", BUILT_IN)
def test_a_flag_is_listed_if_a_command_has_it(key: str) -> None:
    line = re.compile(rf"{BUILT_IN[key].flag} \S+ {re.escape(BUILT_IN[key].help)}")
    known = any(line.search(" ".join(help.split())) for _, help in docs.commands(docs.cli))
    assert bool(cells(key)[3]) == known
    assert not (BUILT_IN[key].secret and known)


def cells(key: str) -> list[str]:
    """The row of a setting in the tables."""
    (row,) = [row for row in docs.settings_tables().splitlines() if row.startswith(f"| `{key}` |")]
    return [cell.strip() for cell in row.split("|")[1:-1]]


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_every_plugin_point_is_documented(group: str) -> None:
    assert f"`sparc_search.{group}`" in (ROOT / "docs/plugins.md").read_text()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[x](nowhere.md)", "page.md: no file nowhere.md"),
        ("# A\n[x](#b)", "page.md: no heading #b"),
        ("`sparc-search nosuch`", "page.md: there is no `sparc-search nosuch`"),
        ("```sh\nsparc-search config shwo\n```", "page.md: there is no `sparc-search config shwo`"),
        ("# A b, c!\n[x](#a-b-c) [y](https://example.org/z) `sparc-search config show`", None),
    ],
)
def test_a_fault_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, found: str | None) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    monkeypatch.setattr(docs, "ROOT", tmp_path)
    assert [*docs._dead_links(page), *docs._unknown_commands(page)] == ([found] if found else [])


def test_the_architecture_lists_every_room_in_the_order_of_its_layer() -> None:
    layering = runpy.run_path(str(ROOT / "tools" / "layering.py"))
    page = (ROOT / "docs/architecture.md").read_text()
    listed = re.findall(r"^\| (\d+) \| `([\w ]+)` \|", page, re.MULTILINE)
    assert listed == [(str(number), room) for number, line in enumerate(layering["LAYERS"], 1) for room in line]


def test_words_that_the_glossary_replaces_stand_nowhere() -> None:
    _, _, table = (ROOT / "docs/glossary.md").read_text().partition("| not | but |\n")
    words = re.findall(r"^\| (\w+) \| \w+ \|$", table, re.MULTILINE)
    assert words
    pages = [page for page in docs.pages() if page.name not in ("glossary.md", "CHANGELOG.md")]
    pattern = re.compile(rf"\b(?:{'|'.join(words)})s?\b", re.IGNORECASE)
    assert [(page.name, found[0]) for page in pages for found in pattern.finditer(page.read_text())] == []


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "docs/format.md", "docs/search.md"])
def test_files_that_a_page_names_are_there(name: str) -> None:
    paths = re.findall(r"`([\w.-]+/[\w./-]+\.(?:py|c|h|pyi|json))`", (ROOT / name).read_text())
    missing = [path for path in paths if not any((base / path).exists() for base in (ROOT, ROOT / "sparc_search"))]
    assert missing == []
