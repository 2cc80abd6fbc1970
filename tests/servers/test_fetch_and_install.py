"""Files come by coordinates, once, and only with the hash that was pinned; a home folder is whole or not there."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from server_products import MAPPER_EXTRAS, PRODUCTS

from sparc_search.errors import ServerError
from sparc_search.servers.fetch import fetch
from sparc_search.servers.install import install, unpack
from sparc_search.servers.products import Artifact, Product


def archive(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)
    return buffer.getvalue()


def artifact(content: bytes, kind: str = "zip", folder: str = "") -> Artifact:
    digest = hashlib.sha256(content).hexdigest()
    return Artifact(f"org.example:thing{folder.count('/')}:1.0:{kind}", digest, len(content), folder)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of files, and a stand-in for `mvn` that copies out of it: the registry itself is not under test."""
    folder = tmp_path / "registry"
    folder.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    script = (
        "#!/bin/sh\n"
        'for argument in "$@"; do case $argument in\n'
        "  -Dartifact=*) what=${argument#-Dartifact=} ;;\n"
        "  -DoutputDirectory=*) where=${argument#-DoutputDirectory=} ;;\n"
        "esac; done\n"
        f'echo "$what" >> {tmp_path}/asked\n'
        "IFS=:; set -- $what\n"
        f'cp "{folder}/$2-$3.$4" "$where" 2>/dev/null || {{ echo "[ERROR] could not find $what"; exit 1; }}\n'
    )
    (programs / "mvn").write_text(script)
    (programs / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return folder


def test_it_is_fetched_once(registry: Path, tmp_path: Path) -> None:
    one = artifact(b"content")
    (registry / one.file_name).write_bytes(b"content")
    seen: list[tuple[str, int, int]] = []
    for _ in range(2):
        path = fetch(one, tmp_path / "cache", lambda *told: seen.append(told))
        assert path.read_bytes() == b"content"
    assert (tmp_path / "asked").read_text().splitlines() == [one.coordinates]
    assert seen[-1] == (one.file_name, 7, 7)


def test_a_file_with_another_hash_is_not_kept(registry: Path, tmp_path: Path) -> None:
    one = artifact(b"content")
    (registry / one.file_name).write_bytes(b"changed on the way")
    with pytest.raises(ServerError, match="is not the file that is known"):
        fetch(one, tmp_path / "cache")
    assert not (tmp_path / "cache" / one.file_name).exists()


def test_what_is_not_there_is_said_in_mavens_words(registry: Path, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"could not get org.example:thing0:1.0:zip: \[ERROR\] could not find"):
        fetch(artifact(b"content"), tmp_path / "cache")


def test_without_maven_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerError, match="there is no `mvn`") as caught:
        fetch(artifact(b"content"), tmp_path / "cache")
    assert "install" in caught.value.remedy


def test_a_home_is_laid_out_with_its_modules(registry: Path, tmp_path: Path) -> None:
    server = archive({"thing-1.0/bin/start": "run", "thing-1.0/config/jvm.options": "", "thing-1.0/lib/a.jar": "x"})
    plugin = archive({"plugin-descriptor.properties": "p"})
    descriptor = MAPPER_EXTRAS.format(name="elasticsearch", version="1.0")
    artifacts = (
        artifact(server),
        replace(artifact(b"jar", "jar", "modules/mapper-extras"), descriptor=descriptor),
        artifact(plugin, "zip", "plugins/a/b"),
    )
    for one, content in zip(artifacts, (server, b"jar", plugin), strict=True):
        (registry / one.file_name).write_bytes(content)
    product = Product("elasticsearch", "1.0", artifacts, oldest_java=17)
    home = install(product, cache=tmp_path / "cache")
    assert home.name == "elasticsearch-1.0-mapper-extras-b"
    assert stat.S_IMODE((home / "bin/start").stat().st_mode) == 0o755
    assert stat.S_IMODE((home / "lib/a.jar").stat().st_mode) == 0o644
    assert (home / "modules/mapper-extras/plugin-descriptor.properties").read_text() == descriptor
    assert (home / "modules/mapper-extras" / artifacts[1].file_name).read_bytes() == b"jar"
    assert (home / "plugins/a/b/plugin-descriptor.properties").read_text() == "p"
    assert (home / "plugins").is_dir()


def test_an_archive_that_leads_out_of_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(archive({"thing/../../out": "x"}))
    with pytest.raises(ServerError, match="leads out of it"):
        unpack(tmp_path / "bad.zip", tmp_path / "target", strip=1)
    assert not (tmp_path / "out").exists()


def test_everything_is_pinned() -> None:
    artifacts = [one for product in PRODUCTS for one in product.artifacts]
    assert len({one.sha256 for one in artifacts}) == len(artifacts)
    assert all(len(one.sha256) == 64 and one.size > 50_000 for one in artifacts)
    assert all(one.coordinates.split(":")[2].startswith(p.version) for p in PRODUCTS for one in p.artifacts)
    assert len({product.label for product in PRODUCTS}) == len(PRODUCTS)
