"""A writer and readers of a real OpenSearch of three nodes, of which one is killed, hangs or is parted from the others.

The oracle: after each round, when all nodes are back, the index holds every acknowledged operation; of one that was
under way each document is as before, as after, or gone and not believed to be there. It answers as an index that
nothing ever happened to, finds nothing wrong with itself, and can be written to. Who asks meanwhile finds every
document that nobody touches, or is told that something is missing, or gets an error of the package.

A node behind a partition between nodes is still reached by clients, and believes for a while that it belongs to a
cluster. It takes network namespaces, which not every system allows; without, the campaign says so and goes on.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

from sparc_search.errors import SparcSearchError
from sparc_search.opening import open_engine
from sparc_search.servers.cluster import Cluster
from sparc_search.servers.install import install
from sparc_search.servers.ports import free_port
from sparc_search.servers.products import OPENSEARCH
from sparc_search.settings import Settings, load

from .ledger import Model, Operation, Oracle, halves, planned
from .namespaces import NotAllowed, namespaces
from .proxy import FAULTS, SHARE, SILENCE, Proxy
from .separated import Separated
from .tally import Tally
from .writers import writing

NODES: Final = 3
OPERATIONS: Final = 6
"""Of one writer, if nothing happens to it."""
ASKS: Final = 3
"""At least; as long as there is a writer, up to four times as many."""
KINDS: Final = ("add", "delete", "reopen", "rebuild")
STOPPED: Final = 8.0
PARTED: Final = (2.0, 25.0)
"""Seconds, at least and at most: shorter and longer than nodes need to notice."""
PATIENCE: Final = 1800.0
Trouble = Callable[["_Scene", random.Random], AbstractContextManager[None]]
"""Lasts as long as its context."""


def run(rounds: int, seed: int, seconds: float) -> Tally:
    """The campaign."""
    tally = Tally(f"cluster, seed {seed}", "rounds and asks", seconds)
    with tempfile.TemporaryDirectory(prefix="sparc-search-server-") as folder:
        Path(folder).chmod(0o755)  # the servers run as another user
        install(OPENSEARCH)  # from the world outside, which a namespace does not reach
        with ExitStack() as stack:
            cluster = stack.enter_context(_cluster(tally, Path(folder) / "nodes", stack))
            campaign(tally, Path(folder), cluster.urls, cluster, rounds, seed)
    return tally


def _cluster(tally: Tally, folder: Path, stack: ExitStack) -> Cluster:
    try:
        network = stack.enter_context(namespaces(NODES))
    except NotAllowed as reason:
        tally.notes.append(f"no partitions between nodes: network namespaces are not allowed here ({reason})")
        return Cluster(folder, free_port(NODES), NODES, patience=PATIENCE)
    return Separated(folder, free_port(NODES), NODES, PATIENCE, network)


def campaign(tally: Tally, folder: Path, urls: Sequence[str], cluster: Cluster | None, rounds: int, seed: int) -> None:
    """Rounds on servers that run already; without a cluster none of them is killed or stopped."""
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(url, f"{seed}/{url}").running()) for url in urls]
        name = f"chaos{seed}x{os.getpid()}"
        direct, proxied = (
            load().changed(index=folder / "index", engine="opensearch", index_name=name, url=",".join(addresses))
            for addresses in (urls, [proxy.url for proxy in proxies])
        )
        scene = _Scene(tally, direct, proxied, proxies, cluster)
        open_engine(direct, scene.oracle.encoder.fingerprint, writable=True).close()
        for number in range(rounds):
            if tally.is_over():
                break
            scene.round(f"{seed}/{number}")
            tally.rounds += 1


class _Scene:
    def __init__(
        self, tally: Tally, direct: Settings, proxied: Settings, proxies: Sequence[Proxy], cluster: Cluster | None
    ) -> None:
        self.tally, self.direct, self.proxied, self.proxies = tally, direct, proxied, proxies
        self.cluster = cluster
        self.oracle = Oracle("sparse")  # vectors of a cluster are kept on this machine, and derived
        self.model: Model = {}
        self.troubles: dict[str, Trouble] = {name: _lying(name) for name in FAULTS} | {
            "none": _nothing,
            "writer killed": _nothing,
        }
        if cluster is not None:
            self.troubles |= {"node killed": _node_killed, "node stopped": _node_stopped, "cut off": _cut_off}
        if isinstance(cluster, Separated):
            self.troubles["parted"] = _parted

    def round(self, name: str) -> None:
        """One writer, and what happens meanwhile."""
        chance = random.Random(name)
        kind = chance.choice(list(self.troubles))
        wanted, models = planned(name, KINDS, OPERATIONS, self.model)
        child = writing(self.oracle, self.proxied, wanted)
        with self.troubles[kind](self, chance):
            for number in range(4 * ASKS):
                if number < ASKS or (child.is_running() and kind != "writer killed"):
                    self._ask(f"{name} {kind}", wanted, models)
            if kind == "writer killed" and child.wait_for(chance.randrange(OPERATIONS)):
                time.sleep(chance.uniform(0, 0.5))
                os.kill(child.pid, signal.SIGKILL)
            ended = child.end()
        if ended.startswith("raw"):
            self.tally.contradict(f"{name} {kind}: {ended}")
        done = child.acknowledged
        possible = halves(models[done], wanted[done]) if done < OPERATIONS else [models[done]]
        wrong, self.model = self.oracle.complaint(self.direct, possible, nothing_yet=False, after_recovery=True)
        self.tally.add(kind, ended.partition(":")[0])
        if wrong:
            self.tally.contradict(f"{name} {kind}, {done} acknowledged, {ended}: {wrong[:600]}")

    def _ask(self, name: str, wanted: Sequence[Operation], models: Sequence[Model]) -> None:
        try:
            with open_engine(self.proxied, self.oracle.encoder.fingerprint) as engine:
                found, lacks = self.oracle.found(engine)
            outcome = "answered, and said that something is missing" if lacks else "answered"
            if wrong := self.oracle.complaint_meanwhile(found, wanted, models, lacks=lacks):
                self.tally.contradict(f"{name}, asked meanwhile: {wrong}")
        except SparcSearchError as error:
            outcome = type(error).__name__
        except Exception as error:  # that is what is looked for
            outcome = f"raw {type(error).__name__}"
            self.tally.contradict(f"{name}, asked meanwhile: {outcome}: {error}")
        self.tally.add("ask meanwhile", outcome)


# --- troubles ---------------------------------------------------------------------------------------------------------


@contextmanager
def _nothing(_scene: _Scene, _chance: random.Random) -> Iterator[None]:
    yield


def _lying(fault: str) -> Trouble:
    @contextmanager
    def lying(scene: _Scene, _chance: random.Random) -> Iterator[None]:
        for proxy in scene.proxies:
            proxy.fault = fault
        try:
            yield
        finally:
            for proxy in scene.proxies:
                proxy.fault = ""
                scene.tally.add("proxy", f"{fault}: {'some' if proxy.met[fault] else 'none'}")

    return lying


@contextmanager
def _cut_off(scene: _Scene, chance: random.Random) -> Iterator[None]:
    """A partition between the clients and one node, which the other nodes still reach."""
    proxy = chance.choice(scene.proxies)
    proxy.fault, proxy.share = SILENCE, 1.0
    try:
        yield
    finally:
        proxy.fault, proxy.share = "", SHARE
        scene.tally.add("proxy", f"{SILENCE}: {'some' if proxy.met[SILENCE] else 'none'}")


@contextmanager
def _node_killed(scene: _Scene, chance: random.Random) -> Iterator[None]:
    assert scene.cluster is not None
    victim = chance.randrange(NODES)
    scene.cluster.kill(victim)
    try:
        yield
    finally:
        scene.cluster.restart(victim)


@contextmanager
def _node_stopped(scene: _Scene, chance: random.Random) -> Iterator[None]:
    assert scene.cluster is not None
    node = chance.choice(scene.cluster.nodes)
    process = scene.cluster.processes[node.name]
    process.send_signal(signal.SIGSTOP)
    goes_on = threading.Timer(STOPPED, process.send_signal, [signal.SIGCONT])
    goes_on.start()
    try:
        yield
    finally:
        goes_on.join()
        scene.cluster.wait()


@contextmanager
def _parted(scene: _Scene, chance: random.Random) -> Iterator[None]:
    """A partition between a node and the other nodes; clients reach all of them."""
    assert isinstance(scene.cluster, Separated)
    victim, seconds = chance.randrange(NODES), chance.uniform(*PARTED)
    with ExitStack() as parted:
        parted.enter_context(scene.cluster.alone(victim))
        heals = threading.Timer(seconds, parted.close)
        heals.start()
        try:
            yield
        finally:
            heals.join()
    scene.cluster.wait()
