"""Partitions of a campaign: two nodes lose all packets between them; the oracle knows what is found all the same."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.chaos import cluster, ledger, namespaces
from tools.chaos.ledger import Operation
from tools.chaos.tally import Tally

PORT = 7000


@pytest.fixture
def network() -> Iterator[namespaces.Namespaces]:
    try:
        with namespaces.namespaces(3) as made:
            yield made
    except namespaces.NotAllowed as reason:
        pytest.skip(f"needs network namespaces: {reason}")


def listen(network: namespaces.Namespaces, number: int) -> None:
    """A node that accepts whoever connects."""
    with network.inside(number):
        opened = socket.create_server((network.address(number), PORT))

    def accept() -> None:
        while True:
            opened.accept()[0].close()

    threading.Thread(target=accept, daemon=True).start()


def reaches(network: namespaces.Namespaces, number: int) -> bool:
    try:
        socket.create_connection((network.address(number), PORT), timeout=0.5).close()
    except OSError:
        return False
    return True


def heard(network: namespaces.Namespaces, number: int) -> list[bool]:
    """Whom a node reaches."""
    with network.inside(number):
        return [reaches(network, other) for other in range(3)]


def test_two_that_are_parted_do_not_hear_each_other(network: namespaces.Namespaces) -> None:
    for number in range(3):
        listen(network, number)
    assert heard(network, 0) == heard(network, 1) == [True, True, True]
    with network.parted(0, 1):
        assert heard(network, 0) == [True, False, True]
        assert heard(network, 1) == [False, True, True]
        assert [reaches(network, number) for number in range(3)] == [True, True, True]
    assert heard(network, 0) == heard(network, 1) == [True, True, True]


def test_the_machines_own_network_is_left_as_it_was() -> None:
    before = Path("/proc/thread-self/ns/net").readlink()
    try:
        with namespaces.namespaces(1):
            assert Path("/proc/thread-self/ns/net").readlink() != before
    except namespaces.NotAllowed as reason:
        pytest.skip(f"needs network namespaces: {reason}")
    assert Path("/proc/thread-self/ns/net").readlink() == before


def test_where_namespaces_are_not_allowed_the_campaign_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def forbidden(_: int, what: str) -> None:
        if what == "unshare":
            raise PermissionError("not you")

    monkeypatch.setattr(namespaces, "_check", forbidden)
    tally = Tally("cluster")
    with cluster.ExitStack() as stack:
        made = cluster._cluster(tally, tmp_path, stack)
    assert not isinstance(made, cluster.Separated)
    assert tally.notes == ["no partitions between nodes: network namespaces are not allowed here (not you)"]
    assert tally.notes[0] in tally.text()


def test_the_oracle_knows_what_must_be_found_meanwhile(toy_plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    oracle = ledger.Oracle("sparse")
    one, two = "The Eiger was first climbed in 1801 by Ada King.", "The Suez Canal was opened in 1838 by Ada King."
    before = {"doc-1": one, "doc-2": two}
    wanted = [Operation("add", (("doc-2", one),))]
    models = [before, {**before, "doc-2": one}]
    everything = frozenset((number, "doc-1", one) for number in range(len(ledger.QUESTIONS)))
    complaint = oracle.complaint_meanwhile
    assert complaint(everything, wanted, models, lacks=False) == ""
    assert complaint(everything | {(0, "doc-2", two), (1, "doc-2", one)}, wanted, models, lacks=False) == ""
    assert "nobody said so" in complaint(frozenset(), wanted, models, lacks=False)
    assert complaint(frozenset(), wanted, models, lacks=True) == ""
    assert "was not there" in complaint(everything | {(0, "doc-3", one)}, wanted, models, lacks=True)
