"""`make test`: every group of tests in a process of its own, all at the same time. `make test-fast`: one of them.

    python tools/test.py [--fast] [PYTEST_ARGUMENTS...]

The groups (tests/helpers/groups.py) have no test in common and together are the suite. Servers take long to start and
leave the processor alone while they wait, and only one process pays for importing torch. What the fast group says is
shown at once, what the others say when they have ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

SHOWN, OTHERS = "fast", ("servers", "heavy", "integrations")
NO_TESTS: Final = 5
"""How pytest ends if it was asked for no test at all: another process may have had them."""


def main(arguments: Sequence[str]) -> int:
    """Run them; 0 if all tests passed."""
    began = time.monotonic()
    if "--fast" in arguments:
        codes = [subprocess.run(command(SHOWN, [a for a in arguments if a != "--fast"]), env=environment()).returncode]
    else:
        codes = run_all(arguments)
    sys.stdout.write(f"{time.monotonic() - began:.0f} seconds in all\n")
    failed = [code for code in codes if code not in (0, NO_TESTS)]
    return failed[0] if failed else min(codes)


def run_all(arguments: Sequence[str]) -> list[int]:
    """Run all groups; how each ended."""
    groups = OTHERS if _wants_integrations(arguments) else OTHERS[:-1]
    with ExitStack() as stack:
        outputs = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in groups]
        others = [
            stack.enter_context(
                subprocess.Popen(command(group, arguments), env=environment(), stdout=output, stderr=subprocess.STDOUT)
            )
            for group, output in zip(groups, outputs, strict=True)
        ]
        first = subprocess.run(command(SHOWN, arguments), env=environment(), check=False).returncode
        for group, process, output in zip(groups, others, outputs, strict=True):
            process.wait()
            output.seek(0)
            sys.stdout.write(f"\nTests of the group {group}:\n{output.read()}")
            sys.stdout.flush()
        return [first, *(process.returncode for process in others)]


def command(group: str, arguments: Sequence[str]) -> list[str]:
    """pytest for one group; adapters have an environment of their own, made by the tool that is run."""
    if group == "integrations":
        return [sys.executable, str(Path(__file__).with_name("integrations.py")), *arguments]
    return [sys.executable, "-m", "pytest", "-q", "--group", group, *arguments]


def _wants_integrations(arguments: Sequence[str]) -> bool:
    """An environment is not made for somebody who chooses other tests."""
    chosen = [argument for argument in arguments if argument.startswith("tests")]
    if not Path("tests/integrations").is_dir():
        return False
    return not chosen or any("integrations" in argument for argument in chosen)


def environment() -> dict[str, str]:
    """Tests start many interpreters: what one of them compiles is kept for the next."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
