"""Options that several commands share, and the settings they become.

@click.command()
@click.argument("question")
@settings_options("index", "top_k")
@json_option
def ask(settings: Settings, question: str, as_json: bool) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Any

import click

from sparc_search.settings import SPECS, Settings, flag_name, load

Function = Callable[..., Any]

TOGETHER = {"engine": ("engine", "url", "index_name")}
"""Settings of which one makes no sense without the others: who takes the first takes all."""

json_option: Callable[[Function], Function] = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON."
)


def settings_options(*keys: str) -> Callable[[Function], Function]:
    """Add the options of these settings; the command gets all settings as `settings`, its first argument."""
    keys = tuple(key for named in keys for key in TOGETHER.get(named, (named,)))

    def decorate(function: Function) -> Function:
        def command(**arguments: Any) -> Any:
            flags = {key: arguments.pop(key) for key in keys}
            return function(settings_of(click.get_current_context(), flags), **arguments)

        update_wrapper(command, function)
        for key in reversed(keys):
            command = setting_option(key)(command)
        return command

    return decorate


def setting_option(key: str) -> Callable[[Function], Function]:
    """The option of one setting. It has no default of its own: a flag that is not given decides nothing."""
    spec = SPECS[key]
    default, choices = spec.default, spec.metadata["choices"]
    shown = "automatic" if key == "threads" else default
    return click.option(
        flag_name(key),
        key,
        type=click.Choice(choices) if choices else _click_type(default),
        default=None,
        help=f"{spec.metadata['help']}  [default: {shown}]",
    )


def settings_of(context: click.Context, flags: dict[str, object]) -> Settings:
    """The settings of this run: the command's own flags and those given before the command's name."""
    common = context.find_root().obj or {}
    return load({**common, **flags})


def _click_type(default: object) -> click.ParamType[Any] | type:
    return click.Path(path_type=Path) if isinstance(default, Path) else type(default)
