"""Plugins are found by name, wherever they come from; broken ones harm nobody."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

import pytest
from distributions import install

from sparc_search import plugins
from sparc_search.encoder import Encoder
from sparc_search.errors import PluginError
from sparc_search.reader import Reader


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_table_of_built_ins_is_that_of_the_entry_points() -> None:
    config = configparser.ConfigParser()
    config.read(Path(__file__).resolve().parent.parent / "setup.cfg", encoding="utf-8")
    declared = config["options.entry_points"]
    for group in plugins.GROUPS:
        rows = declared[f"sparc_search.{group}"].strip().splitlines()
        assert dict(row.split(" = ") for row in rows) == plugins.BUILT_IN[group]


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_the_table_of_settings_is_what_the_built_ins_declare(group: plugins.Group) -> None:
    for name in plugins.BUILT_IN[group]:
        loaded: Any = plugins.load(group, name)  # type: ignore[call-overload]
        assert plugins.settings_of(group, name) == getattr(loaded, "settings", ())


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_every_built_in_loads_and_says_what_it_does(group: plugins.Group) -> None:
    built_in = [p for p in plugins.describe() if p.group == group and p.origin.startswith("sparc-search 0.")]
    assert built_in
    assert [p.problem for p in built_in if p.problem] == []
    assert all(p.summary for p in built_in)


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_built_ins_are_described_by_name(group: plugins.Group) -> None:
    described = [p.name for p in plugins.describe() if p.group == group and p.origin.startswith("sparc-search 0.")]
    assert described == sorted(plugins.BUILT_IN[group])


def test_the_toy_encoder_comes_in_by_the_same_door(toy_plugin: Path) -> None:
    assert "toy" in plugins.names("encoders")
    assert isinstance(plugins.load("encoders", "toy")("default", threads=0), Encoder)
    (described,) = [p for p in plugins.describe() if p.name == "toy"]
    assert described.origin == "sparc-search-toy-encoder 1.0"
    assert described.summary == "A toy encoder for tests; it needs no model files."


def test_built_in_readers_are_readers() -> None:
    assert isinstance(plugins.load("readers", "text"), Reader)


def test_an_unknown_name_is_answered_with_the_nearest_and_the_known_ones() -> None:
    with pytest.raises(PluginError) as caught:
        plugins.load("readers", "markdwon")
    assert caught.value.message == "no plugin 'markdwon' in readers"
    assert caught.value.remedy.startswith("did you mean 'markdown'? known are: ")
    assert "jsonl" in caught.value.remedy


def test_a_plugin_that_does_not_load_is_reported_and_harms_nobody(folder: Path) -> None:
    install(folder, "bad-reader", "raise RuntimeError('boom')", "[sparc_search.readers]\nbad = bad_reader:reader\n")
    with pytest.raises(PluginError, match=r"bad-reader 2\.0 does not load: RuntimeError: boom"):
        plugins.load("readers", "bad")
    (described,) = [p for p in plugins.describe() if p.name == "bad"]
    assert "boom" in described.problem
    assert plugins.load("readers", "text")


def test_a_plugin_that_is_something_else_is_reported(folder: Path) -> None:
    install(
        folder,
        "odd-things",
        "reader = 7\nencoder = 8\n",
        "[sparc_search.readers]\nodd = odd_things:reader\n[sparc_search.encoders]\nodd = odd_things:encoder\n",
    )
    with pytest.raises(PluginError, match=r"is not an instance of sparc_search\.reader\.Reader"):
        plugins.load("readers", "odd")
    with pytest.raises(PluginError, match="is not something to call"):
        plugins.load("encoders", "odd")


def test_a_stranger_cannot_take_the_name_of_a_built_in(folder: Path) -> None:
    module = (
        '"""Not text."""\nfrom sparc_search.reader import Reader\n'
        "class R(Reader):\n    suffixes = ()\n    def read(self, stream, source, options): ...\nreader = R()\n"
    )
    install(folder, "aaa-text", module, "[sparc_search.readers]\ntext = aaa_text:reader\n")
    assert type(plugins.load("readers", "text")).__module__.startswith("sparc_search.")
    (hidden,) = [p for p in plugins.describe() if p.origin == "aaa-text 2.0"]
    assert "hidden by the plugin of this name from sparc-search" in hidden.problem
