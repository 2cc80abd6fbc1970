"""What a user at a terminal waits for: `sparc-search ask` and `--help`, by the clock, beside those of an older version.

    git worktree add ../older 8134ab6                          # 0.1.0
    python -m venv ../older/.venv && ../older/.venv/bin/pip install ../older
    python -m tools.bench_shell --beside ../older/.venv/bin/sparc-search

Each program reads the sample corpus into an index of its own; then they take turns, so that whatever else the machine
does, it does to both. Time of the processor is what all threads of a process used; with others on the machine it says
more than the clock. Modules are compiled beforehand, as `pip install` does.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import click

from sparc_search.cli.terminal import note, result
from tools.benchmark_page import table, write_section

ROOT: Final = Path(__file__).resolve().parent.parent
CORPUS: Final = ROOT / "examples" / "corpus"
PROGRAM: Final = Path(sys.executable).parent / "sparc-search"
QUESTION: Final = "When was the Suez Canal opened?"
ENVIRONMENT: Final = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


class Times(NamedTuple):
    """Seconds of one run."""

    clock: float
    processor: float


@click.command()
@click.option("--beside", type=click.Path(path_type=Path), help="The program of an older version.")
@click.option("--runs", default=20, show_default=True)
def main(beside: Path | None, runs: int) -> None:
    """Measure, and write docs/benchmarks/shell.md."""
    programs = {"this version": PROGRAM, **({"older version": beside.absolute()} if beside else {})}
    with tempfile.TemporaryDirectory() as folder:
        commands: dict[tuple[str, str], list[str]] = {}
        for name, program in programs.items():
            note(f"reading the sample corpus with the {name} ...")
            _run([str(program), "ingest", str(CORPUS), "--index", f"{folder}/{name}"], folder)
            commands["`ask`", name] = [str(program), "ask", QUESTION, "--index", f"{folder}/{name}"]
            commands["`--help`", name] = [str(program), "--help"]
        commands["`python -c pass`", ""] = [sys.executable, "-c", "pass"]
        times: dict[tuple[str, str], list[Times]] = {key: [] for key in commands}
        for number in range(runs + 1):
            for key, command in commands.items():
                taken = _run(command, folder)
                times[key] += [taken] if number else []  # the first finds the files on the disk
    rows = [(f"{what} {name}".strip(), *_medians(taken)) for (what, name), taken in times.items()]
    if beside:
        rows += [_ratio(what, times) for what in ("`ask`", "`--help`")]
    body = table(("command", "by the clock", "of the processor"), rows)
    write_section("shell", f"From a shell, median of {runs}, in turns", "python -m tools.bench_shell --beside …", body)
    result(body)


def _run(command: list[str], folder: str) -> Times:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, env=ENVIRONMENT)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return Times(ended - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _medians(times: list[Times]) -> tuple[str, str]:
    clock, processor = (median(column) * 1000 for column in zip(*times, strict=True))
    return f"{clock:,.0f} ms", f"{processor:,.0f} ms"


def _ratio(what: str, times: dict[tuple[str, str], list[Times]]) -> tuple[str, str, str]:
    new, old = (zip(*times[what, name], strict=True) for name in ("this version", "older version"))
    clock, processor = (median(a) / median(b) for a, b in zip(new, old, strict=True))
    return f"{what}, this version to the older", f"{clock:.2f}", f"{processor:.2f}"


if __name__ == "__main__":
    main()
