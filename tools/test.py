"""`make test`: the tests that need a search server in one process, at the same time all others in another.

    python tools/test.py [PYTEST_ARGUMENTS...]

Servers take long to start and leave the processor alone while they wait; each is started once. What the first process
says is shown when the second has ended.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Final

NO_TESTS: Final = 5
"""How pytest ends if it was asked for no test at all: the other process may have had them."""


def main(arguments: Sequence[str]) -> int:
    """Run both; 0 if all tests passed."""
    pytest = [sys.executable, "-m", "pytest", "-q", *arguments]
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen([*pytest, "-m", "servers"], stdout=said, stderr=subprocess.STDOUT) as servers:
            others = subprocess.run([*pytest, "-m", "not servers"], check=False).returncode
        said.seek(0)
        sys.stdout.write("\nTests that need a search server:\n" + said.read())
    codes = {servers.returncode, others}
    return 0 if codes == {0, NO_TESTS} else max(codes, key=abs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
