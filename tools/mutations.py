"""Does the suite notice? Central lines are made wrong, one at a time, and the tests of their room must fail.

    python tools/mutations.py [--servers] [--write] [WORD...]

Words choose mutations by name; `--servers` adds those that only tests with a search server can see; `--write` puts the
verdicts into docs/testing.md. The checkout is not touched: each mutation is made in a copy that is laid out as the
packages are installed. A line is found by its text, which must stand in its file exactly once: if it has moved or
changed, that is said, and counts as a failure.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- made by tools/mutations.py: begin -->", "<!-- made by tools/mutations.py: end -->"
NOT_COPIED: Final = (".git", ".venv", "build", "dist", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")


class Mutation(NamedTuple):
    """A line, what stands there instead, and the tests that must fail."""

    name: str
    file: str
    text: str
    instead: str
    tests: tuple[str, ...]
    group: str = "fast"


SCORER, POSTINGS = ("tests/search/test_scorer.py",), ("tests/stores/test_postings.py",)
BLOCKS, NGRAMS = ("tests/stores/test_phrase_block.py",), ("tests/test_ngrams.py",)
COORDINATOR = ("tests/search/test_coordinator.py", "tests/test_index.py", "tests/stores/test_engines.py")
LOCAL = ("tests/stores/test_local.py", "tests/stores/test_local_catalogue.py", "tests/stores/test_local_crashes.py")
BULK, SECURITY = ("tests/stores/opensearch/test_bulk.py",), ("tests/web/test_security.py", "tests/web/test_hostile.py")

MUTATIONS: Final = (
    Mutation("scorer: span part", "sparc_search/search/scorer.py", "score += span", "score -= span", SCORER),
    Mutation(
        "scorer: lexical part",
        "sparc_search/search/scorer.py",
        "score += (self._passage + self._lex)[block]",
        "score += self._passage[block]",
        SCORER,
    ),
    Mutation(
        "legal spans: joints",
        "sparc_search/search/legal_spans.py",
        "(self._joints[left] == self._joints[right]) & (",
        "(",
        SCORER,
    ),
    Mutation(
        "lexical: most counted",
        "sparc_search/search/lexical.py",
        "min(term.count, MOST_COUNTED)",
        "term.count",
        ("tests/search/test_lexical.py",),
    ),
    Mutation(
        "postings: upper bounds",
        "sparc_search/stores/local/postings.py",
        "unshorten(self._tops_of(places)) * weights)",
        "unshorten(self._tops_of(places)) * weights / 2)",
        POSTINGS,
    ),
    Mutation(
        "postings: rows looked up",
        "sparc_search/stores/local/postings.py",
        "found = (own[places] == rows).nonzero()[0]",
        "found = (own[places] >= rows).nonzero()[0]",
        POSTINGS,
    ),
    Mutation(
        "phrase block: width of vectors",
        "sparc_search/stores/phrase_block.py",
        "fits_halves(start.vectors) and fits_halves(end.vectors)",
        "fits_halves(start.vectors)",
        BLOCKS,
    ),
    Mutation(
        "packed rows: low bits",
        "sparc_search/stores/packed_rows.py",
        "rows: Ints = (head << low) |",
        "rows: Ints = (head << low) + 1 |",
        ("tests/stores/test_packed_rows.py",),
    ),
    Mutation(
        "packed postings: least value",
        "sparc_search/stores/local/packed_postings.py",
        "(above + self.frame.least)",
        "(above + self.frame.least + 1)",
        POSTINGS,
    ),
    Mutation(
        "phrase block: checksum",
        "sparc_search/stores/phrase_block_batch.py",
        'raise damaged("has changed bytes")',
        "pass",
        BLOCKS,
    ),
    Mutation(
        "coordinator: union of candidates",
        "sparc_search/search/candidates.py",
        '(*retrievers.get(hit.passage_id, ()), "dense")',
        '("dense",)',
        COORDINATOR,
    ),
    Mutation(
        "coordinator: what is missing",
        "sparc_search/search/coordinator.py",
        "sparse.missing + dense.missing + candidates.missing",
        "sparse.missing",
        COORDINATOR,
    ),
    Mutation(
        "confidence: widest lead",
        "sparc_search/search/confidence.py",
        "min(score - rival, self.widest)",
        "score - rival",
        ("tests/search/test_confidence.py",),
    ),
    Mutation(
        "n-grams: rounded up",
        "sparc_search/ngrams.py",
        "((bits + _DROPPED) & ~_DROPPED)",
        "(bits & ~_DROPPED)",
        NGRAMS,
    ),
    Mutation("n-gram names: dots", "sparc_search/ngrams.py", r'"[%.\x00-\x20', r'"[%\x00-\x20', NGRAMS),
    Mutation(
        "local commit: replaced documents",
        "sparc_search/stores/local/writer.py",
        "change.remove(document.id)\n",
        "pass\n",
        LOCAL,
    ),
    Mutation(
        "local commit: tombstones",
        "sparc_search/stores/local/changes.py",
        'self._connection.execute("INSERT INTO tombstones VALUES (?)", (row,))',
        "pass",
        LOCAL,
    ),
    Mutation(
        "recovery: a writer that was killed",
        "sparc_search/stores/local/writer.py",
        "write_meta(self.connection, clean=0)",
        "write_meta(self.connection, clean=1)",
        LOCAL,
    ),
    Mutation(
        "recovery: damaged files",
        "sparc_search/stores/local/recovery.py",
        "found.append((segment.name, error))",
        "pass",
        LOCAL,
    ),
    Mutation(
        "bulk: sent again", "sparc_search/stores/opensearch/bulk.py", "status in PASSING", "not status", BULK, "servers"
    ),
    Mutation(
        "bulk: halved",
        "sparc_search/stores/opensearch/bulk.py",
        "pieces += [piece[len(piece) // 2 :], piece[: len(piece) // 2]]",
        "pieces += [piece[: len(piece) // 2]]",
        BULK,
        "servers",
    ),
    Mutation(
        "sanitiser: text turned around",
        "cli/terminal.py",
        r"\u2028-\u202e",
        r"\u2028-\u202d",
        ("tests/cli/test_terminal.py",),
    ),
    Mutation(
        "security: another site's form",
        "sparc_search/web/security.py",
        'origin is None or origin.partition("://")[2] == headers.get("host")',
        "True",
        SECURITY,
    ),
    Mutation(
        "security: two names of a host",
        "sparc_search/web/security.py",
        "if len(values) == 1 else None",
        "if values else None",
        SECURITY,
    ),
    Mutation(
        "security: paths without the token",
        "sparc_search/web/security.py",
        'path.startswith("/static/")',
        '"/static/" in path',
        SECURITY,
    ),
)


class Verdict(NamedTuple):
    """What came of a mutation, and the test that saw it."""

    mutation: Mutation
    word: str
    by: str = ""


def main(arguments: Sequence[str]) -> int:
    """Try them; 0 if each was caught."""
    words = [word for word in arguments if not word.startswith("--")]
    chosen = [one for one in MUTATIONS if not words or any(word in one.name for word in words)]
    if "--servers" not in arguments:
        chosen = [one for one in chosen if one.group != "servers"]
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder) / "checkout"
        lay_out(copy)
        verdicts = []
        for verdict in tried(copy, chosen):
            sys.stdout.write(f"{verdict.word:7} {verdict.mutation.name}  {verdict.by}\n")
            sys.stdout.flush()
            verdicts.append(verdict)
    if "--write" in arguments:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{section(verdicts)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return int(any(verdict.word != "caught" for verdict in verdicts))


def lay_out(copy: Path) -> None:
    """A copy of the checkout, without copying a byte, where `loaders`, `cli` and `mappings` are inside the package."""
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(ROOT, copy, ignore=ignored, copy_function=os.link)
    for package, folder in packages().items():
        shutil.copytree(ROOT / folder, copy / package, ignore=ignored, copy_function=os.link, dirs_exist_ok=True)


def packages() -> dict[str, str]:
    """Where the folders at the top of the checkout are installed."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    found = (row.split(" = ") for row in config["options"]["package_dir"].split("\n") if row)
    return {name.replace(".", "/"): folder for name, folder in found if "." in name}


def tried(copy: Path, chosen: Sequence[Mutation]) -> Iterator[Verdict]:
    """Each mutation's verdict: caught, missed, gone (the line is not there), broken (the tests fail without it)."""
    sound: dict[tuple[tuple[str, ...], str], str] = {}
    for one in chosen:
        key = (one.tests, one.group)
        if key not in sound:
            sound[key] = failure(copy, one)
        if sound[key]:
            yield Verdict(one, "broken", sound[key])
            continue
        place = copy / installed(one.file)
        original = place.read_text(encoding="utf-8")
        if original.count(one.text) != 1:
            yield Verdict(one, "gone", f"stands {original.count(one.text)} times in {one.file}: {one.text.strip()}")
            continue
        put(place, original.replace(one.text, one.instead))
        seen = failure(copy, one)
        put(place, original)
        yield Verdict(one, "caught" if seen else "missed", seen)


def installed(file: str) -> str:
    """Where a file of the checkout is in the copy that is imported."""
    for package, folder in packages().items():
        if file.startswith(f"{folder}/"):
            return f"{package}/{file.removeprefix(f'{folder}/')}"
    return file


def put(place: Path, text: str) -> None:
    """Write a file anew: the old one is shared with the checkout."""
    place.unlink()
    place.write_text(text, encoding="utf-8")


def failure(copy: Path, mutation: Mutation) -> str:
    """The first test that fails; empty if none does."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--group", mutation.group, *mutation.tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    found = re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py(?:::\w+)?)", done.stdout, re.MULTILINE)
    return found[1] if found else f"pytest ended with code {done.returncode}"


def section(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as a table."""
    caught = sum(verdict.word == "caught" for verdict in verdicts)
    rows = [f"| {one.mutation.name} | {one.word} | {f'`{one.by}`' if one.by else ''} |" for one in verdicts]
    head = f"{caught} of {len(verdicts)} were caught ({date.today().isoformat()}, `python tools/mutations.py --write`)."
    return "\n".join([head, "", "| what was made wrong | verdict | first seen by |", "|---|---|---|", *rows])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
