"""What is installed is what is in the folders, and it works away from the checkout."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from sparc_search.stores import stored_blocks

ROOT = Path(__file__).resolve().parent.parent
CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg", encoding="utf-8")
FOLDERS = dict(row.split(" = ") for row in CONFIG["options"]["package_dir"].strip().split("\n"))


def test_the_list_of_packages_is_the_list_of_folders() -> None:
    listed = CONFIG["options"]["packages"].split()
    found = {
        ".".join([package, *path.parent.relative_to(ROOT / folder).parts])
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("*.py")
    }
    assert sorted(listed) == sorted(found)


def test_every_package_has_an_init() -> None:
    folders = {path.parent for folder in FOLDERS.values() for path in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_files_that_are_no_code_are_listed_as_data() -> None:
    data = CONFIG["options.package_data"]
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix not in (".py", ".pyc", ".c", ".h", ".so"):
                home = next(parent for parent in path.parents if (parent / "__init__.py").exists())
                inner = ".".join([package, *home.relative_to(ROOT / folder).parts])
                patterns = data.get(inner, "").replace(",", " ").split()
                assert any(path.match(pattern) for pattern in patterns), f"{path} is not in package_data of {inner}"


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel in it; other distributions are lent by the environment of this run."""
    source, wheels = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for name in ("setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    for folder in FOLDERS.values():
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copytree(ROOT / "weights", source / "weights", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "--quiet"]
    for folder in (source, source / "weights"):
        build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(folder)]
        subprocess.run(build, check=True, env={**os.environ, "SPARC_SEARCH_SLIM": "1"})
    wheel, weights = sorted(wheels.glob("*.whl"))
    home = tmp_path_factory.mktemp("elsewhere")
    venv.create(home / "env", with_pip=False)
    python = home / "env" / "bin" / "python"
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", str(wheel)], check=True)
    # A path file lends the libraries but runs no path file of theirs: the editable install stays out.
    packages = next((home / "env").glob("lib/python*/site-packages"))
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"])
    for built in (wheel, weights):
        shutil.copy(built, home)
    return home


def call(home: Path, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        [home / "env" / "bin" / "sparc-search", *arguments],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment_outside_the_checkout(elsewhere: Path) -> None:
    assert call(elsewhere, "--version") == f"sparc-search, version {CONFIG['metadata']['version']}\n"
    where = "import sparc_search.cli, sparc_search.loaders, sparc_search.mappings as m; print(m.__file__)"
    python = elsewhere / "env" / "bin" / "python"
    found = subprocess.run([python, "-c", where], cwd=elsewhere, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(elsewhere)

    checks = {check["name"]: check["status"] for check in json.loads(call(elsewhere, "doctor", "--json"))}
    assert checks["compiled code"] == ("ok" if stored_blocks.compiled else "note")

    plugins = json.loads(call(elsewhere, "plugins", "--json"))
    assert [plugin for plugin in plugins if plugin["problem"]] == []
    assert {plugin["group"] for plugin in plugins} == {"readers", "encoders", "stores", "dense_stores"}

    (elsewhere / "notes.txt").write_text("The lighthouse of Norrby was finished in 1874. It is 31 metres tall.\n")
    call(elsewhere, "ingest", "notes.txt")
    answer = call(elsewhere, "ask", "In which year was the lighthouse finished?", "--json")
    assert "1874" in answer


@pytest.mark.slow
def test_the_weights_for_torch_are_a_distribution_of_their_own(elsewhere: Path) -> None:
    wheel, weights = sorted(elsewhere.glob("*.whl"))
    assert all(path.stat().st_size < 100_000_000 for path in (wheel, weights))  # what the index of packages takes
    python = elsewhere / "env" / "bin" / "python"
    find = "from sparc_search.model.files import *; print(open_model('default').file(WEIGHTS))"

    def found() -> subprocess.CompletedProcess[str]:
        return subprocess.run([python, "-c", find], cwd=elsewhere, capture_output=True, text=True, check=False)

    assert "pip install sparc-search-weights" in found().stderr
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", str(weights)], check=True)
    assert Path(found().stdout.strip()).parent.name == "sparc_search_weights"
