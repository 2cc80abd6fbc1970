"""`sparc-search doctor`: is everything there that a run needs, and does it work?"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Literal

import click

from sparc_search import plugins
from sparc_search.errors import IndexNotFound, ModelNotFound, SparcSearchError
from sparc_search.settings import Settings

from .options import json_option, settings_options
from .terminal import counted, print_table, result, result_json, styled

Status = Literal["ok", "note", "problem"]
STYLES: dict[Status, str] = {"ok": "green", "note": "yellow", "problem": "bold red"}
LITTLE_ROOM = 1 << 30
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra == ['\"]([\w-]+)")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


@click.command()
@settings_options("index", "engine", "encoder", "model", "dense_store")
@json_option
def doctor(settings: Settings, as_json: bool) -> int:
    """Check that everything needed is there and works.

    Looks at versions, plugins, model files and their hashes, the index, free disk space and GPUs. Exit code 1 if
    something is broken.
    """
    checks = list(examine(settings))
    if as_json:
        result_json(checks)
    else:
        print_table(("", "", ""), map(_row, _gathered(checks)))
        result(f"\n{_verdict(checks)}")
    return int(any(check.status == "problem" for check in checks))


def _gathered(checks: Iterable[Check]) -> Iterator[Check]:
    """What is absent from one extra has one remedy: one line for it all."""
    for (status, detail, remedy), group in groupby(checks, lambda check: (check.status, check.detail, check.remedy)):
        names = [check.name for check in group]
        if status == "note" and len(names) > 1:
            names = [f"{names[0]} and {len(names) - 1} more"]
        yield from (Check(name, status, detail, remedy) for name in names)


def _verdict(checks: Iterable[Check]) -> str:
    problems = [check.name for check in checks if check.status == "problem"]
    if problems:
        return f"Not all is well: {', '.join(problems)}."
    return "Everything that is needed is there and works. A note is no problem: it says what else could be had."


def examine(settings: Settings) -> Iterator[Check]:
    """Every check, one after the other; none of them stops the others."""
    yield Check("python", "ok", f"{platform.python_version()} at {sys.prefix}")
    yield from _versions()
    yield _compiled()
    yield from _plugins(settings)
    yield from _model_and_index(settings)
    yield _disk(settings.index)
    yield _gpu()


def _versions() -> Iterator[Check]:
    """The installed version of this package and of each distribution it needs or can use."""
    for line in ["sparc-search", *(requires("sparc-search") or [])]:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        assert name is not None
        if extra and (name[0] == "sparc-search" or extra[1] == "dev"):
            continue  # extras that only gather other extras, and tools of developers
        yield _version(name[0], extra[1] if extra else "")


def _version(name: str, extra: str) -> Check:
    try:
        return Check(name, "ok", version(name))
    except PackageNotFoundError:
        if extra:
            return Check(name, "note", f"not installed (extra {extra})", f"pip install 'sparc-search[{extra}]'")
        return Check(name, "problem", "not installed", f"pip install {name}")


def _compiled() -> Check:
    from sparc_search.stores import stored_blocks
    from sparc_search.stores.local import postings

    if stored_blocks.compiled and postings.compiled:
        return Check("compiled code", "ok", "there")
    remedy = "install a C compiler, then the package again"
    return Check("compiled code", "note", "not there: numpy gives the same answers some milliseconds later", remedy)


def _plugins(settings: Settings) -> Iterator[Check]:
    chosen = {("encoders", settings.encoder), ("stores", settings.engine), ("dense_stores", settings.dense_store)}
    found = plugins.describe()
    for plugin in found:
        if plugin.problem:
            status: Status = "problem" if (plugin.group, plugin.name) in chosen else "note"
            yield Check(f"plugin {plugin.name}", status, plugin.problem)
    for group, name in sorted(chosen - {(plugin.group, plugin.name) for plugin in found}):
        known = ", ".join(plugin.name for plugin in found if plugin.group == group)
        yield Check(f"plugin {name}", "problem", f"there is none in {group}", f"known are: {known}")


def _model_and_index(settings: Settings) -> Iterator[Check]:
    """The encoder must open; opening a store needs its fingerprint."""
    try:
        encoder = plugins.load("encoders", settings.encoder)(settings.model, threads=settings.threads)
    except SparcSearchError as error:
        yield Check("model", "problem", error.message, error.remedy)
        yield Check("index", "note", "not opened: that needs the model")
        return
    tuned = f", questions tuned {encoder.tuned}" if encoder.tuned else ""
    about = f"{settings.model}, opened by {settings.encoder}, fingerprint {encoder.fingerprint}{tuned}"
    yield Check("model", "ok", about)
    yield _model_files(settings.model)
    yield _index(settings, encoder.fingerprint)


def _model_files(model: str) -> Check:
    """Every file that the model's card lists, against its hash. An encoder of another make may need none of them."""
    from sparc_search.model.files import open_model

    try:
        folder = open_model(model)
        names = sorted(folder.card["sha256"])
        for name in names:
            folder.file(name)
    except ModelNotFound as error:
        return Check("model files", "note", error.message, error.remedy)
    except SparcSearchError as error:
        return Check("model files", "problem", error.message, error.remedy)
    return Check("model files", "ok", f"{folder.path}: {', '.join(names)} have the hashes that the card lists")


def _index(settings: Settings, fingerprint: str) -> Check:
    from sparc_search.opening import open_engine

    try:
        with open_engine(settings, fingerprint) as engine:
            count = engine.statistics().passages
    except IndexNotFound as error:
        wrong = settings.engine == "local" and settings.index.exists()  # something else is there
        return Check("index", "problem" if wrong else "note", error.message, error.remedy)
    except SparcSearchError as error:
        return Check("index", "problem", error.message, error.remedy)
    of_engine = settings.of_plugin("stores", settings.engine)
    where = "{index_name} at {url}".format(**of_engine) if "url" in of_engine else settings.index
    return Check("index", "ok", f"{where}: {counted(count, 'passage')}, opened by {settings.engine}")


def _disk(index: Path) -> Check:
    folder = next(folder for folder in [index.absolute(), *index.absolute().parents] if folder.exists())
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1e9:.1f} GB free at {folder}"
    if free > LITTLE_ROOM:
        return Check("disk", "ok", detail)
    return Check("disk", "note", detail, "make room before ingest")


def _gpu() -> Check:
    if not find_spec("torch"):
        remedy = "pip install 'sparc-search[gpu]' uses one"
        return Check("gpu", "note", "not looked for: torch is not installed", remedy)
    import torch

    if not torch.cuda.is_available():
        return Check("gpu", "note", "torch sees none; the processor does the work")
    return Check("gpu", "ok", ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())))


def _row(check: Check) -> tuple[object, ...]:
    remedy = styled(f"  ({check.remedy})" if check.remedy else "", "dim")
    return styled(check.status, STYLES[check.status]), check.name, styled(check.detail) + remedy
