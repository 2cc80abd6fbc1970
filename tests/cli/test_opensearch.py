"""`sparc-search opensearch`: a real node, through its whole life."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from servers import ready, server_folder

from sparc_search.servers.ports import free_port
from sparc_search.servers.products import OPENSEARCH


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sparc_search.cli.main", "opensearch", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


def ask(url: str, method: str = "GET", body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


@pytest.fixture
def data() -> Iterator[Path]:
    with server_folder() as folder:
        yield folder / "cluster"
        run("stop", "--data", folder / "cluster")


@pytest.mark.servers
@pytest.mark.timeout(1800)
def test_a_node_lives_dies_comes_back_and_stops(data: Path) -> None:
    ready(OPENSEARCH)
    port = free_port()
    started = run("start", "--data", data, "--port", str(port), "--wait", "800")
    assert (started.returncode, started.stdout) == (0, f"http://127.0.0.1:{port}\n"), started.stderr
    url = started.stdout.strip()
    again = run("start", "--data", data, "--port", str(port), "--json")
    assert json.loads(again.stdout)["urls"] == [url]
    other = run("start", "--data", data, "--port", str(port), "--heap", "1g")
    assert other.returncode == 1
    assert "runs already, with other settings" in other.stderr

    ask(f"{url}/kept/_doc/1?refresh=true", "PUT", {"word": "there"})
    shown = run("status", "--data", data, "--json")
    (node,) = json.loads(shown.stdout)["nodes"]
    assert (shown.returncode, node["state"], node["url"]) == (0, "healthy", url)
    if os.geteuid() == 0:
        owner = Path(f"/proc/{node['pid']}").stat().st_uid
        assert owner != 0
        assert (data / "node-1" / "data").stat().st_uid == owner
    assert "started" in run("logs", "--data", data, "--lines", "100000").stdout

    os.kill(node["pid"], signal.SIGKILL)
    wait_until_gone(node["pid"])
    dead = run("status", "--data", data)
    assert dead.returncode == 1
    assert "stopped" in dead.stdout
    assert run("start", "--data", data, "--port", str(port), "--wait", "800").returncode == 0
    assert ask(f"{url}/kept/_doc/1")["_source"] == {"word": "there"}

    stopped = run("stop", "--data", data)
    assert (stopped.returncode, stopped.stderr) == (0, "stopped 1 node\n")
    assert "closed" in run("logs", "--data", data, "--lines", "5").stdout
    assert "nothing was running" in run("stop", "--data", data).stderr


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_dead_node_of_three_comes_back_while_the_others_go_on(data: Path) -> None:
    ready(OPENSEARCH)
    port = free_port(3)
    start = ("start", "--data", data, "--nodes", "3", "--port", str(port), "--heap", "256m", "--wait", "800")
    started = run(*start)
    assert started.returncode == 0, started.stderr
    first, second, _ = started.stdout.split()
    ask(f"{second}/kept?wait_for_active_shards=all", "PUT", {"settings": {"number_of_replicas": 2}})
    ask(f"{second}/kept/_doc/1?refresh=true", "PUT", {"word": "there"})
    before = processes(data)

    os.kill(before[0], signal.SIGKILL)  # the first, which founded the cluster
    wait_until_gone(before[0])
    answers = []
    with ThreadPoolExecutor(1) as pool, closing_event() as done:

        def watch() -> None:
            while not done.is_set():
                answers.append(ask(f"{second}/kept/_doc/1")["_source"])
                time.sleep(0.2)

        watching = pool.submit(watch)
        again = run(*start)
        done.set()
        watching.result()
    assert (again.returncode, again.stdout) == (0, started.stdout), again.stderr
    assert answers
    assert answers == [{"word": "there"}] * len(answers)
    after = processes(data)
    assert after[0] != before[0]
    assert after[1:] == before[1:]
    assert ask(f"{first}/kept/_doc/1")["_source"] == {"word": "there"}
    assert run("status", "--data", data).returncode == 0

    os.kill(after[2], signal.SIGKILL)  # and one that cannot come back: its port is taken
    wait_until_gone(after[2])
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of the dead one are not over yet
        taken.bind(("127.0.0.1", port + 2))
        taken.listen()
        refused = run(*start)
    assert refused.returncode == 1
    assert f"port {port + 2} is taken" in refused.stderr
    assert processes(data)[:2] == after[:2]
    other = run(*start[:-4], "--heap", "512m")
    assert f"--nodes 3 --port {port} --heap 256m" in other.stderr.replace("\n", " ")
    assert run("stop", "--data", data).stderr == "stopped 2 nodes\n"


def processes(data: Path) -> list[int]:
    return [node["pid"] for node in json.loads(run("status", "--data", data, "--json").stdout)["nodes"]]


@contextmanager
def closing_event() -> Iterator[threading.Event]:
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)


def test_where_there_is_no_cluster(data: Path) -> None:
    shown = run("status", "--data", data)
    assert (shown.returncode, shown.stdout) == (1, "")
    assert "there is no cluster" in shown.stderr
    assert not data.exists()
    assert "nothing was running" in run("stop", "--data", data).stderr
    assert "there is no node 1" in run("logs", "--data", data).stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--heap", "512"), 2, "is no size of a heap"),
        (("--heap", "9000g"), 1, "of memory, and"),
        (("--nodes", "0"), 2, "ask for 1 to 9"),
    ],
)
def test_what_cannot_be_started_is_said_at_once(
    data: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = run("start", "--data", data, "--port", str(free_port()), *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr


def test_a_taken_port_is_said_at_once(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("start", "--data", data, "--port", str(port))
    assert done.returncode == 1
    assert f"port {port} is taken" in done.stderr
    assert "--port" in done.stderr


def test_a_cluster_does_not_shrink(data: Path) -> None:
    data.mkdir()
    (data / "cluster.json").write_text('{"version": "3.6.0", "nodes": 3, "port": 9200, "heap": "512m", "pids": []}')
    done = run("start", "--data", data, "--port", str(free_port()))
    assert done.returncode == 1
    assert "holds a cluster of 3 nodes" in done.stderr


def test_a_damaged_note_is_said(data: Path) -> None:
    data.mkdir()
    (data / "cluster.json").write_text("{")
    assert "cannot be read" in run("status", "--data", data).stderr
