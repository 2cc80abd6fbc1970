"""Run mypy on the package as it is installed, and on the tools.

`loaders`, `cli` and `mappings` live beside `sparc_search` and install inside it. mypy does not follow the hook of an
editable install, so the packages are laid out under build/typecheck first. Modification times are kept: the second
run is incremental.
"""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAID_OUT = ROOT / "build" / "typecheck"


def lay_out() -> dict[str, str]:
    """Copy every package to its installed place; which installed folder comes from which."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    folders = dict(row.split(" = ") for row in config["options"]["package_dir"].split("\n") if row)
    shutil.rmtree(LAID_OUT, ignore_errors=True)
    for package, folder in {**folders, "tools": "tools"}.items():
        target = LAID_OUT / package.replace(".", "/")
        shutil.copytree(ROOT / folder, target, dirs_exist_ok=True, ignore=_only_code)
    return {package.replace(".", "/"): folder for package, folder in folders.items()}


def _only_code(folder: str, names: list[str]) -> list[str]:
    code = (".py", ".pyi", ".typed")
    return [name for name in names if not name.endswith(code) and not (Path(folder) / name).is_dir()]


def main() -> int:
    """Lay out, check, and report with the names that the files have in the checkout."""
    folders = lay_out()
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    command = [sys.executable, "-m", "mypy", *config, "-p", "sparc_search", "-p", "tools"]
    done = subprocess.run(command, cwd=LAID_OUT, capture_output=True, text=True, check=False)
    report = done.stdout
    for installed, folder in folders.items():
        report = report.replace(f"{installed}/", f"{folder}/")
    sys.stderr.write(report + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
