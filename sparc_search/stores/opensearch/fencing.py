"""Whoever wrote before can write no more, not even with a request that is still on its way.

A writer that was killed, or has lost its lease while it was stopped, may have sent something that arrives late: through
a proxy, or from the queue of a busy server. Writing goes through an alias that bears the name of the lease's owner, and
takes no index for an alias. So the next writer gives the indices an alias of its own, takes all others away, and waits
for what had passed that door before. Only then it looks at what was left.
"""

from __future__ import annotations

import time
from typing import Final

from .failures import Refused
from .names import Version, writing
from .server import LOADING, Server

PATIENCE: Final = 120.0
"""Seconds to wait for writes that are under way; servers give up on them within a minute."""

_POLL: Final = 0.1


def take_over(server: Server, version: Version, owner: str) -> None:
    """From now on only the owner writes to a version."""
    actions: list[dict[str, dict[str, str]]] = []
    for index in version.indices:
        actions += [
            {"remove": {"index": index, "alias": f"{writing(index)}*"}},
            {"add": {"index": index, "alias": writing(index, owner)}},
        ]
    server.request("POST", "/_aliases", {"actions": actions}, patience=LOADING)


def wait_for_writes(server: Server, version: Version) -> None:
    """Wait until no write to a version is under way, if the server lets us see that."""
    deadline = time.monotonic() + PATIENCE
    try:
        while any(index in task for task in _writes(server) for index in version.indices):
            if time.monotonic() > deadline:
                return
            time.sleep(_POLL)
    except Refused:  # a role need not allow it
        return


def _writes(server: Server) -> list[str]:
    """What the server says of each write that is under way."""
    params = {"actions": "indices:data/write/*", "detailed": "true"}
    nodes = server.request("GET", "/_tasks", params=params, patience=LOADING)["nodes"].values()
    return [str(task.get("description", "")) for node in nodes for task in node["tasks"].values()]
