"""Imports point one way: every module imports its own room and rooms below it, and no module imports itself in a ring.

Also: each heavy library is imported in its own rooms only, and `loaders`, `cli`, `mappings` only by their installed
names. Run without arguments; violations go to stderr.
"""

from __future__ import annotations

import ast
import configparser
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

# Lowest first. Rooms on one line do not import each other.
LAYERS: Final[tuple[tuple[str, ...], ...]] = (
    ("records", "errors"),
    ("block_batch", "phrase_query", "sentences", "setting", "source_lines", "squad", "trust"),
    ("stored", "client"),
    ("mappings", "ngrams", "engine", "encoder", "reader", "dense_store"),
    ("plugins",),
    ("settings",),
    ("model", "stores", "servers", "search scoring"),
    ("cross_encoder",),
    ("search", "opening"),
    ("loaders",),
    ("index",),
    ("inspection",),
    ("evaluation",),
    ("training",),
    ("cross_encoder training", "tuning"),
    ("mcp",),
    ("web", "langchain"),
    ("cli",),
)
# Two rooms are divided. The scorer knows nothing of who proposed a passage: within `search` it stands below the rest.
# Reading with a cross-encoder is for whoever serves; training one needs the rooms of training and evaluation.
_SCORING = ("scorer", "lexical", "grid", "legal_spans", "question_grams")
_CROSS_TRAINING = ("data", "network", "teaching", "training", "tuning")
APART: Final = {
    **{f"search.{name}": "search scoring" for name in _SCORING},
    **{f"cross_encoder.{name}": "cross_encoder training" for name in _CROSS_TRAINING},
}
LEVEL: Final = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}

# Who may import what is large or belongs to one kind of work.
LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "torch": ("model", "training", "tuning", "cross_encoder", "cli.doctor", "cli.train", "cli.tune"),
    "transformers": ("model", "training", "cross_encoder", "cli.train"),
    "onnx": ("model",),
    "onnxruntime": ("model",),
    "tokenizers": ("model",),
    "safetensors": ("model", "training"),
    "faiss": ("stores", "training"),
    "opensearchpy": ("stores",),
    "tenacity": ("stores",),
    "sqlite3": ("stores", "loaders"),
    "starlette": ("web",),
    "uvicorn": ("web", "cli"),
    "jinja2": ("web",),
    "prometheus_client": ("web",),
    "mcp": ("mcp", "web.mcp"),
    "mcp_types": ("mcp",),
    "pydantic": ("mcp", "langchain"),
    "langchain_core": ("langchain",),
    "jsonschema": ("mcp",),
    "click": ("cli",),
    "rich": ("cli",),
    "prompt_toolkit": ("cli",),
    "pypdfium2": ("loaders",),
    "openpyxl": ("loaders",),
    "charset_normalizer": ("loaders",),
    "pathspec": ("loaders",),
    "selectolax": ("loaders",),
    "docx": ("loaders",),
    "pyarrow": ("loaders",),
    "mwparserfromhell": ("loaders",),
    "matplotlib": ("evaluation", "training"),
    "bm25s": ("evaluation",),
    "ir_measures": ("evaluation",),
}
BARE: Final = ("loaders", "cli", "mappings", "tests", "tools")


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement's target, by its full name."""

    importer: str
    target: str
    line: int
    at_import_time: bool


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the package by its installed name."""
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg", encoding="utf-8")
    folders = dict(row.split(" = ") for row in config["options"]["package_dir"].split("\n") if row)
    found = {}
    for package, folder in folders.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


def imports(name: str, path: Path) -> Iterator[Import]:
    """All imports of a module, those inside functions too."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    lazy = {id(node) for scope in ast.walk(tree) if _is_lazy(scope) for node in ast.walk(scope)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno, id(node) not in lazy)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(package, node)
            for alias in node.names:
                yield Import(name, f"{base}.{alias.name}", node.lineno, id(node) not in lazy)


def _is_lazy(node: ast.AST) -> bool:
    """Whether imports below this node do not run when the module is imported."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name):
        return node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _absolute(package: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    base = package.split(".")
    base = base[: len(base) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def room(module: str) -> str:
    """The room of a module: the first part of its name, or what `APART` says; the package itself has none."""
    inner = module.removeprefix("sparc_search").removeprefix(".")
    return APART.get(inner, inner.partition(".")[0])


def violations(root: Path = ROOT) -> list[str]:
    """Everything that breaks a rule, as `file:line: what`."""
    known = modules(root)
    found, graph = [], {}
    for name, path in known.items():
        statements = list(imports(name, path))
        graph[name] = {_module(i.target, known) for i in statements if i.at_import_time} & known.keys() - {name}
        where = path.relative_to(root)
        found += [f"{where}:{i.line}: {reason}" for i in statements if (reason := _reason(i, known))]
    return found + [f"imports in a ring: {' -> '.join(ring)}" for ring in _rings(graph)]


def _reason(statement: Import, known: Mapping[str, Path]) -> str:
    """Why this import is not allowed; empty if it is."""
    top = statement.target.partition(".")[0]
    importer = statement.importer.removeprefix("sparc_search").removeprefix(".")
    if top in BARE:
        return f"import sparc_search.{top}, not {top}"
    if top in LIBRARIES and not any(importer == r or importer.startswith(r + ".") for r in LIBRARIES[top]):
        return f"{top} is imported only in {', '.join(LIBRARIES[top])}"
    if top != "sparc_search" or not importer:  # the package's own face may offer anything, lazily
        return ""
    here, there = room(statement.importer), room(_module(statement.target, known))
    if not there or here == there:
        return ""
    missing = [name for name in (here, there) if name not in LEVEL]
    if missing:
        return f"the room {missing[0]} is not in the table of layers"
    return "" if LEVEL[there] < LEVEL[here] else f"{here} must not import {there}"


def _module(target: str, known: Mapping[str, Path]) -> str:
    """`from sparc_search.errors import UsageError` is an import of the module, not of the name."""
    return target if target in known else target.rpartition(".")[0]


def _rings(graph: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Each ring of imports once: a walk that meets a module it is still inside of."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> Iterator[list[str]]:
        if name in path:
            yield [*path[path.index(name) :], name]
        elif name not in done:
            for target in sorted(graph[name]):
                yield from walk(target, [*path, name])
            done.add(name)

    for name in sorted(graph):
        yield from walk(name, [])


def main() -> int:
    """Check this checkout."""
    found = violations()
    sys.stderr.write("".join(f"{line}\n" for line in found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
