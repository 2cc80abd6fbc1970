"""Every test is of one group, by what it needs: `pytest --group fast` runs one of them, `make test` each in a process.

    servers       asks for a search server
    heavy         needs a library of an extra (torch, pyarrow, …), a browser, or more than a few seconds
    integrations  stands in tests/integrations: needs other people's frameworks, in an environment of their own
    fast          everything else: runs in the environment of `make check`

What is left out is counted at the end of a run; it is never a skip. A module of tests that imports a library of an
extra, directly or through our own modules, is heavy; a test that needs one only when it runs says so itself, with
`@pytest.mark.extras`. The fast group sees no extra even where it is installed, so that it fails if one is forgotten.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HELPERS = Path(__file__).parent
GROUPS = ("servers", "heavy", "integrations", "fast")
EXTRAS = {"bm25s", "ir_measures", "matplotlib", "mwparserfromhell", "onnx", "pyarrow", "torch", "transformers"}
INTEGRATIONS = ROOT / "tests" / "integrations"
HEAVY = {"extras", "browser", "slow"}
"""Markers that make a test heavy."""

left_out: pytest.StashKey[Counter[str]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--group", choices=GROUPS, help="only the tests of one group: see tests/helpers/groups.py")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[left_out] = Counter()
    if config.getoption("--group") == "fast":
        for name in EXTRAS:
            sys.modules[name] = None  # type: ignore[assignment]


class LeftOut(pytest.File):
    """A module of tests that is not imported, because what it imports belongs to another group."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        names = [node.name for node in ast.walk(_tree(self.path)) if isinstance(node, ast.FunctionDef)]
        group = "integrations" if INTEGRATIONS in self.path.parents else "heavy"
        self.config.stash[left_out][group] += sum(name.startswith("test_") for name in names)
        return []


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    group = parent.config.getoption("--group")
    apart = INTEGRATIONS in module_path.parents
    if group and apart != (group == "integrations"):
        return LeftOut.from_parent(parent, path=module_path)
    if group in ("servers", "fast") and needs_extras(module_path):
        return LeftOut.from_parent(parent, path=module_path)
    return None


@pytest.hookimpl(trylast=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    if INTEGRATIONS in item.path.parents:
        item.add_marker(pytest.mark.integrations)
    elif needs_extras(item.path):
        item.add_marker(pytest.mark.extras)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--group")
    if wanted:
        others = [item for item in items if group_of(item) != wanted]
        items[:] = [item for item in items if group_of(item) == wanted]
        config.stash[left_out].update(map(group_of, others))
        config.hook.pytest_deselected(items=others)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = terminalreporter.config.stash[left_out]
    if counts:
        shown = ", ".join(f"{counts[group]} {group}" for group in GROUPS if counts[group])
        terminalreporter.write_line(f"of other groups, left out: {shown} (`make test` runs them all)")


def group_of(item: pytest.Item) -> str:
    """The one group of a test."""
    marks = {mark.name for mark in item.iter_markers()}
    if "servers" in marks:
        assert "extras" not in marks, f"{item.nodeid} needs a server and an extra: part the two"
        return "servers"
    if "integrations" in marks:
        return "integrations"
    return "heavy" if marks & HEAVY else "fast"


@cache
def needs_extras(path: Path) -> bool:
    """Whether importing this file imports a library of an extra."""
    return _reaches(path, set())


def _reaches(path: Path, seen: set[Path]) -> bool:
    seen.add(path)
    extra, ours = _imports(path)
    return extra or any(file not in seen and _reaches(file, seen) for file in ours)


@cache
def _imports(path: Path) -> tuple[bool, tuple[Path, ...]]:
    """Whether a file itself imports an extra, and the files of ours that it imports."""
    names = set(_imported(path))
    extra = any(name.partition(".")[0] in EXTRAS for name in names)
    return extra, () if extra else tuple({file for name in sorted(names) for file in _files(name)})


def _imported(path: Path) -> Iterator[str]:
    """Full names of everything that importing a file imports; `from a import b` is a and a.b."""
    nodes: list[ast.AST] = [_tree(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _package(path, node.level) + (node.module or "")
            yield from (base, *(f"{base.rstrip('.')}.{alias.name}" for alias in node.names))
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _for_types_only(node):
            nodes += ast.iter_child_nodes(node)


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _package(path: Path, level: int) -> str:
    """The package that so many dots stand for in a file, with a dot at its end."""
    if not level:
        return ""
    parts = path.parents[level - 1].relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "sparc_search" else ("sparc_search", *parts)) + "."


def _files(name: str) -> Iterator[Path]:
    """The files of ours that importing a name runs: helpers, tools, and the package with the packages around it."""
    parts = name.rstrip(".").split(".")
    if parts[0] == "sparc_search":
        folders = {"loaders", "cli", "mappings"}  # they stand at the top of the checkout
        parts = parts[1:] if len(parts) > 1 and parts[1] in folders else parts
        tops = [ROOT]
    else:
        tops = [HELPERS] if len(parts) == 1 else [ROOT] if parts[0] == "tools" else []
    for top in tops:
        for end in range(1, len(parts) + 1):
            place = top.joinpath(*parts[:end])
            yield from (file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))
