"""Clients that are slow, greedy, wrong or many: a real server stays there for the others, and logs a few lines."""

from __future__ import annotations

import logging
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Any

import anyio
import httpx2 as httpx
import pytest

from sparc_search.index import Index
from sparc_search.web.app import create_app
from sparc_search.web.brake import Brake
from sparc_search.web.limits import Gate, WebLimits
from sparc_search.web.problems import HttpProblem
from sparc_search.web.seldom import Seldom

from .conftest import ServeProcess, served

HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: "
TOKEN = "correct-horse-battery-staple"
CLIENTS = 200


@contextmanager
def connection(address: str) -> Iterator[socket.socket]:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as opened:
        yield opened


def everything(opened: socket.socket) -> bytes:
    """What comes until the server hangs up."""
    answer = b""
    try:
        while piece := opened.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass
    return answer


def is_healthy(address: str) -> bool:
    return httpx.get(f"{address}/healthz", timeout=60).json()["status"] == "ok"


def log_of(process: subprocess.Popen[str]) -> list[str]:
    """Stop the server, and read all that it logged."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert "Traceback" not in said
    return [line for line in said.splitlines() if "WARNING" in line or "ERROR" in line]


@pytest.mark.slow
def test_half_open_requests_neither_stop_it_nor_fill_its_log(serve_process: ServeProcess) -> None:
    with serve_process(handles=128) as (process, address), ExitStack() as stack:
        for _ in range(200):
            opened = stack.enter_context(connection(address))
            opened.sendall(HALF)
        assert all(is_healthy(address) for _ in range(20))
        answer = httpx.get(f"{address}/api/ask", params={"q": "Who climbed the Eiger?"}, timeout=60)
        assert answer.json()["answers"]
        lines = log_of(process)
    assert len(lines) == 2, lines
    assert "places for connections are taken" in lines[0]
    assert "more like this" in lines[1]


def test_without_file_handles_connections_are_turned_away_until_there_are_some(serve_process: ServeProcess) -> None:
    with serve_process() as (process, address):
        assert is_healthy(address)
        free = first_free_handle(process, seconds=2)  # that connection is closed by then
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (free, 1024))
        for _ in range(50):
            with connection(address) as opened:
                assert everything(opened) == b""
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        assert is_healthy(address)
        lines = log_of(process)
    assert [line for line in lines if "no file handle is free" in line] == lines
    assert len(lines) == 2


def first_free_handle(process: subprocess.Popen[str], seconds: float) -> int:
    """The lowest number that no open file of a process has, at any moment of the next seconds."""
    lowest, until = sys.maxsize, time.monotonic() + seconds
    while time.monotonic() < until:
        taken = {int(name) for name in os.listdir(f"/proc/{process.pid}/fd")}
        lowest = min(lowest, next(number for number in count() if number not in taken))
        time.sleep(0.05)
    return lowest


def test_too_few_file_handles_are_said_before_it_listens(serve_process: ServeProcess) -> None:
    with pytest.raises(AssertionError, match="ulimit -n 1024"), serve_process(handles=50):
        pass


@pytest.mark.parametrize(
    "begun",
    [
        HALF,
        b"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    ],
)
def test_a_request_that_does_not_arrive_is_given_up(serve_process: ServeProcess, begun: bytes) -> None:
    with serve_process("--request-seconds", "1") as (process, address):
        with connection(address) as silent, connection(address) as stopped, connection(address) as trickling:
            stopped.sendall(begun)
            trickling.sendall(begun)
            answer = b""
            trickling.settimeout(0.2)
            while not answer:  # a byte now and then is not enough
                trickling.sendall(b"a")
                with suppress(TimeoutError):
                    answer = trickling.recv(1000)
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert everything(stopped).startswith(b"HTTP/1.1 408 ")
            assert everything(silent) == b""
        assert is_healthy(address)
        assert len(log_of(process)) == 2


@pytest.mark.slow
def test_a_client_that_does_not_read_is_given_up(serve_process: ServeProcess) -> None:
    many = b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 100_000
    with serve_process("--request-seconds", "0.5") as (process, address):
        with connection(address) as opened:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.settimeout(5)
            with pytest.raises(OSError, match=r"reset|Broken pipe|timed out"):
                opened.sendall(many)
            deadline = time.monotonic() + 60
            while not is_closed(opened) and time.monotonic() < deadline:
                time.sleep(0.2)
            assert is_closed(opened)
        assert is_healthy(address)
        assert any("to read its answer" in line for line in log_of(process))


def is_closed(opened: socket.socket) -> bool:
    try:
        opened.send(b"x")
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


@pytest.mark.slow
def test_guessing_is_braked_and_those_who_are_inside_stay(serve_process: ServeProcess) -> None:
    with serve_process(token=TOKEN) as (process, address), httpx.Client(base_url=address, timeout=60) as inside:
        assert inside.post("/login", data={"token": TOKEN}).status_code == 303
        began = time.monotonic()
        seen = Counter(guess(address, number) for number in range(100))
        seconds = time.monotonic() - began
        assert seen[401] + seen[429] == 100
        assert 10 <= seen[401] <= 11 + seconds / 6  # ten at once, then one every six seconds
        while guess(address, 100) == 429:  # the next that is looked at: from now on it is six seconds again
            pass
        bearer = {"authorization": f"Bearer {TOKEN}"}
        braked = httpx.get(f"{address}/api/index", headers=bearer, timeout=60)
        assert braked.status_code == 429  # even the right one is not looked at
        assert inside.get("/api/index").status_code == 200
        assert is_healthy(address)
        time.sleep(int(braked.headers["retry-after"]))
        assert httpx.get(f"{address}/api/index", headers=bearer, timeout=60).status_code == 200
        lines = log_of(process)
        assert [line for line in lines if "too many wrong tokens" in line] == lines
        assert len(lines) <= 2 + (time.monotonic() - began) / 60


def guess(address: str, number: int) -> int:
    return int(httpx.post(f"{address}/login", data={"token": f"wrong{number}"}, timeout=60).status_code)


def test_a_client_is_not_blamed_for_the_time_the_server_was_stopped(serve_process: ServeProcess) -> None:
    body = b'{"questions": ["Who climbed the Eiger?"]' + b" " * 200_000 + b"}"
    head = b"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    with serve_process("--request-seconds", "1") as (process, address), connection(address) as opened:
        opened.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body[:100])
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        opened.sendall(body[100:])
        time.sleep(2)
        process.send_signal(signal.SIGCONT)
        assert everything(opened).startswith(b"HTTP/1.1 200 ")


def test_two_lengths_close_the_connection(serve_process: ServeProcess) -> None:
    head = "POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    lengths = "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    hidden = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serve_process() as (_, address):
        for version in ("1.1", "1.0"):
            with connection(address) as opened:
                opened.sendall((head.replace("1.1", version) + lengths + hidden).encode())
                answer = everything(opened)
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert answer.count(b"HTTP/1.1 ") == 1
            assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_a_body_that_breaks_off_in_nonsense_is_told_once(serve_process: ServeProcess, pause: float) -> None:
    """Whether the answer is on its way then or not."""
    head = b"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with serve_process() as (process, address):
        for kind in (b"", b"Content-Type: application/json\r\n"):
            with connection(address) as opened:
                opened.sendall(head[:-2] + kind + b"\r\n")
                time.sleep(pause)
                opened.sendall(b"this is no length\r\nhello")
                answer = everything(opened)
            assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 415 "))
            assert answer.count(b"HTTP/1.1 ") == 1
        assert is_healthy(address)
        process.terminate()
        log = process.communicate(timeout=60)[1]
    assert "Traceback" not in log, log


def patiently(address: str, number: int, requests: int) -> list[int]:
    """Ask some questions, and come again when told to; how often each had to be asked."""
    tries = []
    with httpx.Client(base_url=address, timeout=300) as client:
        for turn in range(requests):
            tries.append(1)
            while True:
                answer = client.get("/api/ask", params={"q": f"Who climbed the Eiger in {1800 + (number + turn) % 7}?"})
                if answer.status_code == 200:
                    assert answer.json()["answers"]
                    break
                assert answer.status_code == 503
                time.sleep(int(answer.headers["retry-after"]))
                tries[-1] += 1
    return tries


@pytest.mark.slow
@pytest.mark.parametrize(("options", "requests", "most"), [((), 5, 1), (("--waiting", "20"), 2, 12)])
def test_two_hundred_patient_clients_all_get_their_answers(
    serve_process: ServeProcess, options: tuple[str, ...], requests: int, most: int
) -> None:
    with serve_process("--workers", "2", *options) as (process, address), ThreadPoolExecutor(CLIENTS) as pool:
        found = list(pool.map(lambda number: patiently(address, number, requests), range(CLIENTS)))
        assert sum(map(len, found)) == requests * CLIENTS
        assert max(map(max, found)) <= most, Counter(number for tries in found for number in tries)
        assert log_of(process) == []


def test_nothing_is_computed_for_who_hung_up_while_waiting(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, leave, asked = threading.Event(), threading.Event(), []
    answer_as_ever = Index.ask

    def slow(self: Index, question: str, **named: Any) -> Any:
        asked.append(question)
        inside.set()
        assert leave.wait(300)
        return answer_as_ever(self, question, **named)

    monkeypatch.setattr(Index, "ask", slow)
    app = create_app(index, limits=WebLimits(running=1))
    gate = app.state.shared.gate
    with served(app) as address, ThreadPoolExecutor(1) as pool:
        first = pool.submit(httpx.get, f"{address}/api/ask?q=first", timeout=300)
        assert inside.wait(300)
        for _ in range(10):
            with connection(address) as opened:
                opened.sendall(b"GET /api/ask?q=gone HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while gate.inside < 11:
            time.sleep(0.01)
        leave.set()
        assert first.result().status_code == 200
        assert httpx.get(f"{address}/api/ask?q=last", timeout=300).status_code == 200
    assert asked == ["first", "last"]
    assert gate.inside == 0


def test_who_is_sent_away_hears_when_it_will_be_its_turn() -> None:
    now = [0.0]
    gate = Gate(WebLimits(running=2, waiting=8), clock=lambda: now[0])

    def seconds() -> int:
        return int(gate._busy().headers["Retry-After"])

    gate._seconds, gate.inside = 0.5, 10  # ten are inside, and two of them take half a second
    assert [seconds() for _ in range(8)] == [3, 3, 3, 4, 4, 4, 4, 5]  # those who were told before come first
    now[0] = 4.0
    assert seconds() == 3  # all but one of them have come
    gate._seconds = 100.0
    assert seconds() == 60
    assert gate.refused == 10


def test_nobody_waits_longer_than_the_limit() -> None:
    leave = threading.Event()

    async def ask() -> str:
        gate = Gate(WebLimits(running=1, queue_seconds=0.1))
        async with anyio.create_task_group() as group:
            group.start_soon(gate.run, lambda: leave.wait(60))
            await anyio.sleep(0.05)
            try:
                await gate.run(lambda: None)
            except HttpProblem as problem:
                return problem.headers["Retry-After"]
            finally:
                leave.set()
        raise AssertionError("nobody was sent away")

    assert anyio.run(ask) == "1"


def test_the_brake_lets_go_with_time() -> None:
    now = [0.0]
    brake = Brake(3, refill=10, clock=lambda: now[0])
    for _ in range(3):
        assert brake.seconds("192.0.2.1") == 0
        brake.wrong("192.0.2.1")
    assert brake.seconds("192.0.2.1") == 10
    assert brake.seconds("192.0.2.2") == 0
    now[0] = 9.5
    assert brake.seconds("192.0.2.1") == 1
    now[0] = 10
    assert brake.seconds("192.0.2.1") == 0
    for number in range(3):
        brake.wrong(f"2001:db8::{number}")
    assert brake.seconds("2001:db8::ffff") == 10
    assert Brake(0).seconds("192.0.2.1") == 0


def test_a_kind_of_trouble_is_told_once_a_while() -> None:
    now = [0.0]
    seldom = Seldom(60, clock=lambda: now[0])

    def passes(text: str, *values: object) -> str:
        record = logging.LogRecord("x", logging.WARNING, "", 0, text, values, None)
        return record.getMessage() if seldom.filter(record) else ""

    assert passes("closed %s", "a") == "closed a"
    assert passes("closed %s", "b") == passes("closed %s", "c") == ""
    assert passes("other") == "other"
    assert list(seldom.rest()) == ["closed a (2 more like this since)"]
    now[0] = 61
    assert passes("closed %s", "d") == "closed d (2 more like this since)"
    assert list(seldom.rest()) == []


def test_an_exception_is_told_once_whoever_logs_it() -> None:
    seldom = Seldom()

    def failing(text: str) -> bool:
        try:
            raise ValueError(text)
        except ValueError as error:
            found = (type(error), error, error.__traceback__)
            return seldom.filter(logging.LogRecord("x", logging.ERROR, "", 0, text, (), found))

    assert failing("one")
    assert not failing("two")
    (rest,) = seldom.rest()
    assert re.fullmatch(r"one \(1 more like this since\)", rest)
