"""Options of settings: help from one place, and a flag that is not given decides nothing."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sparc_search.cli.options import Group, json_option, settings_options
from sparc_search.settings import Settings


@click.command()
@click.argument("question")
@settings_options("index", "top_k", "strategy", "threads")
@json_option
def probe(settings: Settings, question: str, as_json: bool) -> None:
    """A probe."""
    values = (settings.index, settings.top_k, settings.strategy, settings.sources.get("top_k"))
    click.echo(repr((question, as_json, values)))


def call(*arguments: str) -> tuple[object, ...]:
    result = CliRunner().invoke(probe, arguments, catch_exceptions=False)
    return eval(result.output, {"PosixPath": Path, "WindowsPath": Path})  # type: ignore[no-any-return]


def test_flags_become_settings() -> None:
    assert call("q", "--index", "i", "--top-k", "2", "--strategy", "dense", "--json") == (
        ("q", True, (Path("i"), 2, "dense", "flag --top-k"))
    )


def test_flags_that_are_not_given_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARC_SEARCH_TOP_K", "7")
    assert call("q")[2] == (Path(".sparc-search/index"), 7, "hybrid", "environment SPARC_SEARCH_TOP_K")


def test_help_comes_from_the_settings() -> None:
    shown = " ".join(CliRunner().invoke(probe, ["--help"]).output.split())
    assert "--top-k INTEGER Answers to return. [default: 5]" in shown
    assert "--strategy [hybrid|sparse|dense]" in shown
    assert "[default: automatic]" in shown
    assert shown.index("--index") < shown.index("--top-k")


def test_a_choice_is_checked() -> None:
    result = CliRunner().invoke(probe, ["q", "--strategy", "both"])
    assert result.exit_code == 2


def test_an_empty_default_is_not_shown() -> None:
    @click.command()
    @settings_options("token_file")
    def serve(settings: Settings) -> None: ...

    assert "[default" not in CliRunner().invoke(serve, ["--help"]).output


def test_a_group_lists_whole_sentences_and_nothing_hidden() -> None:
    sentence = "Show an answer beside the runner-up, part by part, with all that made the difference between the two."
    group = Group(
        "probe",
        commands={
            "why": click.Command("why", help=f"{sentence} A second sentence."),
            "old": click.Command("old", help="Gone.", hidden=True),
        },
    )
    shown = " ".join(CliRunner().invoke(group, ["--help"]).output.split())
    assert f"why {sentence.rstrip('.')}" in shown
    assert "Gone" not in shown
