"""Power cuts: a real writer works on a real disk whose changes are logged, and the log is played back up to any moment.

What had not been synced then is there, or not, or in part (`disk.py`). The oracle: whatever is left is an index that
holds every acknowledged operation, and at most the one that was under way, answers as if nothing had happened, finds
nothing wrong with itself, and can be written to.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from sparc_search.settings import load

from . import shim
from .disk import Change, Disk, read_log
from .ledger import MEMORY, Doing, Model, Operation, Oracle, after, operations, small_segments
from .tally import Tally

OPERATIONS: Final = 60
"""Of one recording."""
STATES: Final = 250
"""States that are made of one recording; more need another."""
KINDS: Final = ("add", "delete", "compact", "reopen", "rebuild")
KEEP: Final = {"all of it": 1.0, "none of it": 0.0, "some of it": 0.5, "little of it": 0.1, "most of it": 0.9}
"""How much of what was not synced is there."""


def run(states: int, seed: int, seconds: float) -> Tally:
    """The campaign."""
    tally = Tally(f"power, seed {seed}", "crash states", seconds)
    oracle = Oracle()
    for number, first in enumerate(range(0, states, STATES)):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            changes = recorded(Path(folder), f"{seed}/{number}")
            for state in _states(changes, Path(folder) / "disk", min(STATES, states - first), f"{seed}/{number}"):
                if tally.is_over():
                    return tally
                _judge(tally, oracle, *state, Path(folder) / "after", f"{seed}/{number}")
                tally.rounds += 1
    return tally


def recorded(folder: Path, seed: str) -> list[Change]:
    """What a writer does to a disk."""
    root, log = folder / "disk", folder / "log"
    root.mkdir()
    command = [sys.executable, "-m", "tools.chaos.power", str(root / "deep" / "index"), seed, str(OPERATIONS)]
    environment = shim.environment(shim.build(folder), root, log)
    subprocess.run(command, check=True, env=environment, cwd=Path(__file__).parents[2])
    return read_log(log)


def _states(
    changes: list[Change], root: Path, count: int, seed: str
) -> Iterator[tuple[Disk, int, int, str, random.Random]]:
    """The disk at some moments, how many operations had been acknowledged then, and how much of the rest to keep."""
    chance = random.Random(seed)
    moments = sorted(chance.choices(range(1, len(changes) + 1), k=count))
    disk, done, acknowledged = Disk(root), 0, 0
    for moment in moments:
        for change in itertools.islice(changes, done, moment):
            disk.apply(change)
            acknowledged = change.number if change.kind == "M" else acknowledged
        done = moment
        yield disk, moment, acknowledged, chance.choice(list(KEEP)), chance


def _judge(
    tally: Tally,
    oracle: Oracle,
    disk: Disk,
    moment: int,
    count: int,
    kept: str,
    chance: random.Random,
    at: Path,
    seed: str,
) -> None:
    with tempfile.TemporaryDirectory(prefix=at.name, dir=at.parent) as folder:
        disk.after_power_cut(Path(folder), chance, KEEP[kept])
        settings = replace(load(), index=Path(folder) / "deep" / "index")
        before, under_way = _models(seed, count)
        wrong, _ = oracle.complaint(settings, [before, after(before, under_way)], nothing_yet=not count)
    tally.add(f"{under_way.kind}, {kept}", "lost" if wrong else "whole")
    if wrong:
        tally.contradict(f"seed {seed}, change {moment}, {kept}, {count} acknowledged, {under_way.kind}: {wrong[:600]}")


def _models(seed: str, count: int) -> tuple[Model, Operation]:
    """What must be there after so many operations, and the one after them."""
    stream = operations(seed, KINDS)
    model: Model = {}
    for operation in itertools.islice(stream, count):
        model = after(model, operation)
    return model, next(stream)


def main(location: str, seed: str, count: str) -> None:
    """The process that is watched: each operation is marked in the log when it has returned."""
    small_segments()
    oracle = Oracle()
    settings = replace(load(), index=Path(location))
    wanted = list(itertools.islice(operations(seed, KINDS), int(count)))
    encoded = [oracle.encoded(operation.documents) for operation in wanted]
    writer = Doing(settings, oracle.encoder.fingerprint)
    for number, operation in enumerate(wanted):
        writer.apply(operation.kind, encoded[number])
        shim.mark(number + 1)
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
