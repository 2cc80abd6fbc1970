"""`python -m tools.documentation_questions fetch|check|measure FOLDER`; the folder holds the documentation."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sparc_search import Index
from sparc_search.cli.terminal import note, result
from sparc_search.errors import SparcSearchError, UsageError
from sparc_search.records import UNITS
from tools.benchmark_page import write_section

from . import checking, fetching, measuring
from .records import SPLITS, packages, questions

_NAMED: Final = ("split", "packages", "unit", "label", "threshold")
"""Options of `measure` on which its figures depend."""
ROOT: Final = Path(__file__).resolve().parent.parent.parent


def main(arguments: Sequence[str]) -> int:
    """Do what the first argument says."""
    chosen = _parser().parse_args(arguments)
    corpus = chosen.folder.resolve()
    if corpus.is_relative_to(ROOT):
        note("the documentation has licences of its own: keep it in a folder outside of the project")
        return 2
    try:
        return int(chosen.run(chosen, corpus))
    except SparcSearchError as error:
        note(f"Error: {error}")
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.documentation_questions", description=__doc__)
    commands = parser.add_subparsers(required=True)
    fetch = commands.add_parser("fetch", help="download the packages and unpack the listed files")
    fetch.add_argument("--from", dest="source", type=Path, help="take the .deb files in this folder instead")
    fetch.set_defaults(run=_fetch)
    check = commands.add_parser("check", help="see whether every answer stands where it is said to")
    check.set_defaults(run=_check)
    measure = commands.add_parser("measure", help="index the documentation and ask the questions of one half")
    measure.add_argument("--split", choices=SPLITS, default=SPLITS[0], help="which half (default build)")
    measure.add_argument("--index", type=Path, help="where the index is or will be (default FOLDER.index)")
    measure.add_argument(
        "--label", help="a word for this state of the software, such as `before`, in the raw file's name"
    )
    measure.add_argument("--packages", help="only these, by commas, and the questions on them: quicker, and easier")
    measure.add_argument(
        "--threshold", type=float, help="confidence below which a reply is refused (default: `min_confidence`)"
    )
    measure.add_argument("--unit", choices=UNITS, help="how much is an answer (default: the setting `unit`)")
    measure.add_argument("--details", type=Path, help="write a JSON line for each question to this file")
    measure.set_defaults(run=_measure)
    for command in (fetch, check, measure):
        command.add_argument("folder", type=Path, help="where the documentation is or will be")
    return parser


def _fetch(chosen: argparse.Namespace, corpus: Path) -> int:
    fetching.fetch(packages(), corpus, chosen.source)
    return 0


def _check(chosen: argparse.Namespace, corpus: Path) -> int:
    every = [question for split in SPLITS for question in questions(split)]
    found = list(checking.problems(every, corpus))
    for problem in found:
        result(problem)
    note(f"{len(every)} questions, {len(found)} problems")
    return int(bool(found))


def _measure(chosen: argparse.Namespace, corpus: Path) -> int:
    folder = chosen.index or corpus.with_name(f"{corpus.name}.index")
    names = _chosen_packages(chosen.packages)
    asked = [one for one in questions(chosen.split) if not one.places or one.places[0].package in names]
    with Index.create(folder, exist_ok=True) as index:
        note(f"reading {len(names)} packages in {corpus} into {folder} ...")
        index.ingest(*(corpus / name for name in names))
        measured = list(measuring.outcomes(asked, index, corpus, chosen.unit))
        facts = index.stats()
        threshold = index.settings.min_confidence if chosen.threshold is None else chosen.threshold
    about = f"{facts['documents']:,} documents, {facts['passages']:,} passages, model `{facts['encoder']}`."
    body = f"{about}\n\n{measuring.report(measured, threshold)}"
    if chosen.details:
        chosen.details.write_text("".join(f"{json.dumps(_row(one))}\n" for one in measured), encoding="utf-8")
    words = ["documentation", chosen.split, *([chosen.label] if chosen.label else [])]
    command = " ".join(f"--{name} {getattr(chosen, name)}" for name in _NAMED if getattr(chosen, name) is not None)
    command = f"python -m tools.documentation_questions measure FOLDER {command}"
    write_section("-".join(words), f"Questions on real {', '.join(words)}", command, body)
    result(body)
    return 0


def _chosen_packages(names: str | None) -> list[str]:
    known = [package.name for package in packages()]
    wanted = names.split(",") if names else known
    if unknown := set(wanted) - set(known):
        raise UsageError(f"no package of the corpus is called {sorted(unknown)[0]}", f"known are {', '.join(known)}")
    return wanted


def _row(one: measuring.Outcome) -> dict[str, object]:
    about = {"id": one.question.id, "question": one.question.question, "shown": one.shown, "confidence": one.confidence}
    return {**about, "right": one.right, "passage": one.passage, "bm25": one.bm25_passage}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
