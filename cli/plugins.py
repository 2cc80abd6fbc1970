"""`sparc-search plugins`: what is installed, where it came from, and what does not load."""

from __future__ import annotations

import click

from sparc_search.plugins import describe

from .options import json_option
from .terminal import print_table, result_json, styled


@click.command()
@json_option
def plugins(as_json: bool) -> None:
    """List the plugins that are installed.

    Readers, encoders, stores and dense stores, each with the distribution it came with. A plugin that does not load
    is listed with the reason. How to write one: docs/plugins.md.
    """
    listed = describe()
    if as_json:
        result_json(listed)
        return
    rows = [
        (p.group, p.name, styled(p.origin, "dim"), styled(f"broken: {p.problem}", "red") if p.problem else p.summary)
        for p in listed
    ]
    print_table(("group", "name", "from", "what it does"), rows)
