"""What the evaluate commands share: how a run is named, shown and put on the page of benchmarks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sparc_search.evaluation.watching import Watcher

from .options import FILE, PATH
from .terminal import counted, note, print_table, progress, result

if TYPE_CHECKING:
    from sparc_search.loaders.outcomes import Event

page_option = click.option(
    "--write-benchmarks",
    "page",
    type=FILE,
    metavar="PAGE",
    help="Write the result into its section of this Markdown page.",
)
save_option = click.option("--save", type=PATH, help="Write the report and a row for each question as JSON.")


class OnTerminal(Watcher):
    """Shows on stderr how a measurement goes on."""

    def note(self, text: str) -> None:
        """One line of news."""
        note(text)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[], object]]:
        """A bar."""
        with progress() as bar:
            task = bar.add_task(what, total=total)
            yield lambda: bar.advance(task)

    @contextmanager
    def ingesting(self) -> Iterator[Callable[[Event], None]]:
        """The bar of `ingest`."""
        from .ingest_progress import Bar

        with Bar() as bar:
            yield bar.update


def shown_command() -> str:
    """The command as it was called, folders left out: they are of one machine."""
    context = click.get_current_context()
    in_order = sorted(context.command.params, key=lambda param: isinstance(param, click.Option))  # arguments first
    given = (p for p in in_order if context.get_parameter_source(p.name or "") is ParameterSource.COMMANDLINE)
    return " ".join([context.command_path, *(word for param in given for word in _words(context, param))])


def _words(context: click.Context, param: click.Parameter) -> Iterator[str]:
    value = context.params[param.name or ""]
    if not isinstance(param, click.Option):
        yield from map(_word, value if isinstance(value, tuple) else (value,))
    elif param.is_flag:
        yield param.opts[0] if value or not param.secondary_opts else param.secondary_opts[0]
    else:
        for given in value if param.multiple else (value,):
            yield param.opts[0]
            yield from map(_word, given if isinstance(given, tuple) else (given,))


def _word(value: object) -> str:
    text = str(value)
    named = Path(text).name if isinstance(value, Path) or "/" in text else text
    return f'"{named}"' if " " in named else named


def print_open(about: Mapping[str, Any]) -> None:
    """A table for people."""
    from sparc_search.evaluation.runs_table import number, with_interval

    intervals = about["intervals"]
    rows = [
        ("EM", with_interval(about["exact_match"], intervals.get("exact_match"))),
        ("F1", with_interval(about["f1"], intervals.get("f1"))),
        *((f"right among {cut[1:]}", with_interval(share)) for cut, share in (about["answer_recall"] or {}).items()),
        *((f"passage among {cut[1:]}", with_interval(share)) for cut, share in about["passage_recall"].items()),
        ("MRR", number(about["mean_reciprocal_rank"], 3)),
        ("ms a question, mean", f"{1000 * about['seconds_per_question']:.1f}"),
        ("ms a question, p50", f"{1000 * about['seconds_p50']:.1f}"),
        ("ms a question, p95", f"{1000 * about['seconds_p95']:.1f}"),
    ]
    if about.get("answerable") is not None:
        rows.append(("answer stands in the corpus", with_interval(about["answerable"])))
    print_table(("measure", ""), rows)
    result(f"{counted(about['questions'], 'question')}, {counted(about['passages'], 'passage')}")


def write_benchmarks(page: Path | None, name: str, title: str, body: str) -> None:
    """The result as a section of the page, if there is one."""
    if page is None:
        return
    from sparc_search.evaluation.page import write_section

    write_section(name, title, shown_command(), body, page)
    note(f"wrote the section {title!r} of {page}")


def linked(path: Path, page: Path | None) -> str:
    """The path of a picture as the page links it."""
    return Path(os.path.relpath(path, page.parent if page else None)).as_posix()
