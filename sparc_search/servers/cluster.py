"""Nodes that belong together: started, waited for, killed and brought back, stopped."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, cast

from ..errors import ServerError
from .account import own
from .fetch import FetchProgress, silent
from .install import install
from .java import find_java
from .node import Launch, Node, last_words, spawn, stop_process, write_configuration
from .ports import APART, LOOPBACK
from .products import OPENSEARCH, Product

Spawn = Callable[[Node, Launch], subprocess.Popen[bytes]]
"""How a node's process is born."""

EVERY_NODE: Final[dict[str, object]] = {
    "cluster.name": "sparc-search",
    # A slip of the finger must not delete every index: wildcards do not count as names.
    "action.destructive_requires_name": True,
    # Per cents of a large disk stop a small index long before there is any need.
    "cluster.routing.allocation.disk.watermark.low": "3gb",
    "cluster.routing.allocation.disk.watermark.high": "2gb",
    "cluster.routing.allocation.disk.watermark.flood_stage": "1gb",
}
"""Settings of every node: the same here, in docker-compose.yml (a test compares them) and in the tests."""

START_SECONDS = 300.0
POLL_SECONDS = 0.5


class Cluster:
    """One or more nodes of a product below one folder. A context manager: what was started is stopped at the end."""

    def __init__(
        self,
        folder: Path,
        port: int,
        nodes: int = 1,
        product: Product = OPENSEARCH,
        heap: str = "512m",
        settings: Mapping[str, object] | None = None,
        spawn: Spawn = spawn,
        patience: float = START_SECONDS,
    ) -> None:
        self.folder = folder.absolute()
        self.product = product
        self.heap = heap
        self.settings = dict(settings or {})
        self.spawn = spawn
        self.patience = patience
        self.nodes = [Node(f"node-{i + 1}", self.folder / f"node-{i + 1}", port + i) for i in range(nodes)]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def urls(self) -> list[str]:
        """Where each node answers."""
        return [f"http://{LOOPBACK}:{node.port}" for node in self.nodes]

    @property
    def url(self) -> str:
        """Where the first node answers."""
        return self.urls[0]

    def prepare(self, progress: FetchProgress = silent) -> Launch:
        """Everything short of starting: Java, the server's files, the folders and settings of every node."""
        java = find_java(self.product.oldest_java, self.product.newest_java)
        home = install(self.product, progress)
        own(self.folder)
        launch = Launch(self.product, home, java, self.heap)
        for node in self.nodes:
            write_configuration(node, launch, self.settings_of(node))
        return launch

    def settings_of(self, node: Node) -> dict[str, object]:
        """Everything that a node is told but its own ports and folders."""
        addresses = ",".join(f"{LOOPBACK}:{other.port + APART}" for other in self.nodes)
        # Only the first may found a cluster, so there is never a second.
        founder = {self.product.first_managers: node.name} if node is self.nodes[0] else {}
        shared = {**EVERY_NODE, "node.name": node.name, "discovery.seed_hosts": addresses, **founder}
        return {**shared, **(self.product.settings or {}), **self.settings}

    def start(
        self,
        progress: FetchProgress = silent,
        born: Callable[[], None] | None = None,
        missing: Sequence[Node] | None = None,
    ) -> None:
        """Start every node, or those that are `missing`, and wait until all are one healthy cluster.

        None that was started is left behind if they do not get healthy. `born` is called in between, when the
        processes exist.
        """
        launch = self.prepare(progress)
        started = self.nodes if missing is None else missing
        try:
            for node in started:
                self.processes[node.name] = self.spawn(node, launch)
            if born:
                born()
            self.wait(seen_by=self.nodes.index(started[-1]))  # for a while others may still take a dead one for alive
        except BaseException:
            self.stop(5.0, started)
            raise

    def wait(self, nodes: int | None = None, seen_by: int | None = None) -> None:
        """Wait until as many nodes (all of them) have found each other and every primary shard is there.

        One of them says so: any, or `seen_by`.
        """
        wanted = len(self.nodes) if nodes is None else nodes
        witnesses = range(len(self.nodes)) if seen_by is None else [seen_by]
        deadline = time.monotonic() + self.patience
        while not any(self.is_healthy(i, wanted) for i in witnesses):
            self._complain_about_the_dead(wanted)
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{self.product.label} did not get healthy within {self.patience:.0f} seconds: "
                    f"{last_words(self.nodes[0])}",
                    f"its log is {self.nodes[0].log}",
                )
            time.sleep(POLL_SECONDS)

    def get_json(self, url: str) -> dict[str, Any] | None:
        """What a node answers; none while it does not, or not with success."""
        return get_json(url)

    def is_healthy(self, number: int, nodes: int) -> bool:
        """Whether node `number` sees at least so many nodes and all primary shards."""
        health = self.get_json(f"{self.urls[number]}/_cluster/health")
        return bool(health and health["number_of_nodes"] >= nodes and health["status"] != "red")

    def kill(self, number: int = 0) -> None:
        """End a node at once, as a power cut would."""
        process = self.processes.pop(self.nodes[number].name)
        process.kill()
        process.wait()

    def restart(self, number: int = 0) -> None:
        """Start a node that was killed, on its old data, and wait for the whole cluster."""
        self.start(missing=[self.nodes[number]])

    def stop(self, patience: float = 60.0, nodes: Sequence[Node] | None = None) -> None:
        """End every node that was started, or some of them, in good order."""
        ending = [node for node in (self.nodes if nodes is None else nodes) if node.name in self.processes]
        for node in ending:
            self.processes[node.name].terminate()
        for node in ending:
            process = self.processes.pop(node.name)
            stop_process(process.pid, node, patience)
            process.wait()

    def _complain_about_the_dead(self, wanted: int) -> None:
        ended = {name: process.poll() for name, process in self.processes.items()}
        dead = [node for node in self.nodes if ended.get(node.name) is not None]
        if dead and len(self.nodes) - len(dead) < wanted:
            code = ended[dead[0].name]
            reason = "it was killed, most likely for want of memory" if code in (-9, 137) else last_words(dead[0])
            raise ServerError(
                f"{self.product.label} ended with code {code} instead of starting: {reason}",
                f"its log is {dead[0].log}",
            )

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def get_json(
    url: str | urllib.request.Request, timeout: float = 10.0, context: ssl.SSLContext | None = None
) -> dict[str, Any] | None:
    """What a server answers; none while it does not, or not with success."""
    # A proxy that the environment names is for the world outside, never for this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=timeout) as answer:
            return cast("dict[str, Any]", json.load(answer))
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError):
        return None
