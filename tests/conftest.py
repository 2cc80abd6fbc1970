"""What every test may use: the toy encoder as an installed plugin, a clean environment, and the command line."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparc_search import plugins
from sparc_search.encoder import Encoder

HERE = Path(__file__).parent

# tests/helpers/servers.py: real search servers, started when a test asks for one; engines.py: stores on them
pytest_plugins = ["servers", "engines"]


@pytest.fixture(scope="session")
def toy_plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that holds the toy encoder as a distribution of its own, on `sys.path` for the session."""
    folder = tmp_path_factory.mktemp("toy-plugin")
    shutil.copy(HERE / "toy_encoder.py", folder / "sparc_search_toy_encoder.py")
    info = folder / "sparc_search_toy_encoder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sparc-search-toy-encoder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sparc_search.encoders]\ntoy = sparc_search_toy_encoder:open_encoder\n")
    sys.path.append(str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture
def toy_encoder(toy_plugin: Path) -> Encoder:
    """The toy encoder (see tests/toy_encoder.py), through the same door as any other."""
    encoder = plugins.load("encoders", "toy")()
    assert isinstance(encoder, Encoder)
    return encoder


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting, colour or user configuration of the machine reaches a test."""
    for name in [name for name in os.environ if name.startswith("SPARC_SEARCH_")]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))


RunCli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_cli(toy_plugin: Path, tmp_path: Path) -> RunCli:
    """Run `sparc-search` in a fresh interpreter: `run_cli("ask", "…", input="", cwd=…, env={…})`."""

    def run(
        *arguments: str | Path, input: str = "", cwd: Path = tmp_path, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(toy_plugin), **(env or {})}
        command = [sys.executable, "-m", "sparc_search.cli.main", *map(str, arguments)]
        return subprocess.run(
            command, input=input, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300, check=False
        )

    return run


def pytest_configure() -> None:
    """A shell starts background jobs deaf to Ctrl-C, and their children inherit it; the tests of Ctrl-C must not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


# What was left out, and why, stands at the end of every run. With REQUIRE_ALL=1 leaving anything out is a failure.


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = _skip_reasons(terminalreporter)
    if reasons:
        terminalreporter.section("not run, and what it needs")
        for reason in reasons:
            terminalreporter.write_line(f"- {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    if os.environ.get("REQUIRE_ALL") == "1" and exitstatus == pytest.ExitCode.OK and _skip_reasons(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _skip_reasons(reporter: pytest.TerminalReporter) -> list[str]:
    """Each reason once. An expected failure counts too: it is a test that does not pass."""
    skipped = [report.longrepr for report in reporter.stats.get("skipped", [])]
    texts = [longrepr[2] if isinstance(longrepr, tuple) else str(longrepr) for longrepr in skipped]
    texts += [f"expected to fail: {report.nodeid}" for report in reporter.stats.get("xfailed", [])]
    return sorted({text.removeprefix("Skipped: ") for text in texts})
