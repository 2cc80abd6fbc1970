"""A writer in a folder that is killed, stopped, runs out of disk or has a disk with errors, while somebody asks.

Each round is a real process that goes on where the last one was ended. The oracle: after each the index holds every
acknowledged operation, and at most the one that was under way; it answers as an index that nothing ever happened to,
finds nothing wrong with itself, and can be written to. Who asks meanwhile gets the answers of a state between what was
acknowledged before and after. What the writer raises is an error of the package, and none advises to delete anything.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sparc_search.engine import Engine
from sparc_search.errors import IndexLocked, SparcSearchError
from sparc_search.opening import open_engine
from sparc_search.settings import Settings, load
from sparc_search.stores.local import points

from . import shim
from .ledger import MEMORY, Model, Oracle, planned, small_segments
from .tally import Tally
from .writers import Child, writing

OPERATIONS: Final = 24
"""Of one writer, if nothing happens to it."""
ASKS: Final = 3
KINDS: Final = ("add", "delete", "compact", "reopen", "rebuild")
SHIMMED: Final = frozenset(("no room", "disk error", "passing disk error", "read error"))


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens to a writer: in its own process before it begins, and from outside after some operations."""

    begin: Callable[[random.Random, Path], None]
    then: Callable[[int], None] | None = None
    """Called with its process id; without it the writer goes on until it fails or is done."""


def run(rounds: int, seed: int, seconds: float) -> Tally:
    """The campaign."""
    tally = Tally(f"local, seed {seed}", "rounds and asks", seconds)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        root = Path(os.environ.get("CHAOS_ROOT") or _with_shim(Path(folder)))
        root.mkdir(exist_ok=True)
        try:
            _Campaign(tally, replace(load(), index=root / "index")).run(rounds, seed)
        finally:
            shutil.rmtree(root)
            if (beside := root.parent / shim.LIBRARY).exists():  # made before this process began again
                shutil.rmtree(beside.parent)
    return tally


def _with_shim(folder: Path) -> str:
    """Begin again with the shim below the C library; if it cannot be built, go on without the troubles that need it."""
    root = Path(tempfile.mkdtemp(dir=MEMORY))
    try:
        library = shim.build(root)
    except shim.NoCompiler as error:
        sys.stderr.write(f"without disk errors: {error}\n")
        return str(folder / "disk")
    command = [sys.executable, "-m", "tools.chaos", *sys.argv[1:]]
    shutil.rmtree(folder)  # nobody comes back to do it
    os.execve(sys.executable, command, dict(shim.environment(library, root / "disk")))


class _Campaign:
    def __init__(self, tally: Tally, settings: Settings) -> None:
        self._tally, self._settings = tally, settings
        self._oracle = Oracle()
        self._model: Model = {}
        known = TROUBLES if shim.is_loaded() else {k: v for k, v in TROUBLES.items() if k not in SHIMMED}
        self._troubles: Mapping[str, Trouble] = known

    def run(self, rounds: int, seed: int) -> None:
        open_engine(self._settings, self._oracle.encoder.fingerprint, writable=True).close()
        for number in range(rounds):
            if self._tally.is_over():
                break
            self._round(f"{seed}/{number}")
            self._tally.rounds += 1

    def _round(self, name: str) -> None:
        chance = random.Random(name)
        kind = chance.choice(list(self._troubles))
        wanted, models = planned(name, KINDS, OPERATIONS, self._model)

        def begin() -> None:
            small_segments()
            self._troubles[kind].begin(chance, self._settings.index)

        child = writing(self._oracle, self._settings, wanted, begin)
        self._meanwhile(child, self._troubles[kind], models, chance, name)
        ended = child.end()
        if ended.startswith("raw") or "delet" in ended.partition("(")[2]:
            self._tally.contradict(f"{name} {kind}: {ended}")
        last = min(child.acknowledged + 1, OPERATIONS)
        possible = [models[child.acknowledged], models[last]]
        wrong, self._model = self._oracle.complaint(self._settings, possible, nothing_yet=False)
        self._tally.add(kind, ended.partition(":")[0])
        if wrong:
            self._tally.contradict(f"{name} {kind}, {child.acknowledged} acknowledged, {ended}: {wrong[:600]}")

    def _meanwhile(self, child: Child, trouble: Trouble, models: list[Model], chance: random.Random, name: str) -> None:
        """Ask while the writer works; after some operations let its trouble begin, and ask again."""
        until = chance.randrange(OPERATIONS)
        with open_engine(self._settings, self._oracle.encoder.fingerprint) as index:
            for _ in range(ASKS):
                self._ask(index, child, models, name)
            if trouble.then is None or not child.wait_for(until):
                return
            time.sleep(chance.uniform(0, 0.02))
            trouble.then(child.pid)
            if trouble.then is _stop:
                self._while_stopped(index, child, models, name)

    def _while_stopped(self, index: Engine, child: Child, models: list[Model], name: str) -> None:
        self._ask(index, child, models, name)
        try:
            with open_engine(self._settings, self._oracle.encoder.fingerprint, writable=True):
                if _holds_a_lock(child.pid):
                    self._tally.contradict(f"{name}: there were two writers")
                self._tally.add("second writer", "alone: the first was just between two openings, or at its end")
        except IndexLocked:
            self._tally.add("second writer", "told of the first")
        os.kill(child.pid, signal.SIGCONT)
        time.sleep(0.05)
        os.kill(child.pid, signal.SIGKILL)

    def _ask(self, index: Engine, child: Child, models: list[Model], name: str) -> None:
        child.read()
        first = child.acknowledged
        try:
            told = self._oracle.facts(index)
        except SparcSearchError as error:
            self._tally.contradict(f"{name}, asked meanwhile: {error}")
            return
        child.read()
        last = min(child.acknowledged + 1, OPERATIONS)
        right = any(told == self._oracle.answers(models[number]) for number in range(last, first - 1, -1))
        self._tally.add("ask meanwhile", "right" if right else "wrong")
        if not right:
            self._tally.contradict(f"{name}, asked meanwhile ({first} to {last} acknowledged): {told}")


# --- troubles ---------------------------------------------------------------------------------------------------------


def _nothing(_chance: random.Random, _location: Path) -> None:
    """It begins as ever."""


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def _killed_at_a_point(chance: random.Random, _location: Path) -> None:
    point, left = chance.choice(points.NAMES), chance.randrange(1, 8)

    def reached(name: str) -> None:
        nonlocal left
        left -= name == point
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    points.reached = reached


def _small_files(chance: random.Random, location: Path) -> None:
    largest = max(path.stat().st_size for path in location.rglob("*") if path.is_file())
    most = largest + chance.randrange(1, 200_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def _failing(kinds: str, error: int, most: int, times: int) -> Callable[[random.Random, Path], None]:
    return lambda chance, _location: shim.fail(kinds, error, chance.randrange(most), times)


TROUBLES: Final[Mapping[str, Trouble]] = {
    "none": Trouble(_nothing),
    "killed": Trouble(_nothing, _kill),
    "killed at a point": Trouble(_killed_at_a_point),
    "stopped": Trouble(_nothing, _stop),
    "files too large": Trouble(_small_files),
    "no room": Trouble(_failing("WTCD", errno.ENOSPC, 1500, -1)),
    "disk error": Trouble(_failing("WSTR", errno.EIO, 1500, -1)),
    "passing disk error": Trouble(_failing("WS", errno.EIO, 1500, 1)),
    "read error": Trouble(_failing("r", errno.EIO, 1500, 1)),
}


def _holds_a_lock(pid: int) -> bool:
    """Whether a process holds a lock on a whole file, as a writer does. Those of SQLite are of another kind."""
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return any(fields[1] == "FLOCK" and int(fields[4]) == pid for fields in locks)
