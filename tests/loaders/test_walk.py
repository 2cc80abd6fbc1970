from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sparc_search.errors import ReaderError
from sparc_search.loaders.patterns import Filters
from sparc_search.loaders.walk import Found, Passed, Root, again, roots, walk


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus"
    for name in ("b.md", "a.txt", "deep/er/c.md", "deep/d.md", ".hidden/x.md", ".secret.md"):
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_text("x")
    return corpus


def found(*paths: Path | str, **filters: list[str]) -> list[Found]:
    return [e for e in walk(roots([str(path) for path in paths]), Filters(**filters)) if isinstance(e, Found)]


def passed(*paths: Path | str, **filters: list[str]) -> dict[str, Passed]:
    entries = walk(roots([str(path) for path in paths]), Filters(**filters))
    return {Path(e.source).name: e for e in entries if isinstance(e, Passed)}


def test_a_folder_in_a_fixed_order_with_names_from_its_own_name_on(corpus: Path) -> None:
    names = [entry.name for entry in found(corpus)]
    assert names == ["corpus/a.txt", "corpus/b.md", "corpus/deep/d.md", "corpus/deep/er/c.md"]
    assert found(f"{corpus}/") == found(corpus)
    assert all(entry.source == str(corpus.parent / entry.name) and entry.size == 1 for entry in found(corpus))


def test_the_working_directory_has_its_name_too(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus)
    assert found(".") == found(corpus)
    assert [entry.name for entry in found("deep")] == ["deep/d.md", "deep/er/c.md"]


def test_a_file_is_known_by_its_name(corpus: Path) -> None:
    (entry,) = found(corpus / "deep" / "d.md")
    assert entry.name == "d.md"


def test_globs(corpus: Path) -> None:
    assert [entry.name for entry in found(f"{corpus}/*.md")] == ["corpus/b.md"]
    names = [entry.name for entry in found(f"{corpus}/**/*.md")]
    assert names == ["corpus/b.md", "corpus/deep/d.md", "corpus/deep/er/c.md"]
    assert [entry.name for entry in found(f"{corpus}/de*/*.md")] == ["corpus/deep/d.md"]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("x")
    assert [entry.name for entry in found(tmp_path / "a[1].txt")] == ["a[1].txt"]


def test_include_and_exclude(corpus: Path) -> None:
    assert [entry.name for entry in found(corpus, include=["*.md"], exclude=["deep/er"])] == [
        "corpus/b.md",
        "corpus/deep/d.md",
    ]
    reasons = {name: entry.reason for name, entry in passed(corpus, include=["*.md"], exclude=["deep/er"]).items()}
    assert reasons == {
        ".hidden": "hidden",
        ".secret.md": "hidden",
        "a.txt": "not named by --include *.md",
        "er": "left out by --exclude deep/er",
    }


def test_standard_input() -> None:
    assert [(entry.name, entry.root.kind) for entry in found("-")] == [("stdin", "stdin")]


@pytest.mark.parametrize(
    ("path", "message"), [("nowhere", "there is no file or folder nowhere"), ("*.nothing", "no file fits")]
)
def test_what_is_not_there_is_said_before_anything_is_read(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(ReaderError, match=message):
        roots([path])
    with pytest.raises(ReaderError, match="nothing to read"):
        roots([])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty" / "deeper").mkdir(parents=True)
    with pytest.raises(ReaderError, match="is empty"):
        roots([str(tmp_path / "empty")])


def test_what_is_no_plain_file_is_one_reject_each(corpus: Path, tmp_path: Path) -> None:
    os.mkfifo(corpus / "fifo.md")
    (tmp_path / "outside.md").write_text("x")
    (corpus / "out.md").symlink_to(tmp_path / "outside.md")
    (corpus / "out-folder").symlink_to(tmp_path)
    (corpus / "in.md").symlink_to(corpus / "b.md")
    (corpus / "loop").symlink_to(corpus)
    (corpus / "broken.md").symlink_to("nowhere")
    (corpus / "null.md").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(corpus)  # paths of sockets are short
        listener.bind("socket.md")
        os.chdir(here)
        entries = passed(corpus)
    kinds = {name: entry.kind for name, entry in entries.items() if entry.reason != "hidden"}
    assert kinds == {
        "fifo.md": "rejected",
        "socket.md": "rejected",
        "out.md": "rejected",
        "out-folder": "rejected",
        "null.md": "rejected",
        "broken.md": "rejected",
        "in.md": "skipped",
        "loop": "skipped",
    }
    assert all(entry.remedy for entry in entries.values() if entry.kind == "rejected")
    assert len(found(corpus)) == 4


def test_a_device_named_directly_is_one_reject() -> None:
    (entry,) = walk(roots(["/dev/null"]), Filters())
    assert isinstance(entry, Passed)
    assert "a device" in entry.reason


def test_a_folder_without_rights_is_one_reject(corpus: Path) -> None:
    """In a process that is not root, which may look everywhere."""
    (corpus / "deep").chmod(0)
    corpus.chmod(0o755)
    for parent in corpus.parents[:3]:
        parent.chmod(0o755)
    script = (
        "import os, sys\n"
        "from sparc_search.loaders.walk import *\n"
        "from sparc_search.loaders.patterns import Filters\n"
        "os.setuid(65534) if os.getuid() == 0 else None\n"
        "for e in walk(roots([sys.argv[1]]), Filters()):\n"
        "    sys.stdout.write(getattr(e, 'reason', 'found') + ' ' + e.source + '\\n')\n"
    )
    try:
        done = subprocess.run([sys.executable, "-c", script, corpus], capture_output=True, text=True, check=True)
    finally:
        (corpus / "deep").chmod(0o755)
    assert f"cannot look into the folder: Permission denied {corpus / 'deep'}\n" in done.stdout
    assert f"found {corpus / 'a.txt'}\n" in done.stdout


def test_a_name_that_is_not_utf_8_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"z\xfcrich.txt")).write_text("x")
    (entry,) = found(tmp_path)
    assert entry.name == f"{tmp_path.name}/z\\xfcrich.txt"
    assert Path(entry.path).read_text() == "x"


@pytest.mark.parametrize(
    ("root", "source", "wanted"),
    [
        (Root("folder", "/a/b"), "/a/b/c/d.md", True),
        (Root("folder", "/a/b"), "/a/bc/d.md", False),
        (Root("folder", "/"), "/a", True),
        (Root("file", "/a/b"), "/a/b", True),
        (Root("file", "/a/b"), "/a/b/c", False),
        (Root("glob", "/a/*.md"), "/a/b.md", True),
        (Root("glob", "/a/*.md"), "/a/b/c.md", False),
        (Root("glob", "/a/**/*.md"), "/a/b/c.md", True),
        (Root("stdin", "-"), "-", True),
    ],
)
def test_what_a_root_covers(root: Root, source: str, wanted: bool) -> None:
    assert root.covers(source) is wanted
    assert not wanted or source.startswith(root.prefix)


def test_looking_again_finds_the_same(corpus: Path) -> None:
    for path in (str(corpus), str(corpus / "b.md"), f"{corpus}/**/*.md"):
        for entry in found(path):
            assert list(again(entry.root, entry.source)) == [entry]
    (root,) = roots([str(corpus)])
    below = [e.name for e in again(root, str(corpus / "deep")) if isinstance(e, Found)]
    assert below == ["corpus/deep/d.md", "corpus/deep/er/c.md"]
    (gone,) = again(root, str(corpus / "gone.md"))
    assert isinstance(gone, Passed)
    assert gone.reason == "no longer there"
