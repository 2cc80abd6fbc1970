"""An environment for the tests of adapters: LangChain, LlamaIndex and Haystack, apart from everything else.

    python tools/integrations.py [PYTEST_ARGUMENTS...]

They bring a hundred packages that nobody else here needs, and would decide which versions of others there are. The
environment is made at the first use, inside that of the tests, whose packages it sees behind its own; it is made again
when this list changes. The inspector of the Model Context Protocol is fetched by npm, where there is one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from filelock import FileLock

ROOT: Final = Path(__file__).resolve().parent.parent
HOME: Final = Path(sys.prefix) / "integrations"
PACKAGES: Final = ("langchain-core==1.7.2", "llama-index-core==0.14.25", "haystack-ai==2.31.0")
INSPECTOR: Final = "@modelcontextprotocol/inspector@0.15.0"
"""The newest that runs on the Node of Debian stable."""


def python(home: Path = HOME) -> Path:
    """The interpreter of the environment, which is made if it is not there."""
    made = home / "made"
    wanted = "\n".join((*PACKAGES, INSPECTOR))
    with FileLock(f"{home}.lock"):
        if not made.is_file() or made.read_text(encoding="utf-8") != wanted:
            _make(home)
            made.write_text(wanted, encoding="utf-8")
    return home / "bin" / "python"


def _make(home: Path) -> None:
    venv.create(home, clear=True, with_pip=False)
    lent = sysconfig.get_paths()["purelib"]
    (packages,) = home.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(home / "bin" / "python"), "install", *PACKAGES]
    subprocess.run(pip, check=True, env={name: text for name, text in os.environ.items() if name != "PIP_CONSTRAINT"})
    # Behind its own packages those of the tests, and what their path files add: the checkout itself.
    (packages / "lent.pth").write_text(f"import site; site.addsitedir({lent!r})\n", encoding="utf-8")
    if npm := shutil.which("npm"):
        install = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(home / "node"), INSPECTOR]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)


def command(arguments: Sequence[str]) -> list[str]:
    """pytest for the tests of adapters."""
    return [str(python()), "-m", "pytest", "-q", "--group", "integrations", *arguments]


if __name__ == "__main__":
    sys.exit(subprocess.run(command(sys.argv[1:] or ["tests/integrations"]), cwd=ROOT).returncode)
