"""What every test may use: the toy encoder as an installed plugin, a clean environment, and the command line."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from sparc_search import plugins
from sparc_search.encoder import Encoder

HERE = Path(__file__).parent

# of tests/helpers: what is run, and what must be; real search servers; stores on them; `sparc-search` itself
pytest_plugins = ["groups", "require_all", "servers", "engines", "command_line"]

# CI says the same of the same commit whenever it is asked; what is new is found where somebody is there to mend it.
settings.register_profile("unhurried", deadline=None, derandomize=os.environ.get("REQUIRE_ALL") == "1")
settings.load_profile("unhurried")  # `--hypothesis-profile` names another


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


def pytest_configure() -> None:
    """A shell starts background jobs deaf to Ctrl-C, and their children inherit it; the tests of Ctrl-C must not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
