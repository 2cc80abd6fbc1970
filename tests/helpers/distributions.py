"""Distributions that hold plugins, without the work of an installer."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, name: str, module: str, entries: str, *, version: str = "2.0") -> None:
    """A distribution as an installer would leave it: a module and its metadata."""
    (folder / f"{name.replace('-', '_')}.py").write_text(module)
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entries)
