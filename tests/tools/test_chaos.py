"""Campaigns: a small part of each, on the real thing; and the oracle notices what it should."""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sparc_search.settings import Settings
from tools.chaos import cluster, ledger, shim
from tools.chaos.__main__ import CAMPAIGNS, MARK, main, with_line
from tools.chaos.disk import Change, Disk
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
@pytest.mark.parametrize(("campaign", "rounds"), [("local", 12), ("power", 30)])
def test_a_small_part_of_the_campaigns_on_a_folder(
    toy_plugin: Path, tmp_path: Path, campaign: str, rounds: int
) -> None:
    try:
        shim.build(tmp_path)
    except shim.NoCompiler as error:
        pytest.skip(str(error))
    environment = {**os.environ, "PYTHONPATH": str(toy_plugin), "SPARC_SEARCH_ENCODER": "toy"}
    command = [sys.executable, "-m", "tools.chaos", campaign, "--rounds", str(rounds), "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{rounds} rounds" in done.stdout
    assert "0 contradictions" in done.stdout


def test_a_small_part_of_the_cluster_campaign(
    opensearch_url: str, toy_plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    tally = Tally("cluster")
    cluster.campaign(tally, tmp_path, [opensearch_url], None, 5, 7)
    assert tally.contradictions == []
    assert tally.rounds == 5


def test_what_was_not_synced_may_be_lost(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    root = str(tmp_path.resolve())
    for change in (
        Change("D", f"{root}/a", "", 0, b""),
        Change("C", f"{root}/a/kept", "", 0, b""),
        Change("W", f"{root}/a/kept", "", 0, b"one"),
        Change("S", f"{root}/a/kept", "", 0, b""),
        Change("S", f"{root}/a", "", 0, b""),
        Change("S", root, "", 0, b""),
        Change("W", f"{root}/a/kept", "", 3, b" two"),
        Change("C", f"{root}/a/new", "", 0, b""),
        Change("R", f"{root}/a/kept", f"{root}/a/moved", 0, b""),
    ):
        disk.apply(change)
    for keep, expected in ((1.0, {"moved": b"one two", "new": b""}), (0.0, {"kept": b"one"})):
        target = tmp_path / str(keep)
        disk.after_power_cut(target, random.Random(1), keep)
        assert {path.name: path.read_bytes() for path in (target / "a").iterdir()} == expected
    seen = set()
    for seed in range(40):
        disk.after_power_cut(tmp_path / f"some-{seed}", random.Random(seed), 0.5)
        seen.add(tuple(sorted(path.read_bytes() for path in (tmp_path / f"some-{seed}" / "a").iterdir())))
    assert seen == {(b"one",), (b"one two",), (b"", b"one"), (b"", b"one two")}


def test_the_oracle_sees_what_is_missing_and_what_is_too_much(
    toy_plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARC_SEARCH_ENCODER", "toy")
    oracle, settings = ledger.Oracle(), Settings(index=tmp_path / "index")
    writer = ledger.Doing(settings, oracle.encoder.fingerprint)
    model = {"doc-1": "The Eiger was first climbed in 1858 by Ada King."}
    writer.apply("add", oracle.encoded(list(model.items())))
    writer.close()
    assert oracle.complaint(settings, [{}, model], nothing_yet=False) == ("", model)
    for other in ({}, {**model, "doc-2": "More."}, {"doc-1": "Another text."}):
        assert "holds" in oracle.complaint(settings, [other], nothing_yet=False)[0]
    assert "IndexNotFound" in oracle.complaint(Settings(index=tmp_path / "none"), [model], nothing_yet=False)[0]


def test_a_run_becomes_a_line_of_the_page() -> None:
    chosen = argparse.Namespace(campaign="power", rounds=1000, seed=3)
    tally = Tally("power", "crash states", rounds=900)
    tally.add("add", "whole")
    page = with_line(f"| x |\n{MARK}rest", chosen, tally)
    assert re.search(r"\| \d{4}-\d\d-\d\d \| `power` \| 3 \| 900 of 1,000 \| 1 crash states \| 0 \| \|\n<!--", page)
    assert page.endswith("rest")
    assert MARK in (ROOT / "docs" / "reliability.md").read_text()


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
        assert campaign.wait(120) == 0  # nothing contradicted what was promised until then
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
