"""Run a campaign: `python -m tools.chaos http --rounds 1000 --seed 1`.

Everything happens on this machine: a campaign starts its own servers, talks to them over loopback and ends them. It is
bounded in rounds and seconds. Counts go to stdout; the exit code is 1 if the oracle was contradicted.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Final

CAMPAIGNS: Final[Mapping[str, str]] = {"http": "hostile, slow, greedy and many clients of `serve`"}
MOST_ROUNDS: Final = 100_000


def main(arguments: Sequence[str]) -> int:
    """Run one campaign."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__.partition("\n")[0])
    known = "; ".join(f"{name}: {about}" for name, about in CAMPAIGNS.items())
    parser.add_argument("campaign", choices=CAMPAIGNS, help=known)
    parser.add_argument("--rounds", type=int, default=50, help="how many (default 50, at most 100,000)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    parser.add_argument("--seconds", type=float, default=3600, help="end earlier after this time (default 3600)")
    chosen = parser.parse_args(arguments)
    if not 1 <= chosen.rounds <= MOST_ROUNDS:
        parser.error(f"--rounds must be 1 to {MOST_ROUNDS:,}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # told to end, it still ends its servers
    campaign = importlib.import_module(f"tools.chaos.{chosen.campaign}")
    tally = campaign.run(chosen.rounds, chosen.seed, chosen.seconds)
    sys.stdout.write(tally.text())
    return int(bool(tally.contradictions))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
