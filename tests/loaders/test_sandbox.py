"""The sandbox with a reader that does what hostile files make parsers do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparc_search.errors import RejectedDocument
from sparc_search.loaders.limits import MEBIBYTE, ChildLimits
from sparc_search.loaders.resuming import Item
from sparc_search.loaders.sandbox import Sandbox
from sparc_search.records import Document

READER = '''
import os, signal, socket, sys, time
from sparc_search.errors import RejectedDocument
from sparc_search import reader as contract
from sparc_search.records import Document

class Reader(contract.Reader):
    """Does what it is told."""
    suffixes = (".told",)
    sandboxed = True

    def read(self, stream, source, options):
        for order in stream.read().decode().split():
            if order == "document":
                yield Document(source, "text", metadata=dict(options))
            elif order == "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            elif order == "hang":
                time.sleep(1000)
            elif order == "spin":
                while True: pass
            elif order == "eat":
                hoard = [bytes(1 << 20) for _ in range(100_000)]
            elif order == "shout":
                yield Document(source, "x" * (100 << 20))
            elif order == "fail":
                raise ValueError("odd")
            elif order == "exit":
                os._exit(7)
            elif order == "write":
                with open(os.path.join(os.environ["TMPDIR"], "written"), "w") as file:
                    file.write("x")
            elif order == "chatter":
                sys.stdout.write("noise"); sys.stderr.write("noise")
            elif order == "secrets":
                yield Document(source, " ".join(os.environ))

reader = Reader()
'''


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    info = tmp_path / "told_reader-1.0.dist-info"
    info.mkdir()
    (tmp_path / "told_reader.py").write_text(READER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: told-reader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sparc_search.readers]\ntold = told_reader:reader\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("MY_SECRET", "hidden")
    return tmp_path


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    sandbox = Sandbox(
        ChildLimits(memory_bytes=512 * MEBIBYTE, seconds=20, seconds_per_mebibyte=0, document_bytes=MEBIBYTE)
    )
    yield sandbox
    sandbox.close()


def read(sandbox: Sandbox, folder: Path, orders: str, **options: str) -> list[Item]:
    path = folder / "file.told"
    path.write_text(orders)
    with path.open("rb") as file:
        return list(sandbox.read("told", file, "file.told", options))


@pytest.mark.parametrize(
    ("orders", "reason"),
    [
        ("crash", "the parser was ended by SIGSEGV"),
        ("exit", "the parser ended with code 7"),
        ("eat", "more memory than is allowed"),
        ("shout", "a document of"),
        ("fail", "ValueError: odd"),
        ("write", "cannot be read: OSError"),
    ],
)
def test_one_bad_file_is_one_reject_and_the_next_is_read(
    sandbox: Sandbox, told: Path, orders: str, reason: str
) -> None:
    good, bad = read(sandbox, told, f"document {orders} document")
    assert good == Document("file.told", "text")
    assert isinstance(bad, RejectedDocument)
    assert reason in bad.message
    assert read(sandbox, told, "chatter document", key="value") == [
        Document("file.told", "text", metadata={"key": "value"})
    ]


@pytest.mark.parametrize("orders", ["hang", "spin"])
def test_a_parser_that_does_not_end_is_ended(told: Path, orders: str) -> None:
    sandbox = Sandbox(ChildLimits(seconds=5, seconds_per_mebibyte=0))
    (bad,) = read(sandbox, told, orders)
    assert isinstance(bad, RejectedDocument)
    assert "took longer than 5 seconds" in bad.message
    sandbox.close()


def test_one_child_serves_many_files(sandbox: Sandbox, told: Path) -> None:
    read(sandbox, told, "document")
    first = sandbox._child
    assert [len(read(sandbox, told, "document " * n)) for n in range(20)] == list(range(20))
    assert sandbox._child is first


def test_a_file_that_is_left_half_read_does_not_spoil_the_next(sandbox: Sandbox, told: Path) -> None:
    path = told / "long.told"
    path.write_text("document " * 1000)
    with path.open("rb") as file:
        stream = sandbox.read("told", file, "long.told", {})
        assert next(stream) == Document("long.told", "text")
        stream.close()  # type: ignore[attr-defined]
    assert read(sandbox, told, "document") == [Document("file.told", "text")]


def test_the_child_has_no_secrets_and_leaves_with_its_parent(sandbox: Sandbox, told: Path) -> None:
    (found,) = read(sandbox, told, "secrets")
    assert isinstance(found, Document)
    assert "MY_SECRET" not in found.text
    child = sandbox._child
    assert child
    sandbox.close()
    assert child._process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(child._process.pid, 0)


def test_patience_grows_with_the_file_up_to_a_limit() -> None:
    limits = ChildLimits()
    assert limits.patience(0) == 60
    assert limits.patience(10 * MEBIBYTE) == 160
    assert limits.patience(10_000 * MEBIBYTE) == 900
