"""Pages that show commands with what they print show the truth; the part on a cluster is run against a real server."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from console_blocks import ROOT, Command, File, prepared, run, steps

CLUSTER = "\n## On a cluster\n"


def check(page: Iterable[Command | File], folder: Path) -> None:
    for command, printed, code in run(page, prepared(folder)):
        assert command.fails == bool(code), f"$ {command.line}\n{printed}exit code {code}"
        assert command.fits(printed), f"$ {command.line}\nprints\n{printed}not\n{command.expected}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md", "docs/inspect.md", "docs/scale.md"])
def test_the_commands_print_what_the_page_says(name: str, tmp_path: Path) -> None:
    check(steps((ROOT / name).read_text(encoding="utf-8").partition(CLUSTER)[0]), tmp_path)


@pytest.mark.slow
def test_the_same_on_a_cluster(tmp_path: Path, opensearch_url: str) -> None:
    """The files are as the page before it left them; the server is one that runs already."""
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8").replace("http://127.0.0.1:9200", opensearch_url)
    before, _, cluster = page.replace("sparc-search opensearch start", f"echo {opensearch_url}").partition(CLUSTER)
    files = [step for step in steps(before) if isinstance(step, File) or step.line.startswith(("cp ", "pip ", "rm "))]
    check([*files, *steps(cluster)], tmp_path)


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", True),
        ("a\n…\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("", "a\n", False),
        ("in … ms", "in 12.3 ms\n", True),
        ("score 50.35, confidence 84%", "score 50.31, confidence 83%", True),
        ("score 50.35", "score 60.35", False),
        ("7 files", "8 files", False),
        ("x  1.50 ███▌  y", "x  1.49 ███▍   y", True),
    ],
)
def test_what_counts_as_the_same(expected: str, printed: str, fits: bool) -> None:
    assert Command("…", f"{expected}\n" if expected and not expected.endswith("\n") else expected).fits(printed) is fits
