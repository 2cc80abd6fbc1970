"""`sparc-search config`: the settings, and where each came from."""

from __future__ import annotations

import click

from sparc_search.settings import Settings

from .options import json_option, settings_options
from .terminal import print_table, result_json, styled


@click.group()
def config() -> None:
    """Show the settings and where they come from."""


@config.command()
@settings_options()
@json_option
def show(settings: Settings, as_json: bool) -> None:
    """Print every setting with its value and its source; secrets are masked."""
    values = list(settings.values())
    if as_json:
        result_json({value.key: {"value": value.shown, "source": value.source} for value in values})
        return
    rows = [(styled(value.key), styled(value.shown), styled(value.source, "dim")) for value in values]
    print_table(("setting", "value", "source"), rows)
