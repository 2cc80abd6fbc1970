"""Ports and memory: refused before anything is started, with what to do about it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from sparc_search.errors import ServerError, UsageError
from sparc_search.servers.memory import MEGABYTE, available_memory, heap_bytes, require_memory
from sparc_search.servers.ports import APART, FIRST_FREE, first_of_connections, free_port, is_free, require_free


def test_a_taken_port_is_named() -> None:
    port = free_port()
    require_free(port, 1)
    for taken in (port, port + APART):
        with socket.socket() as other:
            other.bind(("127.0.0.1", taken))
            other.listen()
            assert not is_free(taken)
            with pytest.raises(ServerError, match=f"port {taken} is taken") as caught:
                require_free(port, 1)
            assert "--port" in caught.value.remedy


def test_free_ports_in_a_row() -> None:
    port = free_port(3)
    require_free(port, 3)


def test_a_free_port_stays_free_while_its_server_is_away() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        handed_out = other.getsockname()[1]
    assert first_of_connections() <= handed_out
    assert all(free_port(3) + 2 + APART < max(first_of_connections(), 2 * FIRST_FREE) for _ in range(50))


@pytest.mark.parametrize(("text", "size"), [("512m", 512 * MEGABYTE), ("2g", 2048 * MEGABYTE), ("1G", 1024 * MEGABYTE)])
def test_sizes_of_heaps(text: str, size: int) -> None:
    assert heap_bytes(text) == size


@pytest.mark.parametrize("text", ["", "512", "0m", "1.5g", "g", "-1g", "512mb"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="is no size of a heap"):
        heap_bytes(text)


def test_memory_is_counted_for_all_nodes() -> None:
    require_memory(3, "512m", 4000 * MEGABYTE)
    require_memory(3, "512m", None)
    with pytest.raises(ServerError, match="3 nodes with a heap of 512m need 2736 MB of memory, and 2000 MB are free"):
        require_memory(3, "512m", 2000 * MEGABYTE)


def test_free_memory_is_what_kernel_and_container_allow(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert available_memory(meminfo, tmp_path) is None
    meminfo.write_text("MemTotal: 100 kB\nMemAvailable:    2048 kB\n")
    assert available_memory(meminfo, tmp_path) == 2 * MEGABYTE
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("10\n")
    assert available_memory(meminfo, tmp_path) == 2 * MEGABYTE
    (tmp_path / "memory.max").write_text("1010\n")
    assert available_memory(meminfo, tmp_path) == 1000
