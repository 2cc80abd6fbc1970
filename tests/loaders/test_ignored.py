from __future__ import annotations

import os
from pathlib import Path

from sparc_search.loaders.patterns import Filters
from sparc_search.loaders.walk import Found, Passed, roots, walk


def tree(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")


def names(folder: Path, **filters: bool) -> tuple[list[str], set[str]]:
    """Files that are read, and why others are not."""
    entries = list(walk(roots([str(folder)]), Filters(**filters)))
    found = sorted(entry.source.removeprefix(f"{folder}/") for entry in entries if isinstance(entry, Found))
    return found, {entry.reason for entry in entries if isinstance(entry, Passed)} - {"hidden"}


def test_packages_environments_and_build_results_are_left_out(tmp_path: Path) -> None:
    tree(tmp_path, "a.md", "web/package.json", "web/dist/b.md", "web/node_modules/c/d.md", "env/pyvenv.cfg", "env/e.md")
    tree(tmp_path, "notes/build/f.md")  # no project stands around it
    assert names(tmp_path) == (
        ["a.md", "notes/build/f.md", "web/package.json"],
        {"a folder of build results", "a folder node_modules", "a virtual environment"},
    )
    assert len(names(tmp_path, ignore=False)[0]) == 7


def test_what_gitignore_names_is_left_out_below_its_folder(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "a.log",
        "b.md",
        "keep.log",
        "sub/c.log",
        "sub/d.md",
        "sub/deep/d.md",
        "drafts/x.md",
        "sub/drafts/y.md",
    )
    (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n/drafts/\n")
    (tmp_path / "sub" / ".gitignore").write_text("/d.md\n")
    assert names(tmp_path) == (["b.md", "keep.log", "sub/deep/d.md", "sub/drafts/y.md"], {"named by .gitignore"})


def test_a_gitignore_that_means_harm_holds_nobody_up(tmp_path: Path) -> None:
    tree(tmp_path, f"{'a' * 200}.md", "b.log", "sub/c.md")
    (tmp_path / ".gitignore").write_text("*a" * 40 + "b\n*.log\n")  # such a rule would take years
    os.mkfifo(tmp_path / "sub" / ".gitignore")  # and nobody writes into this pipe
    assert names(tmp_path)[0] == [f"{'a' * 200}.md", "sub/c.md"]
