"""`sparc-search serve`: what it refuses before it listens."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sparc_search.cli.further_index import named
from sparc_search.errors import UsageError
from sparc_search.web import serving

from .conftest import ServeProcess

RunCli = Callable[..., subprocess.CompletedProcess[str]]

GOOD = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (None, "there is no token"),
        ("", "is empty"),
        ("short", "too short"),
        ("a token with spaces in it", "odd characters"),
        ("schlüssel-schlüssel-schlüssel", "odd characters"),
    ],
)
def test_other_machines_only_with_a_good_token(run_cli: RunCli, tmp_path: Path, token: str | None, said: str) -> None:
    options = []
    if token is not None:
        (tmp_path / "token").write_text(token, encoding="utf-8")
        options = ["--token-file", tmp_path / "token"]
    done = run_cli("serve", "--encoder", "toy", "--host", "0.0.0.0", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert GOOD not in done.stderr


def test_the_token_may_come_from_the_environment_and_is_never_a_flag(run_cli: RunCli) -> None:
    done = run_cli("serve", "--encoder", "toy", "--host", "0.0.0.0", env={"SPARC_SEARCH_TOKEN": GOOD})
    assert "no index" in done.stderr.lower() or "there is no" in done.stderr.lower()  # past the check, to the index
    assert "token" not in done.stderr.lower()
    assert run_cli("serve", "--token", GOOD).returncode == 2
    assert GOOD not in run_cli("config", "show", env={"SPARC_SEARCH_TOKEN": GOOD}).stdout


def test_a_token_file_that_is_not_there(run_cli: RunCli) -> None:
    done = run_cli("serve", "--encoder", "toy", "--token-file", "nowhere")
    assert (done.returncode, "cannot read the token file" in done.stderr) == (2, True)


def test_an_address_that_is_taken_or_does_not_exist_is_named() -> None:
    with serving.bound("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert serving.address_of(taken) == f"http://127.0.0.1:{port}/"
        with pytest.raises(UsageError, match=f"port {port}"):
            serving.bound("127.0.0.1", port)
    with pytest.raises(UsageError, match="no address"):
        serving.bound("no-such-host.invalid", 0)
    with pytest.raises(UsageError, match="port 70000"):
        serving.bound("127.0.0.1", 70_000)


def test_version_six_too() -> None:
    if not socket.has_ipv6:
        return
    with serving.bound("::1", 0) as listening:
        assert serving.address_of(listening).startswith("http://[::1]:")


def test_a_second_index_may_have_a_name_and_a_model(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    assert named(f"{tmp_path}/old index") == ("old-index", tmp_path / "old index", "")
    assert named(f"before={tmp_path}/old@{tmp_path}/model") == ("before", tmp_path / "old", f"{tmp_path}/model")
    assert named(f"{tmp_path}/me@home") == ("me-home", tmp_path / "me@home", "")


def test_a_second_index_that_is_not_there_is_named_before_it_listens(serve_process: ServeProcess) -> None:
    with pytest.raises(AssertionError, match="no index"), serve_process("--also", "nowhere"):
        pass
