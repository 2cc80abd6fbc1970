"""`sparc-search mcp`: answers for assistants, over standard input and output."""

from __future__ import annotations

from contextlib import ExitStack

import click

from sparc_search.errors import MissingExtra, UsageError
from sparc_search.settings import Settings

from .options import settings_options


@click.command()
@click.option(
    "--index",
    "indexes",
    multiple=True,
    metavar="[NAME=]PATH",
    help="Folder of an index, and its name for assistants (if not given, the folder's). May be repeated.",
)
@settings_options("engine encoder model strategy lex_weight min_confidence read read_with threads")
def mcp(settings: Settings, indexes: tuple[str, ...]) -> None:
    """Answer assistants over the Model Context Protocol.

    Speaks on stdin and stdout with the one program that starts it, until that closes its end; the settings of that
    program name this command. It offers the tools ask, search, fetch and list_documents, and the documents as
    resources. It only reads.
    """
    try:
        from sparc_search.mcp.server import create_server
        from sparc_search.mcp.stdio import serve_stdio
    except ImportError as error:
        raise MissingExtra("`sparc-search mcp`", "mcp") from error
    from sparc_search.index import Index
    from sparc_search.mcp.asking import Asking
    from sparc_search.mcp.indexes import Indexes, named_folder

    folders = [named_folder(given) for given in indexes or [str(settings.index)]]
    names = [name for name, _ in folders]
    if len(set(names)) < len(names):
        raise UsageError(f"two indexes have one name: {', '.join(names)}", "name them: --index NAME=PATH")
    with ExitStack() as stack:
        encoder = Index(settings).encoder  # one network for all of them
        opened = {name: stack.enter_context(Index(settings.changed(index=folder), encoder)) for name, folder in folders}
        for index in opened.values():
            index.prepare()  # what is wrong with an index is told now, not to an assistant
        asking = Asking(Indexes(opened))
        serve_stdio(lambda turns: create_server(asking, turns.run))
