"""Small indexes of the toy encoder, behind a server of the protocol in this process or in one of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from toy_indexes import MakeIndex, toy_encoder, toy_indexes

from sparc_search.encoder import Encoder
from sparc_search.index import Index
from sparc_search.mcp.asking import Asking
from sparc_search.mcp.indexes import Indexes
from sparc_search.mcp.server import create_server
from sparc_search.mcp.stdio import Turns
from sparc_search.mcp.tools import ToolLimits


@pytest.fixture(scope="session")
def encoder(toy_plugin: Path) -> Encoder:
    return toy_encoder()


@pytest.fixture(scope="session")
def make_index(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeIndex]:
    with toy_indexes(lambda: tmp_path_factory.mktemp("mcp"), encoder) as make:
        yield make


@pytest.fixture(scope="session")
def index(make_index: MakeIndex) -> Index:
    return make_index()


def server_of(limits: ToolLimits | None = None, **indexes: Index) -> Server[Any]:
    """A server over indexes by name."""
    return create_server(Asking(Indexes(indexes)), Turns().run, limits)


def talk(server: Any, conversation: Callable[[Client], Any], mode: str = "auto") -> Any:
    """What a client hears that talks to a server."""

    async def run() -> Any:
        async with Client(server, mode=mode) as client:
            try:
                return await conversation(client)
            except MCPError as error:
                return error

    heard = anyio.run(run)
    if isinstance(heard, MCPError):
        raise heard
    return heard


def call(server: Any, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool gives; its only text is the same as JSON."""
    result = talk(server, lambda client: client.call_tool(tool, dict(arguments)))
    (content,) = result.content
    assert not result.is_error, content.text
    found = json.loads(content.text)
    assert found == result.structured_content
    assert isinstance(found, dict)
    return found


def refused(server: Any, tool: str, arguments: Mapping[str, Any]) -> str:
    """What a tool says to arguments it does not take."""
    result = talk(server, lambda client: client.call_tool(tool, dict(arguments)))
    assert result.is_error
    assert result.structured_content is None
    return str(result.content[0].text)
