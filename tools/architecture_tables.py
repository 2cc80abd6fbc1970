"""Tables of docs/architecture.md that are made from the code: rooms, the front door, the contract of an engine."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent


def with_tables(page: str) -> str:
    """The page with fresh tables between its marks."""
    for name, made in _TABLES.items():
        begin, end = f"<!-- {name}: made by tools/docs.py -->", f"<!-- end of {name} -->"
        head, _, rest = page.partition(begin)
        _, _, tail = rest.partition(end)
        page = f"{head}{begin}\n{made()}\n{end}{tail}"
    return page


def rooms() -> str:
    """One row for each room, in the order of the layers, with what it says of itself."""
    layering = runpy.run_path(str(ROOT / "tools" / "layering.py"))
    modules = layering["modules"]()
    rows = []
    for number, line in enumerate(layering["LAYERS"], 1):
        for room in line:
            module = next((name for name, apart in layering["APART"].items() if apart == room), room)
            rows.append((str(number), f"`{room}`", _summary(_parsed(modules[f"sparc_search.{module}"]))))
    return _table(("line", "room", "what it is"), rows)


def front_door() -> str:
    """The methods of `Index`."""
    (index,) = _classes(ROOT / "sparc_search" / "index.py", "Index")
    return _table(("method", "what it does"), [(f"`{m.name}`", _summary(m)) for m in _methods(index)])


def contract() -> str:
    """The methods of an engine's four parts, those that must be written first."""
    classes = _classes(ROOT / "sparc_search" / "engine.py", "Engine", "View", "Writer", "Admin")
    rows = [
        (f"`{part.name}.{method.name}`", "must" if must else "may", _summary(method))
        for must in (True, False)
        for part in classes
        for method in _methods(part)
        if _is_abstract(method) is must
    ]
    return _table(("method", "written", "what it does"), rows)


_TABLES: Final[Mapping[str, Callable[[], str]]] = {"rooms": rooms, "front door": front_door, "contract": contract}


def _classes(path: Path, *names: str) -> list[ast.ClassDef]:
    found = {node.name: node for node in _parsed(path).body if isinstance(node, ast.ClassDef)}
    return [found[name] for name in names]


def _methods(part: ast.ClassDef) -> list[ast.FunctionDef]:
    """The public methods of a class, in their order."""
    functions = [node for node in part.body if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if not f.name.startswith("_") and not _has(f, "property", "cached_property")]


def _is_abstract(method: ast.FunctionDef) -> bool:
    return _has(method, "abstractmethod")


def _has(method: ast.FunctionDef, *decorators: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id in decorators for node in method.decorator_list)


def _summary(node: ast.Module | ast.FunctionDef) -> str:
    """The first line of a docstring."""
    return (ast.get_docstring(node) or "").partition("\n")[0].replace("|", "\\|")


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
