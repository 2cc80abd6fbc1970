"""What a release rests on: versions that CI installs, and the list of what is inside."""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCKED = dict(
    line.split("==") for line in (ROOT / "requirements-ci.txt").read_text().splitlines() if not line.startswith("#")
)


def asked() -> Iterator[Requirement]:
    """Everything that setup.cfg asks for, but for what needs a GPU or has an environment of its own in the tests."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = [
        text for name, text in config["options.extras_require"].items() if name not in ("gpu", "all", "langchain")
    ]
    for text in (config["options"]["install_requires"], *extras):
        for line in text.splitlines():
            if line and not line.startswith(("#", "sparc-search")):
                yield Requirement(line)


def test_everything_that_is_asked_for_is_locked_within_its_bounds() -> None:
    locked = {canonicalize_name(name): version for name, version in LOCKED.items()}
    wanted = list(asked())
    assert len(wanted) > 30
    wrong = [str(one) for one in wanted if not one.specifier.contains(locked.get(canonicalize_name(one.name), "0"))]
    assert wrong == []


def test_the_lock_names_versions_and_nothing_else() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in LOCKED)
    assert all(re.fullmatch(r"[0-9][0-9A-Za-z.!]*", version) for version in LOCKED.values())


def test_ci_uses_it() -> None:
    assert "requirements-ci.txt" in (ROOT / ".ci" / "run").read_text()


def test_the_list_of_what_is_inside() -> None:
    command = [sys.executable, ROOT / "tools" / "sbom.py", "--extras", "metrics"]
    texts = [subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)]
    assert texts[0] == texts[1]
    found = json.loads(texts[0])
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["name"] == "sparc-search"
    names = {one["name"].lower() for one in found["components"]}
    assert {"numpy", "starlette", "h11", "lxml", "prometheus_client", "model/default/model.onnx"} <= names
    assert "torch" not in names
    refs = {one["bom-ref"] for one in (*found["components"], found["metadata"]["component"])}
    assert len(refs) == len(found["components"]) + 1
    assert all({edge["ref"], *edge["dependsOn"]} <= refs for edge in found["dependencies"])
