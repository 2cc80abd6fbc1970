"""Settings that a plugin declares: one of another distribution, installed by pip, has what the built-in ones have."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from distributions import install

from sparc_search import plugins
from sparc_search.errors import ConfigError, PluginError
from sparc_search.settings import all_declared, load

RunCli = Callable[..., subprocess.CompletedProcess[str]]

PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "sparc-search-remote"
version = "1.0"

[project.entry-points."sparc_search.encoders"]
remote = "sparc_search_remote:open_encoder"

[tool.setuptools]
py-modules = ["sparc_search_remote"]
"""
MODULE = '''
"""An encoder on another machine, as far as its settings."""

from sparc_search.errors import EngineError
from sparc_search.setting import Setting


class Opener:
    """Encodes on a server."""

    settings = (
        Setting("remote_url", "http://127.0.0.1:7000", "Address of the encoder."),
        Setting("remote_key", "", "Key of the encoder.", secret=True),
        Setting("remote_batch", 8, "Texts sent at once.", least=1, harmless=True),
    )

    def __call__(self, model="default", *, threads=0, values):
        raise EngineError(f"nobody at {values['remote_url']}, {values['remote_batch']} at once")


open_encoder = Opener()
'''
DECLARES = """
from sparc_search.engine import Engine
from sparc_search.setting import Setting
class Declaring(Engine):
    settings = ({setting},)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip put it."""
    source, target = tmp_path_factory.mktemp("remote"), tmp_path_factory.mktemp("installed")
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "sparc_search_remote.py").write_text(MODULE)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
    return target


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def declare(folder: Path, name: str, setting: str) -> None:
    """A distribution with a store that declares one setting."""
    entries = f"[sparc_search.stores]\n{name} = {name}_store:Declaring\n"
    install(folder, f"{name}-store", DECLARES.format(setting=setting), entries)


def test_it_is_known_shown_masked_and_brought_to_the_plugin(
    run_program: RunCli, installed: Path, tmp_path: Path
) -> None:
    environ = {
        "PYTHONPATH": str(installed),
        "SPARC_SEARCH_REMOTE_URL": "https://enc.example",
        "SPARC_SEARCH_REMOTE_KEY": "s3cret",
    }
    (tmp_path / "sparc-search.toml").write_text("remote_batch = 3\n")
    done = run_program("config", "show", "--json", env=environ)
    shown = json.loads(done.stdout)
    assert shown["remote_url"] == {
        "value": "https://enc.example",
        "source": "environment SPARC_SEARCH_REMOTE_URL",
    }
    assert shown["remote_key"]["value"] == "********"
    assert shown["remote_batch"] == {"value": 3, "source": "file sparc-search.toml"}
    done = run_program("ask", "Who?", "--encoder", "remote", env=environ)
    assert done.stderr == "Error: nobody at https://enc.example, 3 at once\n"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("REMOTE_BATCH", "many", "it must be a whole number"),
        ("REMOTE_BATCH", "0", "it must be 1 or more"),
        ("REMOTE_URI", "x", "did you mean SPARC_SEARCH_REMOTE_URL?"),
    ],
)
def test_a_mistake_is_told(run_program: RunCli, installed: Path, variable: str, value: str, said: str) -> None:
    done = run_program("config", "show", env={"PYTHONPATH": str(installed), f"SPARC_SEARCH_{variable}": value})
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_without_the_distribution_it_is_unknown(run_program: RunCli) -> None:
    done = run_program("config", "show", env={"SPARC_SEARCH_REMOTE_URL": "x"})
    assert done.returncode == 2
    assert "unknown setting SPARC_SEARCH_REMOTE_URL" in done.stderr


def test_a_strangers_folder_may_set_only_what_is_declared_harmless(
    run_program: RunCli, installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "sparc-search.toml").write_text("remote_batch = 3\nremote_url = 'https://stranger.example'\n")
    done = run_program("ask", "Who?", "--encoder", "remote", env={"PYTHONPATH": str(installed)})
    assert done.returncode == 2
    assert "and sets: remote_url\n" in done.stderr


def test_two_that_declare_one_name_differently_are_both_named(folder: Path) -> None:
    declare(folder, "aa", "Setting('reach', 3, 'How far.')")
    declare(folder, "bb", "Setting('reach', 'far', 'How far.')")
    with pytest.raises(ConfigError, match=r"stores aa of aa-store and stores bb of bb-store both declare .* reach"):
        all_declared()
    with pytest.raises(ConfigError, match="both declare"):
        load(environ={"SPARC_SEARCH_REACH": "4"}, folder=folder, user_folder=folder)
    assert load(environ={}, folder=folder, user_folder=folder).of_plugin("stores", "aa") == {"reach": 3}


def test_two_that_mean_the_same_share_it(folder: Path) -> None:
    declare(folder, "cc", "Setting('reach', 3, 'How far.')")
    declare(folder, "dd", "Setting('reach', 3, 'The distance.')")
    assert load(environ={"SPARC_SEARCH_REACH": "4"}, folder=folder, user_folder=folder).plugin_values == {"reach": 4}


@pytest.mark.parametrize("setting", ["Setting('top_k', 'x', 'Mine.')", "Setting('url', 7, 'Mine.')"])
def test_what_is_built_in_cannot_be_declared_differently(folder: Path, setting: str) -> None:
    declare(folder, "ee", setting)
    with pytest.raises(ConfigError, match="stores ee both declare"):
        load(environ={}, folder=folder, user_folder=folder).of_plugin("stores", "ee")


@pytest.mark.parametrize("wrong", ["'url'", "Setting('Url', '', 'Mine.')"])
def test_a_plugin_with_wrong_declarations_harms_nobody_else(folder: Path, wrong: str) -> None:
    declare(folder, "ff", wrong)
    with pytest.raises((PluginError, ConfigError)):
        plugins.settings_of("stores", "ff")
    assert "url" in all_declared()
