"""A local cluster that outlives the command which started it: written down in its folder, found there again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from filelock import FileLock, Timeout

from ..errors import ServerError, UsageError
from .account import own
from .cluster import START_SECONDS, Cluster
from .fetch import FetchProgress, silent
from .memory import available_memory, require_memory
from .node import Node, is_ours, stop_process
from .ports import require_free
from .products import OPENSEARCH

STATE: Final = "cluster.json"
MOST_NODES: Final = 9

NodeHealth = Literal["healthy", "not ready", "stopped"]


@dataclass(frozen=True, slots=True)
class Written:
    """What the folder says about its cluster; `pids` are empty when it was stopped, 0 for a node that is dead."""

    version: str
    nodes: int
    port: int
    heap: str
    started: str = ""
    pids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node as it is now."""

    name: str
    state: NodeHealth
    url: str
    pid: int | None
    log: Path


def start_cluster(
    folder: Path,
    nodes: int = 1,
    port: int = 9200,
    heap: str = "512m",
    progress: FetchProgress = silent,
    patience: float = START_SECONDS,
) -> Cluster:
    """Start a cluster that goes on after us. Of one that runs already as asked, only the dead nodes are started."""
    if not 1 <= nodes <= MOST_NODES:
        raise UsageError(f"{nodes} nodes cannot be run here", f"ask for 1 to {MOST_NODES}")
    with _alone(folder):
        wanted = Written(OPENSEARCH.version, nodes, port, heap)
        cluster = _cluster(folder, wanted, patience)
        before = read(folder)
        alive = {node.name: pid for node, pid in _alive(folder, before)} if before else {}
        if before:
            _fits(folder, before, wanted, runs=bool(alive))
        missing = [node for node in cluster.nodes if node.name not in alive]
        if not missing:
            cluster.wait()
            return cluster
        require_memory(len(missing), heap, available_memory())
        for node in missing:
            require_free(node.port)

        def born() -> None:
            pids = alive | {name: process.pid for name, process in cluster.processes.items()}
            _note(folder, replace(wanted, started=_now()), cluster, pids)

        try:
            cluster.start(progress, born, missing)
        except BaseException:
            if before or (folder / STATE).exists():
                _note(folder, replace(wanted, started=before.started if before and alive else ""), cluster, alive)
            raise
        return cluster


def stop_cluster(folder: Path) -> int:
    """Stop every node that runs; how many did."""
    if not (folder / STATE).exists():
        return 0
    with _alone(folder):
        written = read(folder)
        alive = _alive(folder, written) if written else []
        for node, pid in alive:
            stop_process(pid, node)
        if written:
            _write(folder, replace(written, started="", pids=()))
        return len(alive)


def look(folder: Path) -> tuple[Written | None, list[NodeState]]:
    """What was written down, and what is true of each node now."""
    written = read(folder)
    if not written:
        return None, []
    cluster = _cluster(folder, written)
    alive = {node.name: pid for node, pid in _alive(folder, written)}
    states = []
    for number, node in enumerate(cluster.nodes):
        state: NodeHealth = "stopped"
        if node.name in alive:
            state = "healthy" if cluster.is_healthy(number, written.nodes) else "not ready"
        states.append(NodeState(node.name, state, cluster.urls[number], alive.get(node.name), node.log))
    return written, states


def read(folder: Path) -> Written | None:
    """What the folder says, if it is a cluster's."""
    try:
        values = json.loads((folder / STATE).read_text("utf-8"))
        return Written(**{**values, "pids": tuple(values["pids"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise ServerError(
            f"{folder / STATE} cannot be read: {error}",
            "stop the server by hand and move that file away; its data stay as they are",
        ) from error


def _write(folder: Path, state: Written) -> None:
    passing = folder / f".{STATE}"
    passing.write_text(json.dumps(asdict(state), indent=2) + "\n", "utf-8")
    passing.replace(folder / STATE)


def _cluster(folder: Path, state: Written, patience: float = START_SECONDS) -> Cluster:
    return Cluster(folder, state.port, state.nodes, heap=state.heap, patience=patience)


def _alive(folder: Path, state: Written) -> list[tuple[Node, int]]:
    nodes = _cluster(folder, state).nodes
    return [(node, pid) for node, pid in zip(nodes, state.pids, strict=False) if pid and is_ours(pid, node)]


def _fits(folder: Path, before: Written, wanted: Written, runs: bool) -> None:
    """A cluster that runs keeps its settings. One that does not may grow; without most of its nodes it would wait."""
    if runs and (before.nodes, before.port, before.heap) != (wanted.nodes, wanted.port, wanted.heap):
        raise ServerError(
            f"a cluster in {folder} runs already, with other settings",
            f"start it with --nodes {before.nodes} --port {before.port} --heap {before.heap}, or stop it first: "
            "sparc-search opensearch stop",
        )
    if before.nodes > wanted.nodes:
        raise ServerError(
            f"{folder} holds a cluster of {before.nodes} nodes",
            f"start it with --nodes {before.nodes}, or name another folder with --data",
        )


def _note(folder: Path, state: Written, cluster: Cluster, pids: Mapping[str, int]) -> None:
    """Write down which process each node is; 0 is none."""
    listed = tuple(pids.get(node.name, 0) for node in cluster.nodes) if pids else ()
    _write(folder, replace(state, pids=listed))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    own(folder)
    try:
        with FileLock(folder / "lock", timeout=0):
            yield
    except Timeout:
        raise ServerError(f"another command starts or stops the cluster in {folder}", "wait until it is done") from None
