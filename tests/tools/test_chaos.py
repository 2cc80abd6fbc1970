"""Campaigns: a small part of each, on the real thing; and the oracle notices what it should."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.chaos.__main__ import CAMPAIGNS, main
from tools.chaos.http import KINDS
from tools.chaos.tally import Tally
from tools.chaos.wire import answers

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_small_part_of_the_http_campaign(toy_plugin: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(toy_plugin), "SPARC_SEARCH_ENCODER": "toy"}
    command = [sys.executable, "-m", "tools.chaos", "http", "--rounds", "12", "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 rounds, 240 requests" in done.stdout
    assert "0 contradictions" in done.stdout
    assert all(f"| {kind} |" in done.stdout for kind in KINDS)


@pytest.mark.slow
def test_a_campaign_that_is_ended_leaves_no_server_behind(toy_plugin: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(toy_plugin), "SPARC_SEARCH_ENCODER": "toy"}
    command = [sys.executable, "-m", "tools.chaos", "http", "--rounds", "1000"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as campaign:
        deadline = time.monotonic() + 300
        while not (servers := children(campaign.pid, b"serve")) and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        campaign.terminate()
        assert campaign.wait(120) == 143
    assert servers
    assert not [pid for pid in servers if Path(f"/proc/{pid}").exists()]


def children(parent: int, word: bytes) -> list[int]:
    """Processes that a process has started, with this word in their command line."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in listed if word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]


def test_every_campaign_is_there_and_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    for name in CAMPAIGNS:
        assert (ROOT / "tools" / "chaos" / f"{name}.py").is_file()
        with pytest.raises(SystemExit):
            main([name, "--rounds", "1000000"])
    assert "at most" not in capsys.readouterr().out


def test_answers_are_read_one_after_the_other_and_never_in_part() -> None:
    one = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    two = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nno"
    assert [(answer.status, answer.body) for answer in answers(one + two)] == [(200, b"ab"), (400, b"no")]
    assert [answer.status for answer in answers(one + one[:-1])] == [200]


def test_a_contradiction_is_told() -> None:
    tally = Tally("x", rounds=2)
    tally.add("ask", "200")
    tally.contradict("wrong")
    assert "2 rounds, 1 requests" in tally.text()
    assert tally.text().endswith("1 contradictions\nwrong\n")
