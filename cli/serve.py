"""`sparc-search serve`: the pages and the HTTP API."""

from __future__ import annotations

import re
from pathlib import Path
from socket import socket

import click

from sparc_search.errors import UsageError
from sparc_search.settings import Settings

from .options import open_index, option, settings_options
from .terminal import note


@click.command()
@settings_options(
    "index host port token_file connections request_seconds login_tries",
    "engine encoder model strategy top_k lex_weight read read_with threads",
)
@click.option(
    "--allow-host", multiple=True, metavar="NAME", help="A further name the server answers to. May be repeated."
)
@click.option(
    "--also",
    multiple=True,
    metavar="[NAME=]INDEX[@MODEL]",
    help="A second index to put beside the first on /why. May be repeated.",
)
@click.option("--metrics", is_flag=True, help="Serve /metrics for Prometheus.")
@click.option("--mcp", is_flag=True, help="Answer assistants at /mcp, over the Model Context Protocol.")
@click.option(
    "--feedback",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Let people say which answers are right, and append it to this file, which `evaluate open` reads.",
)
@option("--processes", type=click.IntRange(1, 64), default=1, help="Processes that answer, over one mapped index.")
@option("--workers", type=click.IntRange(1, 256), default=4, help="Requests answered at once.")
@option(
    "--waiting",
    type=click.IntRange(0, 10_000),
    default=256,
    help="Requests that may wait; one more is sent away (503).",
)
@click.option(
    "--watch", multiple=True, metavar="FOLDER", help="Follow what changes there, as `ingest --watch` does. Repeatable."
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser.")
def serve(
    settings: Settings,
    allow_host: tuple[str, ...],
    also: tuple[str, ...],
    metrics: bool,
    mcp: bool,
    feedback: Path | None,
    processes: int,
    workers: int,
    waiting: int,
    watch: tuple[str, ...],
    open_browser: bool,
) -> None:
    """Show the weights in a browser and answer over HTTP.

    Only this machine can reach the server, unless --host says otherwise; then a token is needed. Stop it with Ctrl-C:
    requests that run are answered first.
    """
    from sparc_search.web import serving
    from sparc_search.web.limits import WebLimits

    from .serve_processes import Service, serve_in_processes

    limits = WebLimits(
        running=workers,
        waiting=waiting,
        connections=settings.connections,
        request_seconds=settings.request_seconds,
        login_tries=settings.login_tries,
    )
    served = {"host": settings.host, "allowed_hosts": allow_host, "with_metrics": metrics, "with_mcp": mcp}
    served["feedback_file"] = feedback
    service = Service(settings, limits, {"token": _token(settings), **served}, also, watch)

    def ready(listening: socket) -> None:
        address = serving.address_of(listening)
        note(f"Serving {settings.index} at {address} (Ctrl-C stops)")
        if open_browser:
            click.launch(address)

    if processes == 1:
        service.serve(lambda: serving.bound(settings.host, settings.port), ready)
    elif metrics:
        raise UsageError("/metrics counts what one process does", "leave out --metrics, or --processes")
    else:
        with service.following():
            open_index(settings).close()  # what is wrong with it is said once
            with serving.bound(settings.host, settings.port) as listening:
                serve_in_processes(processes, service, listening, ready)
    note("Stopped.")


def _token(settings: Settings) -> str:
    """The token, if there is one: from the environment or a file, never from the command line, where others see it."""
    from sparc_search.web.security import SHORTEST_TOKEN, is_loopback

    token = _read(Path(settings.token_file)) if settings.token_file else settings.token.strip()
    if not token and not is_loopback(settings.host):
        raise UsageError(
            f"{settings.host} can be reached by other machines, and there is no token",
            "`openssl rand -hex 32 > token` makes one; then add --token-file token",
        )
    if token and (len(token) < SHORTEST_TOKEN or not re.fullmatch("[!-~]+", token)):
        raise UsageError(
            "the token is too short or has odd characters",
            f"take {SHORTEST_TOKEN} or more letters and digits; `openssl rand -hex 32` makes some",
        )
    return token


def _read(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the token file {path}", "name a file that holds the token") from error
    if not token:
        raise UsageError(f"the token file {path} is empty", "`openssl rand -hex 32` makes a token")
    return token
