"""Which Java is found, and what is said when none fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparc_search.errors import ServerError
from sparc_search.servers import java
from sparc_search.servers.java import examine, find_java


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java but those that a test names: the machine's own do not count."""
    homes = java._homes

    def named_only(environment: dict[str, str]) -> list[Path]:
        return [home for home in homes(environment) if "made-up" in home.parts]

    monkeypatch.setattr(java, "_homes", named_only)
    monkeypatch.setattr(java, "reachable", lambda path: True)


def home(folder: Path, name: str, version: str, released: bool = True) -> Path:
    made = folder / "made-up" / name
    (made / "bin").mkdir(parents=True)
    program = made / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026' >&2\n")
    program.chmod(0o755)
    if released:
        (made / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return made


@pytest.mark.parametrize("released", [True, False])
@pytest.mark.parametrize(("version", "major"), [("21.0.2", 21), ("1.8.0_292", 8), ("25", 25), ("17.0.15", 17)])
@pytest.mark.usefixtures("nothing_else")
def test_the_version_is_told_by_the_release_file_or_by_java_itself(
    tmp_path: Path, version: str, major: int, released: bool
) -> None:
    found = examine(home(tmp_path, "jdk", version, released))
    assert found is not None
    assert found.version == major


@pytest.mark.usefixtures("nothing_else")
def test_the_first_that_fits_in_the_order_of_obedience(tmp_path: Path) -> None:
    old, new, newer = (home(tmp_path, name, version) for name, version in (("a", "11.0"), ("b", "21.0"), ("c", "25.0")))
    path = str(newer / "bin")
    both = {"OPENSEARCH_JAVA_HOME": str(new), "JAVA_HOME": str(newer), "PATH": path}
    assert find_java(21, environment=both).home == new
    assert find_java(21, environment={"JAVA_HOME": str(old), "PATH": path}).home == newer
    assert find_java(11, 17, environment={"JAVA_HOME": str(new), "OPENSEARCH_JAVA_HOME": str(old)}).home == old


@pytest.mark.usefixtures("nothing_else")
def test_none_that_fits_names_those_that_were_found(tmp_path: Path) -> None:
    old = home(tmp_path, "old", "17.0.1")
    with pytest.raises(ServerError, match=r"needs Java 21 or newer; found: 17 at .*old") as caught:
        find_java(21, environment={"JAVA_HOME": str(old), "PATH": ""})
    assert "OPENSEARCH_JAVA_HOME" in caught.value.remedy
    with pytest.raises(ServerError, match="needs Java 17 to 23; found: none at all"):
        find_java(17, 23, environment={"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": ""})


def test_a_folder_without_java_is_none(tmp_path: Path) -> None:
    assert examine(tmp_path) is None
