"""The Model Context Protocol behind `serve --mcp`: the same tools, behind the same doors as the API."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from sparc_search.index import Index
from sparc_search.web.app import create_app
from sparc_search.web.limits import WebLimits

from .conftest import client_of, served

TOKEN = "0123456789abcdef0123456789abcdef"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
ASK = {"name": "ask", "arguments": {"question": "Who climbed the Matterhorn?", "k": 1}}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ASK}


@pytest.fixture(scope="module")
def address(index: Index) -> Iterator[str]:
    with served(create_app(index, token=TOKEN, limits=WebLimits(body=4096), with_mcp=True)) as place:
        yield place


def post(address: str, content: bytes | str, headers: dict[str, str] | None = None) -> httpx2.Response:
    return httpx2.post(f"{address}/mcp", content=content, headers=JSON | WITH_TOKEN | (headers or {}))


def lives(address: str) -> bool:
    found = post(address, json.dumps(CALL)).json()["result"]["structuredContent"]
    return bool(found["answers"][0]["title"] == "Alps")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_packages_own_client_asks_and_reads(address: str, mode: str) -> None:
    async def conversation() -> None:
        async with httpx2.AsyncClient(headers=WITH_TOKEN) as http:
            transport = streamable_http_client(f"{address}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                assert [tool.name for tool in (await client.list_tools()).tools][:2] == ["ask", "search"]
                found = (await client.call_tool("ask", ASK["arguments"])).structured_content
                assert found["answers"][0]["document_id"] == "alps"
                listed = (await client.list_resources()).resources
                assert (await client.read_resource(listed[0].uri)).contents[0].text.startswith("The Eiger")
                wrong = await client.call_tool("ask", {"question": 1})
                assert wrong.is_error

    anyio.run(conversation)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 400),
        ({"Accept": "text/html"}, 406),
    ],
)
def test_the_same_doors_as_those_of_the_api(address: str, headers: dict[str, str], status: int) -> None:
    assert post(address, json.dumps(CALL), headers).status_code == status
    assert lives(address)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("nonsense", 400, -32700),
        ("", 400, -32700),
        ("{}", 400, -32600),
        ("[1, 2]", 400, -32600),
        ("x" * 5000, 413, -32600),
        ('{"jsonrpc": "2.0", "id": 1, "method": "no/such"}', 404, -32601),
    ],
)
def test_nonsense_and_too_much_are_errors_of_the_protocol(address: str, body: str, status: int, code: int) -> None:
    response = post(address, body)
    assert response.json()["error"]["code"] == code
    assert response.status_code in (status, 200)  # the protocol may answer a request with an error in a good response
    assert "Traceback" not in response.text
    assert lives(address)


def test_there_is_nothing_to_get_or_delete(address: str) -> None:
    for method in ("GET", "DELETE", "PUT"):
        response = httpx2.request(method, f"{address}/mcp", headers=WITH_TOKEN | JSON)
        assert (response.status_code, response.json()["error"]["type"]) == (405, "method_not_allowed")


def test_a_client_that_hangs_up_in_the_middle(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps(CALL)
    lines = [f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in (JSON | WITH_TOKEN).items()]
    for sent in ("", body[:10], body):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(("".join(lines) + "\r\n" + sent).encode())
    assert lives(address)


def test_who_comes_when_too_many_are_inside_is_told_so_in_words(index: Index) -> None:
    app = create_app(index, limits=WebLimits(running=1, waiting=0), with_mcp=True)
    entered, leave = threading.Event(), threading.Event()

    def slow() -> None:
        entered.set()
        leave.wait(60)

    with client_of(app) as client:
        portal = client.portal
        assert portal is not None
        inside = portal.start_task_soon(app.state.shared.gate.run, slow)
        entered.wait(60)
        found: dict[str, Any] = client.post("/mcp", json=CALL, headers=JSON).json()["result"]
        leave.set()
        inside.result()
    assert found["isError"] is True
    assert "too many requests at once" in found["content"][0]["text"]


def test_it_is_off_unless_asked_for(index: Index) -> None:
    assert client_of(create_app(index)).post("/mcp", json=CALL, headers=JSON).status_code == 404


def test_the_command_serves_it(serve_process: Callable[..., Any]) -> None:
    with serve_process("--mcp", token=TOKEN) as (_, address):
        assert lives(address)
