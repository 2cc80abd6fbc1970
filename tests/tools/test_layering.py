"""The rule of one way holds here, and the tool that says so can see a breach."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("layering", ROOT / "tools" / "layering.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["layering"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


layering = load_tool()


def test_imports_point_one_way() -> None:
    assert layering.violations() == []


def test_every_module_is_in_a_room() -> None:
    rooms = {layering.room(name) for name in layering.modules() if name != "sparc_search"}
    assert rooms - layering.LEVEL.keys() == set()


@pytest.fixture
def house(tmp_path: Path) -> Path:
    (tmp_path / "setup.cfg").write_text(
        "[options]\npackage_dir =\n    sparc_search = sparc_search\n    sparc_search.cli = cli\n"
    )
    for folder in ("sparc_search", "sparc_search/model", "sparc_search/stores", "cli"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "sparc_search/records.py").write_text("")
    (tmp_path / "sparc_search/errors.py").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        ("sparc_search/records.py", "from .plugins import load", "records must not import plugins"),
        ("sparc_search/records.py", "import sparc_search.errors", "records must not import errors"),
        ("sparc_search/model/a.py", "from ..stores import x", "model must not import stores"),
        ("sparc_search/model/a.py", "from sparc_search import cli", "model must not import cli"),
        ("sparc_search/model/a.py", "def f():\n    import sparc_search.cli.main", "model must not import cli"),
        ("sparc_search/attic.py", "from .errors import x", "the room attic is not in the table of layers"),
        ("cli/a.py", "import loaders.text", "import sparc_search.loaders, not loaders"),
        ("cli/a.py", "from cli import b", "import sparc_search.cli, not cli"),
        ("cli/a.py", "def f():\n    import faiss", "faiss is imported only in stores"),
        ("sparc_search/model/a.py", "import click.testing", "click is imported only in cli"),
    ],
)
def test_a_breach_is_seen(house: Path, path: str, line: str, found: str) -> None:
    for name in ("plugins.py", "cli.py"):
        (house / "sparc_search" / name).write_text("")
    (house / path).write_text(line)
    assert any(violation.startswith(path) and found in violation for violation in layering.violations(house))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("cli/a.py", "from sparc_search.model import x"),
        ("cli/a.py", "from . import b\nimport click"),
        ("sparc_search/model/a.py", "from ..errors import x\nimport torch, json"),
        ("sparc_search/model/a.py", "from .b import x"),
    ],
)
def test_what_points_down_is_fine(house: Path, path: str, line: str) -> None:
    (house / path).write_text(line)
    assert layering.violations(house) == []


def test_a_ring_is_seen_but_a_lazy_import_makes_none(house: Path) -> None:
    (house / "sparc_search/model/a.py").write_text("from . import b")
    (house / "sparc_search/model/b.py").write_text("def f():\n    from . import a\n")
    assert layering.violations(house) == []
    (house / "sparc_search/model/b.py").write_text("from .a import x")
    (ring,) = layering.violations(house)
    assert ring == "imports in a ring: sparc_search.model.a -> sparc_search.model.b -> sparc_search.model.a"
