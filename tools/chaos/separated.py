"""A cluster whose nodes each have a network namespace and an address of their own, so that they can be parted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from sparc_search.servers.cluster import Cluster
from sparc_search.servers.node import Launch, Node, spawn
from sparc_search.servers.ports import APART

from .namespaces import Namespaces

SOON: Final = {
    f"cluster.fault_detection.{check}_check.{name}": value
    for check in ("follower", "leader")
    for name, value in (("timeout", "3s"), ("retry_count", 2))
}
"""Nodes notice within some seconds that another has gone silent; half a minute is the usual."""


class Separated(Cluster):
    """Its nodes, by number, are those of the namespaces."""

    def __init__(self, folder: Path, port: int, nodes: int, patience: float, network: Namespaces) -> None:
        super().__init__(folder, port, nodes, settings=SOON, spawn=self._spawn_inside, patience=patience)
        self.network = network

    @property
    def urls(self) -> list[str]:
        """Where each node answers."""
        return [f"http://{self.network.address(at)}:{node.port}" for at, node in enumerate(self.nodes)]

    def settings_of(self, node: Node) -> dict[str, object]:
        """As for any cluster, but for the addresses."""
        seeds = [f"{self.network.address(at)}:{other.port + APART}" for at, other in enumerate(self.nodes)]
        own = {"network.host": self.network.address(self.nodes.index(node))}
        return {**super().settings_of(node), **own, "discovery.seed_hosts": ",".join(seeds)}

    @contextmanager
    def alone(self, number: int) -> Iterator[None]:
        """A node and the others do not hear each other; clients reach all of them."""
        with ExitStack() as stack:
            for other in range(len(self.nodes)):
                if other != number:
                    stack.enter_context(self.network.parted(number, other))
            yield

    def _spawn_inside(self, node: Node, launch: Launch) -> subprocess.Popen[bytes]:
        with self.network.inside(self.nodes.index(node)):
            return spawn(node, launch)
