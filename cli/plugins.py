"""`sparc-search plugins`: what is installed, where it came from, and what does not load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparc_search.plugins import Plugin, describe

from .options import json_option
from .terminal import print_table, result_json, styled

if TYPE_CHECKING:
    from rich.text import Text


@click.command()
@json_option
def plugins(as_json: bool) -> None:
    """List the plugins that are installed.

    Readers, encoders, stores and dense stores, each with the distribution it came with. A plugin that does not load
    is listed with the reason. How to write one: docs/plugins.md.
    """
    found = describe()
    if as_json:
        result_json(found)
        return
    rows = [(styled(p.group), styled(p.name), styled(p.origin, "dim"), _what(p)) for p in found]
    print_table(("group", "name", "from", "what it does"), rows)


def _what(plugin: Plugin) -> Text:
    return styled(f"broken: {plugin.problem}", "red") if plugin.problem else styled(plugin.summary)
