"""Resident memory must not grow with the corpus: measured in fresh processes, with an encoder that costs nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import re, resource, statistics, sys
from sparc_search.loaders.pipeline import ingest
from sparc_search.loaders.plan import Plan
from sparc_search.loaders.walk import roots
from sparc_search.records import EncodedPassage

from sparc_search.encoder import Encoder
from sparc_search.engine import Engine, View, Writer
from contextlib import nullcontext

class Words(Encoder):
    fingerprint, window = "none", 64
    def token_offsets(self, text): return [m.span() for m in re.finditer(r"\\S+", text)]
    def encode_passages(self, passages): return [EncodedPassage(p, bytes(4_000), {}) for p in passages]
    def encode_questions(self, questions): return []

class Nowhere(Engine):
    def open(cls, place, encoder, writable): ...
    def view(self): return nullcontext(Empty())
    def writer(self): return Forgetful()

class Empty(View):
    def content_hashes(self, ids): return {}
    sparse_search = fetch = statistics = content_hashes

class Forgetful(Writer):
    def add(self, documents): return []
    def delete(self, ids): return 0

resident = []
for event in ingest(Plan(roots(sys.argv[1:])), Words(), Nowhere()):
    summary = event
    resident.append(int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() // 1024)
typical = statistics.median(resident[len(resident) // 2 :])  # the peak depends on which thread runs when
sys.stdout.write(f"{summary.passages} {int(typical)}")
"""


def measured(path: Path, count: int) -> tuple[int, int]:
    """Passages, and the kilobytes that were typically resident in the second half of the run."""
    with path.open("w") as file:
        for number in range(count):
            file.write(json.dumps({"id": f"document-{number}", "text": f"Words of number {number}, " * 20}) + "\n")
    done = subprocess.run([sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, check=True)
    passages, kilobytes = map(int, done.stdout.split())
    return passages, kilobytes


@pytest.mark.slow
def test_ten_times_the_documents_take_the_same_memory(tmp_path: Path) -> None:
    few, small = measured(tmp_path / "few.jsonl", 4_000)  # the queues hold some 2,700: 20 MB, if they are full
    many, large = measured(tmp_path / "many.jsonl", 40_000)
    assert many == 10 * few
    assert large < small + 30_000  # kilobytes; the encoded passages alone come to 320 MB
