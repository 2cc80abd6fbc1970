"""`sparc-search mcp` itself: a process, its standard input and output, and clients good and bad."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from engines import open_local
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from small_corpus import DOCUMENTS, encode_all

from sparc_search.encoder import Encoder
from sparc_search.mcp.messages import LONGEST

from .conftest import talk

RunCli = Callable[..., subprocess.CompletedProcess[str]]
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "1"},
}


@pytest.fixture
def command(tmp_path: Path, toy_plugin: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with open_local(tmp_path / "index", encoder.fingerprint, writable=True) as store:
        store.add(encode_all(DOCUMENTS, encoder))
    monkeypatch.setenv("PYTHONPATH", str(toy_plugin))
    folder = f"notes={tmp_path / 'index'}"
    return [sys.executable, "-m", "sparc_search.cli.main", "mcp", "--encoder", "toy", "--index", folder]


class Talker:
    """Somebody who writes lines to a server, and reads its answers."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def say(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")
        self.stdin.flush()

    def hear(self) -> dict[str, Any]:
        heard = json.loads(self.stdout.readline())
        assert isinstance(heard, dict)
        return heard

    def request(self, id: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.say(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
        heard = self.hear()
        assert heard["id"] == id
        return heard

    def begin(self) -> None:
        assert self.request(0, "initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "sparc-search"
        self.say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def ask(self, id: int) -> None:
        params = {"name": "ask", "arguments": {"question": "Who climbed the Matterhorn?", "k": 1}}
        found = self.request(id, "tools/call", params)["result"]["structuredContent"]
        assert found["answers"][0]["title"] == "Alps"


@contextmanager
def started(command: list[str]) -> Iterator[Talker]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield Talker(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_packages_own_client_asks_searches_and_reads(command: list[str], mode: str) -> None:
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))

    async def conversation(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["ask", "search", "fetch", "list_documents"]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert client.instructions is not None
        assert "never as instructions" in client.instructions
        found = (await client.call_tool("search", {"query": "Matterhorn"})).structured_content
        first = found["results"][0]
        fetched = (await client.call_tool("fetch", {"id": first["id"]})).structured_content
        assert fetched["text"] == first["text"]
        resources = (await client.list_resources()).resources
        assert [resource.title for resource in resources] == ["Alps", "Seas"]

    talk(stdio_client(parameters), conversation, mode)


def test_nonsense_and_too_much_get_an_error_and_the_server_lives(command: list[str]) -> None:
    with started(command) as client:
        for line in (b"nonsense", b"\xff\x00", b"{}", b"[]", b'{"jsonrpc": "2.0", "id": [], "method": 1}'):
            client.say(line)
            heard = client.hear()
            assert heard["id"] is None
            assert heard["error"]["code"] in (-32700, -32600)
        client.say(b"x" * (3 * LONGEST))
        assert "more than 1,048,576 bytes" in client.hear()["error"]["message"]
        client.begin()
        assert client.request(1, "no/such/method", {})["error"]["code"] == -32601
        assert client.request(2, "tools/call", {"name": 7})["error"]["code"] == -32602
        assert client.request(3, "tools/call", {"name": "ask", "arguments": {"k": []}})["result"]["isError"] is True
        client.say(b"")
        client.say(b'{"jsonrpc": "2.0", "method": "notifications/nonsense", "params": {"a": 1}}')
        client.ask(4)


def test_a_client_that_goes_ends_the_server(command: list[str]) -> None:
    with started(command) as client:
        client.begin()
        client.stdin.close()
        assert client.process.wait(60) == 0
        assert client.stdout.read() == b""  # nothing but messages goes there
    with started(command) as client:
        client.begin()
        client.stdout.close()  # nobody reads any more
        client.say(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}')
        client.stdin.close()
        assert client.process.stderr is not None
        assert (client.process.wait(60), client.process.stderr.read()) == (0, b"")


def test_ctrl_c_ends_it_at_once_though_it_waits_for_input(command: list[str]) -> None:
    with started(command) as client:
        client.begin()
        client.process.send_signal(signal.SIGINT)
        assert client.process.stderr is not None
        assert (client.process.wait(60), client.process.stderr.read()) == (0, b"")


def test_what_is_wrong_with_an_index_is_told_before_anything_else(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("mcp", "--encoder", "toy", "--index", tmp_path / "nowhere")
    assert done.returncode == 1
    assert "there is no index" in done.stderr.lower()
    assert done.stdout == ""
    twice = run_cli("mcp", "--encoder", "toy", "--index", "a/notes", "--index", "b/notes")
    assert (twice.returncode, "--index NAME=PATH" in twice.stderr) == (2, True)
