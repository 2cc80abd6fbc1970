"""Logs go to stderr, as text or JSON, and carry nothing that drives a terminal."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from sparc_search.cli import logs

log = logging.getLogger("sparc_search.test")


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before, level


def fail() -> None:
    try:
        raise ValueError("odd\x1b")
    except ValueError:
        log.exception("it failed")


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text")
    log.debug("not seen")
    log.info("read %s", "a\x1b[2J\nb")
    assert capsys.readouterr().err[8:] == " INFO sparc_search.test: read a␛[2J␊b\n"


def test_text_of_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text")
    fail()
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: odd␛"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("warning", "json")
    log.info("not seen")
    log.warning("slow\n\x9b")
    fail()
    captured = capsys.readouterr()
    first, second = map(json.loads, captured.err.splitlines())
    assert captured.out == ""
    assert captured.err.isascii()
    assert (first["level"], first["logger"], first["message"]) == ("warning", "sparc_search.test", "slow\n\x9b")
    assert first["time"].endswith("Z")
    assert second["traceback"][-1] == "ValueError: odd\x1b"


def test_clients_that_log_whole_requests_are_kept_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("debug", "text")
    logging.getLogger("opensearch").info("GET http://user:secret@host/")
    logging.getLogger("urllib3.connectionpool").debug("body")
    assert capsys.readouterr().err == ""
