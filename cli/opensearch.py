"""`sparc-search opensearch`: a real OpenSearch on this machine, without Docker, for development and tests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import ServerError

from .options import PATH, Decorator, Group, json_option, option
from .terminal import note, print_table, progress, result, result_json, styled

if TYPE_CHECKING:
    from sparc_search.servers.fetch import FetchProgress
    from sparc_search.servers.running import NodeState

STYLES = {"healthy": "green", "not ready": "yellow", "stopped": "dim"}
FOLLOW_SECONDS = 0.5

data_option: Decorator = click.option(
    "--data", type=PATH, help="Folder of the cluster.  [default: with the user's data]"
)


@click.group(cls=Group)
def opensearch() -> None:
    """Run OpenSearch on this machine, without Docker.

    For development and tests: it listens on this machine only, and asks nobody for a password. It needs Java 21 or
    newer and, the first time, Maven (`mvn`), which fetches 160 MB.
    """
    if os.name != "posix":
        raise ServerError("local servers run on Linux and macOS only", "use docker compose, or WSL on Windows")


@opensearch.command()
@option("--nodes", default=1, help="How many nodes; 3 survive the loss of one.")
@option("--port", default=9200, help="Port of the first node; the others follow.")
@option("--heap", default="512m", help="Memory for each node's heap, like 512m or 2g.")
@option("--wait", "patience", default=300, help="Seconds until it must be healthy.")
@data_option
@json_option
def start(nodes: int, port: int, heap: str, patience: int, data: Path | None, as_json: bool) -> None:
    """Start a node, or a cluster of several, and wait until it is healthy.

    Prints its address. It goes on until `sparc-search opensearch stop`; what it holds stays in its folder. Of a cluster
    that has lost nodes, those are started again, and the others go on meanwhile.
    """
    from sparc_search.servers.running import start_cluster

    folder = _folder(data)
    note(f"starting OpenSearch in {folder}")
    with _fetching() as show:
        cluster = start_cluster(folder, nodes, port, heap, show, patience)
    about = {"url": cluster.url, "urls": cluster.urls, "data": folder, "version": cluster.product.version}
    result_json(about) if as_json else result("\n".join(cluster.urls))


@opensearch.command()
@data_option
@json_option
def stop(data: Path | None, as_json: bool) -> None:
    """Stop every node in good order; what they hold stays."""
    from sparc_search.servers.running import stop_cluster

    stopped = stop_cluster(_folder(data))
    if as_json:
        result_json({"stopped": stopped})
    else:
        note(f"stopped {stopped} node{'s' * (stopped != 1)}" if stopped else "nothing was running")


@opensearch.command()
@data_option
@json_option
def status(data: Path | None, as_json: bool) -> int:
    """Show every node and where it answers. Exit code 1 unless all of them are healthy."""
    from sparc_search.servers.running import look

    folder = _folder(data)
    written, nodes = look(folder)
    if as_json:
        result_json({"data": folder, "cluster": written, "nodes": nodes})
    elif written is None:
        note(f"there is no cluster in {folder}")
    else:
        print_table(("node", "state", "address", "process", "log"), map(_row, nodes))
    return int(not nodes or any(node.state != "healthy" for node in nodes))


@opensearch.command()
@option("--node", "number", default=1, help="Which node.")
@option("--lines", default=50, help="How many of the last lines.")
@click.option("--follow", "-f", is_flag=True, help="Go on with new lines until Ctrl-C.")
@data_option
def logs(number: int, lines: int, follow: bool, data: Path | None) -> None:
    """Print the last lines of a node's log."""
    from sparc_search.servers.running import look

    folder = _folder(data)
    _, nodes = look(folder)
    if not 1 <= number <= len(nodes):
        raise ServerError(f"there is no node {number} in {folder}", "sparc-search opensearch status lists them")
    log = nodes[number - 1].log
    if not log.is_file():  # it died before its own log began
        log = log.with_name("console.log")
    if not log.is_file():
        raise ServerError(f"node {number} has written no log yet", "sparc-search opensearch start")
    with log.open(encoding="utf-8", errors="replace") as file:
        for line in file.readlines()[-lines:] if lines > 0 else []:
            result(line.rstrip("\n"))
        file.seek(0, os.SEEK_END)
        while follow:
            for line in file:
                result(line.rstrip("\n"))
            time.sleep(FOLLOW_SECONDS)


def _folder(data: Path | None) -> Path:
    from sparc_search.servers.install import data_folder

    return data.absolute() if data else data_folder()


def _row(node: NodeState) -> tuple[object, ...]:
    return node.name, styled(node.state, STYLES[node.state]), node.url, node.pid or "-", styled(node.log, "dim")


@contextmanager
def _fetching() -> Iterator[FetchProgress]:
    """A progress bar for each file that is fetched; nothing if all are there."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    tasks: dict[str, Any] = {}
    with progress(*columns) as bar:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(f"fetching {what}", total=total)
                if bar.disable:
                    note(f"fetching {what} ({total / 1e6:.0f} MB)")
            bar.update(tasks[what], completed=done)

        yield show
