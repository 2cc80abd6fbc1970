"""`make demo` from nothing, in a fresh clone: seconds to the first answer, and the size of the environment.

python -m tools.bench_demo
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sparc_search.cli.terminal import note, result
from tools.benchmark_page import table, write_section

ROOT = Path(__file__).resolve().parent.parent
SAID = re.compile(r"The first answer came (\d+) s after the start\. The environment has (\d+) MB\.")


def main() -> int:
    """Clone the last commit, run the demo twice, write down what it says."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)
        rows = []
        for run in ("from nothing", "again"):
            note(f"make demo, {run} ...")
            done = subprocess.run(["make", "demo"], cwd=folder, capture_output=True, text=True, check=True)
            seconds, megabytes = SAID.findall(done.stderr)[0]
            rows.append((f"`make demo`, {run}", f"{seconds} s", f"{megabytes} MB"))
    body = table(("what", "to the first answer", "environment"), rows)
    write_section("demo", "The demo", "python -m tools.bench_demo", body)
    result(body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
