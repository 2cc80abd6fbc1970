"""`sparc-search`: finds its commands by a table, and turns errors into text and exit codes.

Exit codes: 0 done · 1 error · 2 wrong usage or setting · 3 done, but not all of it · 130 interrupted.
A command returns nothing, or its exit code.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NamedTuple

import click

from sparc_search.errors import DiskFull, Interrupted, SparcSearchError

from .options import Common, setting_option


class Entry(NamedTuple):
    """Where a command lives, and its first line of help, so that `--help` need not import it."""

    target: str
    help: str


COMMANDS: Final = {
    "ingest": Entry("sparc_search.cli.ingest:ingest", "Read files into an index."),
    "encode": Entry("sparc_search.cli.encode:encode", "Encode files for an index elsewhere."),
    "ask": Entry("sparc_search.cli.ask:ask", "Answer questions from an index."),
    "search": Entry("sparc_search.cli.search:search", "Find the passages that fit some words."),
    "inspect": Entry("sparc_search.cli.inspect:inspect", "See the weights behind the answers."),
    "serve": Entry("sparc_search.cli.serve:serve", "Show the weights in a browser and answer over HTTP."),
    "mcp": Entry("sparc_search.cli.mcp:mcp", "Answer assistants over the Model Context Protocol."),
    "index": Entry("sparc_search.cli.index:index", "Look after an index."),
    "dashboards": Entry("sparc_search.cli.dashboards:dashboards", "Views for OpenSearch Dashboards."),
    "train": Entry("sparc_search.cli.train:train", "Train a model."),
    "tune": Entry("sparc_search.cli.tune:tune", "Learn from questions; nothing is encoded again."),
    "evaluate": Entry("sparc_search.cli.evaluate:evaluate", "Measure how good the answers are."),
    "model": Entry("sparc_search.cli.model:model", "Show, export and fetch models."),
    "opensearch": Entry("sparc_search.cli.opensearch:opensearch", "Run OpenSearch on this machine, without Docker."),
    "plugins": Entry("sparc_search.cli.plugins:plugins", "List the plugins that are installed."),
    "config": Entry("sparc_search.cli.config:config", "Show the settings and where they come from."),
    "doctor": Entry("sparc_search.cli.doctor:doctor", "Check that everything needed is there and works."),
    "completion": Entry("sparc_search.cli.completion:completion", "Print a completion script for a shell."),
}


class LazyGroup(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer an unknown name with the nearest known one."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            guess = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}. {guess}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@setting_option("log_level")
@setting_option("log_format")
@click.version_option(package_name="sparc-search", prog_name="sparc-search")
@click.pass_context
def cli(context: click.Context, log_level: str | None, log_format: str | None) -> None:
    """Answer questions from your own documents, in milliseconds, and show why.

    Read documents with `sparc-search ingest PATH`, then ask with `sparc-search ask "QUESTION"`. Results go to stdout,
    everything else to stderr. Exit codes: 0 done, 1 error, 2 wrong usage or setting, 3 done but not all of it
    (rejected documents, missing answers), 130 interrupted.
    """
    from . import logs

    common = context.obj = Common(flags={"log_level": log_level, "log_format": log_format})
    settings = common.sources.unguarded(common.flags)  # how to log is harmless; the command asks for trust
    logs.configure(settings.log_level, settings.log_format)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):  # a character the terminal cannot show is escaped, never a crash
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    if not gc.isenabled():  # a command for one question: nothing is left to be tidied up, and that would take longer
        sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # the interpreter need not look once more through all there is
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    try:
        code = cli.main(list(arguments), prog_name="sparc-search", standalone_mode=False)
        sys.stdout.flush()  # here, where a broken pipe can still be caught
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        return _reader_has_gone()
    except (KeyboardInterrupt, click.Abort):
        return report(Interrupted())
    except SparcSearchError as error:
        return report(error)
    except click.ClickException as error:
        return _usage(error)
    except Exception as error:  # the last line of defence: a sentence instead of a traceback
        return report(_translated(error))


def report(error: SparcSearchError) -> int:
    """`Error: message`, then the remedy, indented."""
    from .terminal import sanitise

    remedy = f"\n  {sanitise(error.remedy)}" if error.remedy else ""
    click.echo(f"Error: {sanitise(error.message)}{remedy}", err=True)
    return error.exit_code


def _usage(error: click.ClickException) -> int:
    from .terminal import sanitise

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    if isinstance(error, click.UsageError) and error.ctx:
        click.echo(error.ctx.get_usage(), err=True)
    click.echo(f"Error: {sanitise(error.format_message(), lines=True)}", err=True)
    return error.exit_code


def _translated(error: Exception) -> SparcSearchError:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return DiskFull(
            f"no space left on the disk: {error.filename or ''}".rstrip(": "), "free some, then run it again"
        )
    import logging

    log = logging.getLogger(__name__)
    log.debug("unexpected error", exc_info=error)
    more = "" if log.isEnabledFor(logging.DEBUG) else "sparc-search --log-level debug … shows the details"
    return SparcSearchError(f"{type(error).__name__}: {error}", more)


def _reader_has_gone() -> int:
    """Whoever read our output has enough: say nothing, not even when the interpreter flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


if __name__ == "__main__":
    main()
