"""`sparc-search completion`: tab completion for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .terminal import result


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script for a shell.

    \b
    bash:  eval "$(sparc-search completion bash)"    in ~/.bashrc
    zsh:   eval "$(sparc-search completion zsh)"     in ~/.zshrc
    fish:  sparc-search completion fish | source     in ~/.config/fish/config.fish
    """
    root = context.find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # the choices above are the shells that click knows
    result(kind(root.command, {}, "sparc-search", "_SPARC_SEARCH_COMPLETE").source())
