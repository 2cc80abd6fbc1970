"""Options that several commands share, and the settings they become.

@click.command()
@click.argument("question")
@settings_options("index", "top_k")
@json_option
def ask(settings: Settings, question: str, as_json: bool) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sparc_search.settings import Settings, Sources, find, read

if TYPE_CHECKING:  # opening an index imports numpy and more
    from sparc_search.index import Index

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

PATH: Final = click.Path(path_type=Path)
FILE: Final = click.Path(path_type=Path, dir_okay=False)
FOLDER: Final = click.Path(path_type=Path, file_okay=False)

TOGETHER = {"engine": ("engine", "url", "index_name")}
"""Settings of which one makes no sense without the others: who takes the first takes all."""

json_option: Decorator = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def option(*names: str, **attributes: Any) -> Decorator:
    """An option whose help shows its default."""
    return click.option(*names, show_default=True, **attributes)


@dataclass(frozen=True, slots=True)
class Common:
    """What all commands of one run share: files and environment, read once, and the flags before the command's name."""

    sources: Sources = field(default_factory=read)
    flags: dict[str, object] = field(default_factory=dict)


class Group(click.Group):
    """A group whose list of commands shows their first sentences whole: click cuts them off with three dots."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name and first sentence of each command."""
        with formatter.section("Commands"):
            shown = ((name, command) for name, command in sorted(self.commands.items()) if not command.hidden)
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in shown])


class SettingOption(click.Option):
    """An option that gives a setting; `docs/configuration.md` lists them."""


def settings_options(*keys: str) -> Decorator:
    """Add the options of these settings; the command gets all settings as `settings`, its first argument.

    A string may name several, with spaces between them.
    """
    keys = tuple(key for named in " ".join(keys).split() for key in TOGETHER.get(named, (named,)))

    def decorate(function: Function) -> Function:
        def command(**arguments: Any) -> Any:
            flags = {key: arguments.pop(key) for key in keys}
            common = common_of(click.get_current_context())
            return function(common.sources.settings({**common.flags, **flags}), **arguments)

        update_wrapper(command, function)
        for key in reversed(keys):
            command = setting_option(key)(command)
        return command

    return decorate


def setting_option(key: str) -> Decorator:
    """The option of one setting. It has no default of its own: a flag that is not given decides nothing."""
    setting = find(key)
    default = setting.default
    return click.option(
        setting.flag,
        key,
        cls=SettingOption,
        type=click.Choice(setting.choices) if setting.choices else _click_type(default),
        default=None,
        help=setting.help + _shown_default("automatic" if key == "threads" else default),
    )


def open_index(settings: Settings) -> Index:
    """The index that the settings name, whichever model made it."""
    from sparc_search.index import Index

    return Index.open(settings=settings)


def _shown_default(default: object) -> str:
    return "" if default == "" else f"  [default: {default}]"


def common_of(context: click.Context) -> Common:
    """What this run's commands share."""
    common = context.find_root().obj
    return common if isinstance(common, Common) else Common()


def _click_type(default: object) -> click.ParamType[Any] | type:
    return click.Path(path_type=Path) if isinstance(default, Path) else type(default)
