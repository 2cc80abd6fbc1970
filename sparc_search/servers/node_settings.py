"""The settings of the nodes we run: the same here, in docker-compose.yml (a test compares them) and in the tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

CLUSTER_NAME: Final = "sparc-search"

EVERY_NODE: Final[dict[str, object]] = {
    "cluster.name": CLUSTER_NAME,
    # A slip of the finger must not delete every index: wildcards do not count as names.
    "action.destructive_requires_name": True,
    # Per cents of a large disk stop a small index long before there is any need.
    "cluster.routing.allocation.disk.watermark.low": "3gb",
    "cluster.routing.allocation.disk.watermark.high": "2gb",
    "cluster.routing.allocation.disk.watermark.flood_stage": "1gb",
}


def node_settings(name: str, names: Sequence[str], addresses: Sequence[str], first_managers: str) -> dict[str, object]:
    """What the node `name` is told about the others. Only the first may found a cluster, so there is never a second."""
    founder = {first_managers: name} if name == names[0] else {}
    return {**EVERY_NODE, "node.name": name, "discovery.seed_hosts": ",".join(addresses), **founder}
