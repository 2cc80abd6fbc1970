"""Many at once: a busy server answers or sends away, it never breaks."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import uvicorn

from sparc_search.index import Index
from sparc_search.web import serving
from sparc_search.web.app import create_app
from sparc_search.web.limits import WebLimits

from .conftest import ServeProcess, served

CLIENTS = 200
RunCli = Callable[..., "subprocess.CompletedProcess[str]"]


def ask_at_once(address: str, clients: int) -> list[Any]:
    barrier = threading.Barrier(clients)

    def one(number: int) -> Any:
        with httpx.Client(timeout=300) as client:
            barrier.wait()
            return client.get(f"{address}/api/ask", params={"q": f"Who climbed the Eiger in {1800 + number % 7}?"})

    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(one, range(clients)))


@pytest.mark.slow
def test_two_hundred_clients_get_the_right_answer_or_are_told_when_to_come_again(index: Index) -> None:
    app = create_app(index, limits=WebLimits(running=2, waiting=20))
    with served(app) as address:
        answers = ask_at_once(address, CLIENTS)
        statuses = Counter(answer.status_code for answer in answers)
        assert set(statuses) <= {200, 503}
        assert statuses[200] >= 22
        for number, answer in enumerate(answers):
            if answer.status_code == 503:
                assert answer.json()["error"]["type"] == "busy"
                assert 1 <= int(answer.headers["retry-after"]) <= 60
            else:
                expected = index.ask(f"Who climbed the Eiger in {1800 + number % 7}?")
                assert answer.json()["answers"][0]["score"] == expected.answers[0].score
        assert httpx.get(f"{address}/readyz", timeout=300).status_code == 200
        assert httpx.get(f"{address}/api/ask?q=x", timeout=300).status_code == 200
    assert app.state.shared.gate.inside == 0


@pytest.mark.slow
def test_with_room_for_all_nobody_is_sent_away(index: Index) -> None:
    with served(create_app(index, limits=WebLimits(running=4, waiting=CLIENTS))) as address:
        assert {answer.status_code for answer in ask_at_once(address, CLIENTS)} == {200}


def test_one_too_many_is_sent_away_while_health_still_answers(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, leave = threading.Event(), threading.Event()
    answer_as_ever = Index.ask

    def slow(self: Index, *arguments: Any, **named: Any) -> Any:
        inside.set()
        assert leave.wait(300)
        return answer_as_ever(self, *arguments, **named)

    monkeypatch.setattr(Index, "ask", slow)
    with served(create_app(index, limits=WebLimits(running=1, waiting=0))) as address, ThreadPoolExecutor(1) as pool:
        first = pool.submit(httpx.get, f"{address}/api/ask?q=x", timeout=300)
        assert inside.wait(300)
        second = httpx.get(f"{address}/api/ask?q=x", timeout=300)
        assert (second.status_code, second.headers["retry-after"]) == (503, "1")
        assert httpx.get(f"{address}/healthz", timeout=300).status_code == 200
        page = httpx.get(f"{address}/?q=x", timeout=300, headers={"accept": "text/html"})
        assert page.status_code == 503
        assert "too many requests" in page.text
        leave.set()
        assert first.result().status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_answers_what_runs_and_ends_well(serve_process: ServeProcess, number: int) -> None:
    with serve_process() as (process, address):
        assert httpx.get(f"{address}/readyz", timeout=300).json()["status"] == "ready"
        host, port = address.removeprefix("http://").split(":")
        import socket

        body = b'{"questions": ["Who climbed the Eiger?"]}'
        with socket.create_connection((host, int(port)), timeout=300) as slow:  # a request that is still on its way
            head = f"POST /api/ask HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n"
            slow.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:10])
            time.sleep(0.5)
            process.send_signal(number)
            time.sleep(0.5)
            slow.sendall(body[10:])
            answer = b""
            while piece := slow.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"Barrington" in answer
        assert process.wait(300) == 0
        assert process.stderr is not None
        assert "Stopped." in process.stderr.read()


def test_told_to_stop_before_it_has_begun_it_stops(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = uvicorn.Server.run

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        signal.raise_signal(signal.SIGTERM)
        begin(server, sockets)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    with serving.bound("127.0.0.1", 0) as listening:
        serving.serve(create_app(index), listening, WebLimits())


def test_several_processes_answer_as_one_does_and_end_with_the_first(serve_process: ServeProcess, index: Index) -> None:
    question = "Who climbed the Eiger?"
    with serve_process("--processes", "2") as (process, address):
        ids = _children(process.pid)
        assert len(ids) == 2
        wanted = index.ask(question).answers[0]
        answers = [httpx.get(f"{address}/api/ask", params={"q": question}, timeout=300) for _ in range(4)]
        assert {(answer.json()["answers"][0]["text"], answer.json()["answers"][0]["score"]) for answer in answers} == {
            (wanted.text, wanted.score)
        }
        os.kill(ids[0], signal.SIGKILL)  # one that ends is replaced, and told of
        assert process.stderr is not None
        assert "another takes its place" in process.stderr.readline()
        assert httpx.get(f"{address}/api/ask", params={"q": question}, timeout=300).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=300) == 0
    assert not any(Path(f"/proc/{id}").exists() for id in ids)


def test_several_processes_need_an_index_and_count_no_metrics(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("serve", "--processes", "2", "--port", "0", "--encoder", "toy", "--index", tmp_path / "nothing")
    assert done.returncode == 1
    assert "no index" in done.stderr
    assert run_cli("serve", "--processes", "2", "--metrics", "--encoder", "toy").returncode == 2


def _children(of: int) -> list[int]:
    return [int(id) for id in Path(f"/proc/{of}/task/{of}/children").read_text().split()]
