"""Many users at once: questions a second of `serve` with one process and with several, and how long each waits.

    python -m tools.bench_users INDEX QUESTIONS.jsonl --processes 1 --processes 2

Clients are threads of another process that ask over connections they keep, each one question after the other. Servers
with different numbers of processes take turns at every number of clients. Memory is that of all processes of a server;
what they share, the mapped index and the libraries, counts once (PSS).
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Final, NamedTuple
from urllib.parse import quote

import click

from sparc_search.cli.terminal import note, result
from tools.benchmark_page import table, write_section

CLIENTS: Final = (1, 8, 50, 200)
PROGRAM: Final = str(Path(sys.executable).parent / "sparc-search")


class Server(NamedTuple):
    """One that runs."""

    processes: int
    port: int
    pid: int


class Heard(NamedTuple):
    """What the clients of a turn got."""

    seconds: float
    times: list[float]
    sent_away: int


@click.command()
@click.argument("index", type=click.Path(path_type=Path))
@click.argument("questions", type=click.Path(path_type=Path))
@click.option("--processes", multiple=True, type=int, default=(1, 2), show_default=True)
@click.option("--seconds", default=15.0, show_default=True, help="Length of each turn.")
def main(index: Path, questions: Path, processes: tuple[int, ...], seconds: float) -> None:
    """Measure, and write docs/benchmarks/users.md."""
    asked = [json.loads(line)["question"] for line in questions.read_text(encoding="utf-8").splitlines()]
    rows = []
    with ExitStack() as stack:
        servers = [stack.enter_context(_serving(index, count)) for count in processes]
        for clients in CLIENTS:
            for server in servers:
                note(f"{clients} clients, {server.processes} processes ...")
                rows.append(_row(clients, server, _asked_by(clients, server, asked, seconds)))
    header = ("clients", "processes", "questions/s", "p50, ms", "p99, ms", "sent away (503)", "memory, MB")
    body = table(header, rows)
    write_section("users", "Many users at once", "python -m tools.bench_users INDEX QUESTIONS.jsonl", body)
    result(body)


def _row(clients: int, server: Server, heard: Heard) -> tuple[str, ...]:
    percentiles = quantiles(heard.times, n=100)
    rate = f"{len(heard.times) / heard.seconds:,.0f}"
    times = (f"{percentiles[at] * 1000:,.0f}" for at in (49, 98))
    return (f"{clients}", f"{server.processes}", rate, *times, f"{heard.sent_away:,}", f"{_memory(server.pid):,.0f}")


@contextmanager
def _serving(index: Path, processes: int) -> Iterator[Server]:
    command = [PROGRAM, "serve", "--index", str(index), "--port", "0", "--processes", str(processes)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        found = re.search(r":(\d+)/ ", process.stderr.readline())
        assert found, "the server did not start"
        try:
            yield Server(processes, int(found[1]), process.pid)
        finally:
            process.terminate()


def _asked_by(clients: int, server: Server, questions: list[str], seconds: float) -> Heard:
    """By so many clients in a process of their own, so that they do not wait for this one."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_clients, (clients, server.port, questions, seconds))


def _clients(count: int, port: int, questions: list[str], seconds: float) -> Heard:
    times: list[float] = []
    sent_away: list[float] = []
    began = time.perf_counter()

    def one(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        while time.perf_counter() < began + seconds:
            number += 1
            asked = time.perf_counter()
            connection.request("GET", f"/api/v1/ask?q={quote(questions[number * 7919 % len(questions)])}")
            answer = connection.getresponse()
            answer.read()
            (times if answer.status == 200 else sent_away).append(time.perf_counter() - asked)
            if answer.status == 503:
                time.sleep(1)  # it says when to come again
        connection.close()

    threads = [threading.Thread(target=one, args=(start * 31,)) for start in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Heard(time.perf_counter() - began, times, len(sent_away))


def _memory(pid: int) -> float:
    """Megabytes of a process and its children, what they share counted once."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    kilobytes = re.findall(r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(kilobytes[0]) / 1000 + sum(_memory(int(child)) for child in children)


if __name__ == "__main__":
    main()
