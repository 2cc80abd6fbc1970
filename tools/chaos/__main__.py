"""Run a campaign: `python -m tools.chaos http --rounds 1000 --seed 1`.

Everything happens on this machine: a campaign starts its own servers, talks to them over loopback and ends them. It is
bounded in rounds and seconds. Counts go to stdout, and with --write as a line into docs/reliability.md; the exit code
is 1 if the oracle was contradicted.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from .tally import Tally, told_to_end

CAMPAIGNS: Final[Mapping[str, str]] = {
    "http": "hostile, slow, greedy and many clients of `serve`",
    "local": "a writer in a folder that is killed, stopped, or has no disk",
    "cluster": "a writer and readers of an OpenSearch whose nodes are killed and stopped, behind a proxy that lies",
    "power": "power cuts: what was not synced is lost, torn or reordered",
    "flips": "single bits that flip in the files of an index",
}
MOST_ROUNDS: Final = 100_000
REPORT: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
MARK: Final = "<!-- end of runs -->\n"


def main(arguments: Sequence[str]) -> int:
    """Run one campaign."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__.partition("\n")[0])
    known = "; ".join(f"{name}: {about}" for name, about in CAMPAIGNS.items())
    parser.add_argument("campaign", choices=CAMPAIGNS, help=known)
    parser.add_argument("--rounds", "--states", type=int, default=50, help="how many (default 50, at most 100,000)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    parser.add_argument("--seconds", type=float, default=3600, help="end earlier after this time (default 3600)")
    parser.add_argument("--write", action="store_true", help="add a line to docs/reliability.md")
    chosen = parser.parse_args(arguments)
    if not 1 <= chosen.rounds <= MOST_ROUNDS:
        parser.error(f"--rounds must be 1 to {MOST_ROUNDS:,}")
    if chosen.write and not REPORT.is_file():
        parser.error(f"there is no {REPORT}")
    signal.signal(signal.SIGTERM, lambda *_: told_to_end.set())  # it still ends its servers, and says what it did
    campaign = importlib.import_module(f"tools.chaos.{chosen.campaign}")
    tally = campaign.run(chosen.rounds, chosen.seed, chosen.seconds)
    sys.stdout.write(tally.text())
    if chosen.write:
        REPORT.write_text(with_line(REPORT.read_text("utf-8"), chosen, tally), "utf-8")
    return int(bool(tally.contradictions))


def with_line(page: str, chosen: argparse.Namespace, tally: Tally) -> str:
    """The page with one more line in its table of runs."""
    counts = (
        f"{tally.rounds:,} of {chosen.rounds:,} | {tally.counts.total():,} {tally.of} | {len(tally.contradictions)}"
    )
    line = f"| {date.today().isoformat()} | `{chosen.campaign}` | {chosen.seed} | {counts} | |\n"
    before, mark, rest = page.partition(MARK)
    return before + line + mark + rest


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
