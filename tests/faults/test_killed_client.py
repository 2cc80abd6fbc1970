"""An ingest that is killed, or asked to stop, in the middle, and then run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from engines import Engine

from sparc_search.encoder import Encoder

DOCUMENTS = 600
POISON = 280


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One file of documents, one of them no JSON."""
    rng = np.random.default_rng(3)
    vocabulary = [f"{head}{tail}" for head in ("sea", "lake", "North", "19") for tail in range(50)]
    lines = [json.dumps({"id": f"d{n}", "text": " ".join(rng.choice(vocabulary, 20))}) for n in range(DOCUMENTS)]
    lines[POISON] = "{"
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 130)])
def test_the_same_command_again_finishes_the_work(
    opensearch: Engine, toy_plugin: Path, toy_encoder: Encoder, corpus: Path, number: signal.Signals, code: int
) -> None:
    first = start(opensearch, toy_plugin, corpus)
    wait_until_half_way(opensearch, first)
    first.send_signal(number)
    first.communicate(timeout=300)
    assert first.returncode == code
    second = start(opensearch, toy_plugin, corpus)
    output, _ = second.communicate(timeout=500)
    summary = json.loads(output)
    assert second.returncode == 3
    assert summary["read"] == DOCUMENTS
    assert summary["indexed"] + summary["unchanged"] == DOCUMENTS - 1
    assert summary["rejected"] == 1
    rejects = [json.loads(line) for line in Path(summary["rejects_file"]).read_text().splitlines()]
    assert len(rejects) == 1
    with opensearch.open(writable=False) as store:
        assert [one.document.id for one in store.documents()] == sorted(
            f"d{n}" for n in range(DOCUMENTS) if n != POISON
        )
        assert not store.verify().problems


def start(engine: Engine, toy_plugin: Path, corpus: Path) -> subprocess.Popen[str]:
    own = {"PYTHONPATH": str(toy_plugin), "SPARC_SEARCH_ENCODER": "toy"}
    command = [sys.executable, "-m", "sparc_search.cli.main", "ingest", str(corpus), "--json"]
    environment = {**os.environ, **own, **engine.environment()}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until_half_way(engine: Engine, process: subprocess.Popen[str]) -> None:
    """Until the server has some of it; the ingest is still at work then."""
    deadline = time.monotonic() + 300
    while (
        engine.request("GET", f"/{engine.prefix}-*/_stats/indexing")["_all"]["total"]
        .get("indexing", {})
        .get("index_total", 0)
        < DOCUMENTS // 2
    ):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
