"""Every way of docs/integrations.md works, against the real packages, offline, without a language model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from served import served

from sparc_search import Index
from sparc_search.web.app import create_app

from .conftest import PAGE, RUNNER, section


@pytest.mark.parametrize("heading", ["LangChain", "LlamaIndex", "Haystack"])
def test_an_adapter(heading: str, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"LangChain": "langchain_core", "LlamaIndex": "llama_index.core", "Haystack": "haystack"}[heading]
    pytest.importorskip(package, reason=f"needs {package}: run tools/integrations.py")
    monkeypatch.chdir(notes)
    assert RUNNER.run(section(heading)).failed == 0


def test_langchain_over_http_and_what_a_model_reads(notes: Path) -> None:
    pytest.importorskip("langchain_core", reason="needs langchain_core: run tools/integrations.py")
    from sparc_search.client import Client
    from sparc_search.langchain import SparcRetriever, answering_tool

    with Index.open(notes / "notes") as index, served(create_app(index, with_mcp=True)) as address:
        retriever = SparcRetriever(index=Client(address), k=2, where={"year": "2024"})
        (document,) = anyio.run(retriever.ainvoke, "lease")
        assert (document.metadata["document_id"], document.metadata["year"]) == ("lease", "2024")
        tool = answering_tool(Client(address), k=1)
        call = {"name": tool.name, "args": {"question": "Who climbed the Eiger first?"}, "id": "1", "type": "tool_call"}
        message = tool.invoke(call)
        assert json.loads(message.content)["answers"][0]["text"] == "Charles Barrington"
        assert message.artifact.best.passage.title == "Eiger"
        assert set(tool.args) == {"question"}


def test_python_over_http(notes: Path) -> None:
    with Index.open(notes / "notes") as index, served(create_app(index, with_mcp=True)) as address:
        example = section("Python over HTTP")
        for step in example.examples:
            step.source = step.source.replace("http://127.0.0.1:8000", address)
        assert RUNNER.run(example).failed == 0


def test_curl(notes: Path) -> None:
    (line,) = re.findall(r"^curl .*$", PAGE, re.MULTILINE)
    with Index.open(notes / "notes") as index, served(create_app(index, with_mcp=True)) as address:
        line = line.replace("http://127.0.0.1:8000", address)
        done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert json.loads(done.stdout)["answers"][0]["text"] == "Charles Barrington"


def configured(notes: Path) -> list[str]:
    """The command that the page's settings of an assistant name, with the whole path of the folder."""
    (settings,) = re.findall(r'^\{"mcpServers".*$', PAGE, re.MULTILINE)
    server = json.loads(settings)["mcpServers"]["notes"]
    assert server["command"] == "sparc-search"
    folder = [str(notes / argument) if argument == "notes" else argument for argument in server["args"]]
    return [sys.executable, "-m", "sparc_search.cli.main", *folder]


def test_an_assistant_starts_it_as_the_page_says(notes: Path) -> None:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command, *arguments = configured(notes)

    async def conversation() -> None:
        async with Client(stdio_client(StdioServerParameters(command=command, args=arguments))) as client:
            found = (await client.call_tool("ask", {"question": "Who signed the lease?"})).structured_content
            assert (found["found"], found["answer"]) == (True, "Ada King")

    anyio.run(conversation)


@contextmanager
def over(transport: str, notes: Path) -> Iterator[list[str]]:
    """What the inspector is told to talk to."""
    if transport == "stdio":
        yield configured(notes)
    else:
        with Index.open(notes / "notes") as index, served(create_app(index, with_mcp=True)) as address:
            yield [f"{address}/mcp", "--transport", "http"]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_inspector_of_the_protocol(notes: Path, transport: str) -> None:
    program = Path(sys.prefix) / "node" / "node_modules" / ".bin" / "mcp-inspector"
    if not program.exists():
        pytest.skip("needs npm, when tools/integrations.py makes its environment")

    with over(transport, notes) as target:

        def inspect(*arguments: str) -> str:
            command = [str(program), "--cli", *target, *arguments]
            told = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            assert isinstance(told, dict)
            return json.dumps(told)

        tools = inspect("--method", "tools/list")
        assert all(f'"name": "{name}"' in tools for name in ("ask", "search", "fetch", "list_documents"))
        question = "question=Who signed the lease?"
        assert "Ada King" in inspect("--method", "tools/call", "--tool-name", "ask", "--tool-arg", question)
        assert "sparc-search://notes/documents/eiger" in inspect("--method", "resources/list")
